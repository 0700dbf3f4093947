"""Evidence: a test on a difference saw both versions, and counts for the newer one."""

from __future__ import annotations

import pytest

from dbt.adapters.vcs.core.errors import ConflictError
from dbt.adapters.vcs.core.ids import Micros
from dbt.adapters.vcs.core.model import Input, NodeRun, RelationName, Run, TableEntry
from dbt.adapters.vcs.workspace.run_branch import check_tested
from tests.unit.warehouse import START, Warehouse

ORDERS = RelationName("shop", "orders")


def version(warehouse: Warehouse, revision: str) -> str:
    entry = warehouse.shown(revision)[str(ORDERS)]
    assert isinstance(entry, TableEntry)
    return entry.snapshot


@pytest.mark.parametrize(("before", "after"), [("main", "dev"), ("dev", "main")])
def test_a_difference_is_of_two_versions(warehouse: Warehouse, before: str, after: str) -> None:
    warehouse.put(orders="a")
    warehouse.branch("dev")
    warehouse.put("dev", orders="b")
    seen = tuple(
        Input(relation=str(ORDERS), snapshot=version(warehouse, side)) for side in (before, after)
    )
    test = NodeRun(id="test.shop.diff_no_removed", status="pass", inputs=seen)
    run = Run(
        invocation="r1",
        command="test",
        target="dev",
        dbt_version="",
        started_at=Micros(START),
        nodes=(test,),
    )
    tested = warehouse.put("dev", run=run, other="x")
    check_tested(warehouse.repository, tested, warehouse.head(), [ORDERS])
    later = warehouse.put("dev", orders="c")
    with pytest.raises(ConflictError, match="saw other versions"):
        check_tested(warehouse.repository, later, warehouse.head(), [ORDERS])
