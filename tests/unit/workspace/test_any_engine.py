"""A statement's way from its text to the branch, with an engine that is not Spark."""

import pytest

from dbt.adapters.vcs.core.errors import EngineError
from dbt.adapters.vcs.core.model import Origin
from dbt.adapters.vcs.workspace.lines.line_workspace import Workspace, landed
from dbt.adapters.vcs.workspace.lines.lines import BranchLine
from tests.unit.fake_engine import FakeEngine
from tests.unit.warehouse import Warehouse


def run(warehouse: Warehouse, text: str) -> None:
    workspace = Workspace(
        warehouse.repository,
        BranchLine(warehouse.repository, "main", "ann"),
        lambda: FakeEngine(warehouse.blobs),
        schema="shop",
    )
    connection = workspace.connect("test")
    landed(workspace, lambda o: connection.execute(text, o, origin=Origin()), text)


def test_any_engine_carries_a_table_made_of_a_query_to_the_branch() -> None:
    warehouse = Warehouse()
    warehouse.put(orders=warehouse.table("a", "b", rows=2))
    before = warehouse.head()
    run(warehouse, "create table few as select * from shop.orders limit 3")
    assert warehouse.head() != before
    rows = [(row["id"], row["v"]) for row in warehouse.rows("few")]
    assert sorted(rows) == [(0, "a"), (1, "a"), (2, "b")]


def test_what_an_engine_refuses_changes_no_branch() -> None:
    warehouse = Warehouse()
    warehouse.put(orders=warehouse.table("a"))
    before = warehouse.head()
    with pytest.raises(EngineError, match="No query of this engine: select 1"):
        run(warehouse, "create table few as select 1")
    assert warehouse.head() == before
