"""A tombstone with another one in its place gives no wrong rows: diffs and merges refuse it."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pytest

from dbt.adapters.vcs.changes.diffs.difference import diff
from dbt.adapters.vcs.commands.merge import merge
from dbt.adapters.vcs.core.errors import DamagedError
from dbt.adapters.vcs.core.model import Block, Snapshot, TableEntry, Tombstone
from dbt.adapters.vcs.core.model.snapshot import FILE_COLUMN, POSITION_COLUMN
from dbt.adapters.vcs.core.store.blobs import MemoryBlobs
from dbt.adapters.vcs.table.files.footers import read_blocks
from dbt.adapters.vcs.table.files.parquet import write_table, write_tombstone
from tests.unit.tables import SCHEMA, Tables
from tests.unit.warehouse import Clock, Warehouse


@pytest.fixture
def tables() -> Tables:
    clock = Clock()
    return Tables(Warehouse(MemoryBlobs(clock), clock))


def block(tables: Tables, name: str, first: int) -> Block:
    ids = list(range(first, first + 20))
    rows = pa.table({"id": ids, "name": [f"name {id:03}" for id in ids]})
    files = write_table(tables.warehouse.blobs, rows, folder=f"data/t/w=x{name}", schema=SCHEMA)
    (found,) = read_blocks(tables.warehouse.blobs, files, SCHEMA, (), files)
    return found


def tombstone(tables: Tables, name: str, of: Block, ids: list[int]) -> Tombstone:
    rows = {
        FILE_COLUMN: pa.array([of.path] * len(ids)),
        POSITION_COLUMN: pa.array(ids, pa.int64()),
        "id": pa.array(ids, pa.int64()),
        "name": pa.array([f"name {id:03}" for id in ids]),
    }
    return write_tombstone(tables.warehouse.blobs, pa.table(rows), folder=f"data/t/w=y{name}")


def swap(tables: Tables, one: Tombstone, other: Tombstone) -> None:
    blobs = tables.warehouse.blobs
    data = blobs.get(other.path)
    blobs.delete(one.path)
    assert blobs.create(one.path, data)


def forked(tables: Tables, *, key: bool) -> tuple[TableEntry, TableEntry, Tombstone, Tombstone]:
    """Main and dev, which delete rows of one block, and two tombstones of dev."""
    base = block(tables, "base", 0)
    first = tables.entry([base], key=key)
    tables.put(t=first)
    tables.warehouse.branch("dev")
    ours = tombstone(tables, "ours", base, [1, 3])
    theirs, other = (
        tombstone(tables, name, base, ids) for name, ids in (("a", [3, 5]), ("b", [7, 9]))
    )
    more = block(tables, "more", 100)
    # Both add a row with one key, so that rows are compared.
    main = tables.entry([base, more], [ours], parents=[first], key=key)
    tables.put(t=main)
    dev = tables.entry([base, block(tables, "again", 110)], [theirs], parents=[first], key=key)
    tables.put("dev", t=dev)
    return main, dev, theirs, other


def version(tables: Tables, entry: TableEntry) -> Snapshot:
    return tables.warehouse.repository.objects.snapshot(entry.snapshot)


READS: list[Callable[[Tables, TableEntry, TableEntry], object]] = [
    lambda t, main, dev: diff(
        t.warehouse.repository, version(t, main), version(t, dev)
    ).rows.to_pylist(),
    lambda t, main, dev: diff(t.warehouse.repository, None, version(t, dev)).rows.to_pylist(),
    lambda t, main, dev: merge(t.warehouse.repository, "dev", "main", author="bob"),
]


@pytest.mark.parametrize("read", READS, ids=["diff", "all rows", "merge"])
@pytest.mark.parametrize("key", [True, False], ids=["key", "no key"])
def test_another_tombstone_in_the_place_of_one_is_told(
    tables: Tables, read: Callable[[Tables, TableEntry, TableEntry], object], key: bool
) -> None:
    main, dev, theirs, other = forked(tables, key=key)
    swap(tables, theirs, other)
    before = tables.warehouse.head()
    with pytest.raises(DamagedError, match=f"{theirs.path} is not the file that was written"):
        read(tables, main, dev)
    assert tables.warehouse.head() == before
