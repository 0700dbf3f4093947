from __future__ import annotations

import pytest

from dbt.adapters.vcs.commands.du import TableUsage, Usage, disk_usage
from dbt.adapters.vcs.core.errors import NotFoundError
from tests.unit.tables import Tables
from tests.unit.warehouse import BYTES, Warehouse


def used(name: str, rows: int, files: int, own: int) -> TableUsage:
    return TableUsage(
        relation=f"shop.{name}",
        rows=rows,
        files=files,
        bytes=files * BYTES,
        own_bytes=own * BYTES,
    )


def test_a_branch_owns_what_the_default_branch_does_not_show(warehouse: Warehouse) -> None:
    warehouse.put(a="1", b=warehouse.table("2"), v=warehouse.view("select 1"))
    warehouse.branch("dev")
    assert disk_usage(warehouse.repository, "dev") == Usage(
        tables=(used("a", 10, 1, 0), used("b", 10, 1, 0)), bytes=2 * BYTES, own_bytes=0
    )
    # c has the file of a, as a clone does.
    warehouse.put("dev", b=warehouse.table("2", "3"), c=warehouse.table("1"))
    assert disk_usage(warehouse.repository, "dev") == Usage(
        tables=(used("b", 20, 2, 1), used("a", 10, 1, 0), used("c", 10, 1, 0)),
        bytes=3 * BYTES,
        own_bytes=BYTES,
    )
    warehouse.put(a=None)
    assert disk_usage(warehouse.repository, "dev").own_bytes == 2 * BYTES


def test_a_tombstone_is_a_file(warehouse: Warehouse) -> None:
    tables = Tables(warehouse)
    block = tables.block({1: "a", 2: "b", 3: "c"})
    tombstone = tables.tombstone(block, {0: (1, "a")})
    tables.put(t=tables.entry([block], [tombstone]))
    (table,) = disk_usage(warehouse.repository, "main").tables
    assert (table.rows, table.files) == (2, 2)
    assert table.bytes == block.bytes + tombstone.bytes


def test_nothing_takes_up_nothing(warehouse: Warehouse) -> None:
    assert disk_usage(warehouse.repository, "main") == Usage(tables=(), bytes=0, own_bytes=0)
    with pytest.raises(NotFoundError, match="nix"):
        disk_usage(warehouse.repository, "nix")
