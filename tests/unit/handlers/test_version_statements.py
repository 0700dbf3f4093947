"""Statements about versions need only manifests: no engine is started."""

from __future__ import annotations

from typing import Any, NoReturn

import pytest

from dbt.adapters.vcs.core.branches import Protection
from dbt.adapters.vcs.core.errors import (
    ConflictError,
    InputError,
    NotFoundError,
    ReadOnlyError,
    VcsError,
)
from dbt.adapters.vcs.core.ids import ViewId
from dbt.adapters.vcs.core.model import Origin, TableEntry, View, ViewEntry
from dbt.adapters.vcs.workspace.lines.line_workspace import Workspace
from dbt.adapters.vcs.workspace.lines.lines import BranchLine, Line, PinnedLine
from tests.unit.tables import Tables
from tests.unit.warehouse import Warehouse


@pytest.fixture
def first(warehouse: Warehouse) -> TableEntry:
    tables = Tables(warehouse)
    entry = tables.entry([tables.block({1: "a"})])
    tables.put(t=entry)
    return entry


def no_engine() -> NoReturn:
    raise AssertionError("an engine was started")


def run_together(warehouse: Warehouse, *texts: str) -> list[tuple[Any, ...]]:
    """Run statements on one overlay, which isn't committed, as those of a run."""
    line = BranchLine(warehouse.repository, "main", "ann")
    connection = Workspace(warehouse.repository, line, no_engine, schema="shop").connect("test")
    overlay = connection.workspace.begin()
    *_, last = [connection.execute(text, overlay, origin=Origin()) for text in texts]
    return last.rows.fetch() if last.rows is not None else []


def run(warehouse: Warehouse, *texts: str, line: Line | None = None) -> list[tuple[Any, ...]]:
    line = line or BranchLine(warehouse.repository, "main", "ann")
    connection = Workspace(warehouse.repository, line, no_engine, schema="shop").connect("test")
    rows: list[tuple[Any, ...]] = []
    for text in texts:
        overlay = connection.workspace.begin()
        outcome = connection.execute(text, overlay, origin=Origin())
        rows = outcome.rows.fetch() if outcome.rows is not None else []
        if not overlay.is_empty:
            line.land(overlay, text)
    return rows


def test_a_dropped_table_comes_back(warehouse: Warehouse, first: TableEntry) -> None:
    run(warehouse, "drop table t", "undrop table t")
    assert warehouse.shown() == {"shop.t": first}
    with pytest.raises(InputError, match="t exists"):
        run(warehouse, "undrop table t")
    with pytest.raises(NotFoundError, match="never existed"):
        run(warehouse, "undrop table nix")


def test_a_table_of_this_run_is_not_replaced_by_a_dropped_one(
    warehouse: Warehouse, first: TableEntry
) -> None:
    run(warehouse, "create table u clone t", "drop table t")
    kept = warehouse.shown()
    with pytest.raises(InputError, match="t exists"):
        run_together(warehouse, "create table t clone u", "undrop table t")
    assert warehouse.shown() == kept


def test_a_view_that_this_run_dropped_comes_back(warehouse: Warehouse) -> None:
    view = warehouse.repository.objects.put(View(text="select 1 a", columns=(), reads=()))
    warehouse.put(v=ViewEntry(view=ViewId(view)))
    assert run_together(warehouse, "drop view v", "undrop table v")[0][:2] == ("shop.v", view)


def test_a_restore_names_what_was_changed_together(
    warehouse: Warehouse, first: TableEntry
) -> None:
    warehouse.put(t="2", u="2", message="dbt build")
    (row,) = run(warehouse, "restore table t to version as of 'main~1'")
    assert (row[0], row[1], row[3]) == ("shop.t", first.snapshot, "shop.u")
    assert warehouse.rows("t") == warehouse.rows("t", "main~2")
    (row,) = run(warehouse, "restore table t from snapshot u version as of 'main'")
    assert warehouse.rows("t") == warehouse.rows("u")
    warehouse.put(v=warehouse.view("select 1 as id"))
    with pytest.raises(InputError, match="is a view"):
        run(warehouse, "restore table v to version as of 'main~1'")


def test_times_follow_the_branch(warehouse: Warehouse, first: TableEntry) -> None:
    warehouse.put(t="2")
    run(warehouse, "create table c clone t timestamp as of '2026-11-18 11:06:46+00:00'")
    made = warehouse.shown()["shop.c"]
    assert isinstance(made, TableEntry)
    assert warehouse.repository.objects.snapshot(made.snapshot).parents == (first.snapshot,)


def test_where_nothing_lands_no_rows_are_computed(warehouse: Warehouse) -> None:
    warehouse.put(t="1")
    head = warehouse.head()
    warehouse.repository.protect("main", Protection(()), author="someone")
    lines: tuple[tuple[Line, str], ...] = (
        (PinnedLine(warehouse.head, "v1 is no branch"), "v1 is no branch"),
        (BranchLine(warehouse.repository, "main", "someone"), "'main' is protected"),
    )
    # There is no engine here that could compute any.
    for line, why in lines:
        for text in (
            "update t set id = 1",
            "delete from t where id = 1",
            "merge into t using t u on t.id = u.id when matched then delete",
            "insert into t select * from t",
            "optimize t",
            "create table c as select * from t",
        ):
            with pytest.raises(VcsError, match=why):
                run(warehouse, text, line=line)
    assert warehouse.head() == head


def test_where_nothing_lands_no_name_is_given(warehouse: Warehouse, first: TableEntry) -> None:
    pinned = PinnedLine(warehouse.head, "v1 is no branch")
    for text in ("create snapshot s for table t", "drop snapshot s for table t"):
        with pytest.raises(ReadOnlyError):
            run(warehouse, text, line=pinned)
    assert warehouse.repository.snapshots.all() == []
    run(warehouse, "create snapshot s for table t")
    (row,) = run(warehouse, "show snapshots in shop", line=pinned)
    assert row[:3] == ("shop.t", "s", first.snapshot)


def test_a_snapshot_is_not_named_as_a_revision_is_written(
    warehouse: Warehouse, first: TableEntry
) -> None:
    for name in ("`main~1`", "'a..b'", "`x@{1}`", "`sn 1`", "'cafe'", "`-x`"):
        with pytest.raises(InputError, match="can't be given to a snapshot"):
            run(warehouse, f"create snapshot {name} for table t")
    assert warehouse.repository.snapshots.all() == []


def test_a_conflict_of_long_values_is_told_shortly(warehouse: Warehouse) -> None:
    tables = Tables(warehouse)
    base = tables.entry([tables.block({1: "x" * 100_000})], key=True)
    ours, theirs = (
        tables.entry([tables.block({1: letter * 100_000})], parents=[base], key=True)
        for letter in "yz"
    )
    tables.put(t=ours, c=theirs)
    with pytest.raises(ConflictError, match=r"shop\.t: 1 row changed differently") as told:
        run(warehouse, "snapshot merge table t from c")
    assert len(str(told.value)) < 1_000
    assert "dbt-vcs merge" in str(told.value)


def test_a_small_difference_is_answered_row_by_row(warehouse: Warehouse) -> None:
    tables = Tables(warehouse)
    tables.put(t=tables.entry([tables.block({1: "a", 2: "b"})]))
    run(warehouse, "create table old clone t")
    tables.put(t=tables.entry([tables.block({1: "a", 3: None})]))
    assert run(warehouse, "snapshot diff old and t") == [(-1, 2, "b"), (1, 3, None)]
    wide = "snapshot diff old and t as wide"
    assert sorted(run(warehouse, wide)) == [
        ("added", None, 3, None, None),
        ("removed", 2, None, "b", None),
    ]
    assert len(run(warehouse, f"{wide} limit 1")) == 1
    assert run(warehouse, "snapshot diff t and t as changes") == []
