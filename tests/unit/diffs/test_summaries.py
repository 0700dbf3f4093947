"""Summaries of changes: merge, show and a published run count rows as a diff does."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbt.adapters.vcs.changes.diffs.summaries import list_changes, rows_text, summarize
from dbt.adapters.vcs.commands.diff import read_diff
from dbt.adapters.vcs.commands.diff_report import diff_text
from dbt.adapters.vcs.commands.layout import plain_lines
from dbt.adapters.vcs.commands.merge import MergeRequest, merge, merge_text
from dbt.adapters.vcs.commands.revert import revert
from dbt.adapters.vcs.core.ids import SegmentId, SnapshotId, new_table_id
from dbt.adapters.vcs.core.model import Absent, RelationName, Schema, SegmentRef, Snapshot
from dbt.adapters.vcs.core.model.tree import TableEntry
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.store.blobs import MemoryBlobs
from dbt.adapters.vcs.core.tree_changes import Change
from dbt.adapters.vcs.project.publication import published
from dbt.adapters.vcs.table.limits import Limits
from tests.unit.cli.conftest import Call, call, folder, vcs, warehouse  # noqa: F401
from tests.unit.tables import Rows, Tables
from tests.unit.warehouse import Warehouse

values = st.dictionaries(st.integers(0, 12), st.sampled_from(["a", "b", None]), max_size=12)


def rebuilt(tables: Tables, branch: str, rows: Rows, *, key: bool = True) -> None:
    """Write all rows of the table `t` again."""
    tables.put(branch, t=tables.entry([tables.block(rows)], key=key))


def test_the_rows_of_a_whole_table_are_counted_without_reading_its_segments() -> None:
    repository = Repository.create(MemoryBlobs(), author="ann")
    missing = SegmentRef(id=SegmentId("0" * 64), blocks=1_000, rows=50, deleted=8)
    snapshot = Snapshot(
        table=new_table_id(),
        schema=Schema(fields=()),
        segments=(missing, missing),
        created_at=repository.clock(),
        operation="create",
    )
    entry = TableEntry(snapshot=SnapshotId(repository.objects.put(snapshot)))
    name = RelationName("shop", "orders")
    came, went = summarize(
        repository, (), [Change(name, Absent, entry), Change(name, entry, Absent)]
    )
    assert (came.how, came.rows_added, came.rows_removed) == ("added", 84, 0)
    assert (went.how, went.rows_added, went.rows_removed) == ("removed", 0, 84)


def test_rows_that_were_written_again_as_they_were_are_not_counted(
    vcs: Call,  # noqa: F811
    warehouse: Warehouse,  # noqa: F811
) -> None:
    tables = Tables(warehouse)
    rows: dict[int, str | None] = dict.fromkeys(range(224), "old")
    rebuilt(tables, "main", rows)
    warehouse.branch("feature")
    rebuilt(tables, "feature", rows | dict.fromkeys(range(7), "new"))
    warehouse.put(other="1")
    said = "  changed  table  shop.t  +0 -0 ~7"
    foretold = merge(
        warehouse.repository, "feature", "main", MergeRequest(dry_run=True), author="bob"
    )
    before = warehouse.head()
    done = merge(warehouse.repository, "feature", "main", author="bob")
    for report in (foretold, done):
        assert plain_lines(merge_text(report))[1:] == [said, "1 relation, +0 -0 ~7 rows"]
        (relation,) = report.relations
        assert (relation.how, relation.modified, relation.added) == ("fast_forward", 7, 0)
    assert plain_lines(diff_text(read_diff(warehouse.repository, ["main~1"], branch="main")))[
        :2
    ] == [said, "1 relation, +0 -0 ~7 rows"]
    assert vcs("show", "main").stdout.splitlines()[-1] == said
    (told,) = json.loads(vcs("show", "main", "--json").stdout)["changes"]
    assert (told["rows_modified"], told["is_exact"]) == (7, True)
    assert list(published(warehouse.repository, "main", before, warehouse.head(), 1.5)) == [
        said,
        f"Published 1 relation to main @ {warehouse.head()[:12]}: +0 -0 ~7 rows, 1.5s",
    ]
    reverted = revert(warehouse.repository, "main", branch="main", author="bob", mainline=1)
    assert list(map(str, reverted.changes)) == [said]


def test_what_is_too_large_says_at_most(warehouse: Warehouse) -> None:  # noqa: F811
    repository, tables = warehouse.repository, Tables(warehouse)
    names = ("small", "large", "new")
    small, large = {1: "a"}, dict.fromkeys(range(10), "a")
    block = tables.block
    tables.put(t=tables.entry([block(large)], key=True), u=tables.entry([block(small)], key=True))
    before = warehouse.head()
    tables.put(
        t=tables.entry([block({**large, 0: "b"})], key=True),
        u=tables.entry([block({1: "b"})], key=True),
        v=tables.entry([block(large)]),
    )
    found = repository.diff(before, warehouse.head()).relations
    assert len(found) == len(names)
    for budget, told in (
        (Limits(100, 1 << 20), ["+0 -0 ~1", "+0 -0 ~1", "+10 -0 ~0"]),
        (Limits(21, 1 << 20), ["at most +10 -10", "+0 -0 ~1", "+10 -0 ~0"]),
        (Limits(100, 0), ["at most +10 -10", "at most +1 -1", "+10 -0 ~0"]),
    ):
        changes = summarize(repository, (), found, budget=budget)
        assert [rows_text([change]) for change in changes] == told
    assert rows_text(changes) == "at most +21 -11 ~0"


def test_a_merge_has_counted_what_a_summary_finds_too_large(
    warehouse: Warehouse,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(summarize.__kwdefaults__, "budget", Limits(0, 0))
    tables, rows = Tables(warehouse), dict.fromkeys(range(20), "old")
    rebuilt(tables, "main", rows)
    base = tables.shown(RelationName("shop", "t"))
    warehouse.branch("feature")
    for branch, changed in (("main", [1]), ("feature", [2, 3])):
        block = tables.block(rows | dict.fromkeys(changed, "new"))
        tables.put(branch, t=tables.entry([block], key=True, parents=[base]))
    dry = MergeRequest(dry_run=True)
    for report in (
        merge(warehouse.repository, "feature", "main", dry, author="bob"),
        merge(warehouse.repository, "feature", "main", author="bob"),
    ):
        (relation,) = report.relations
        assert relation.how == "rewrite"
        assert plain_lines(merge_text(report))[1:] == [
            "  changed  table  shop.t  +0 -0 ~2",
            "1 relation, +0 -0 ~2 rows",
        ]


def test_a_change_whose_rows_are_gone_is_told_from_its_manifests(
    warehouse: Warehouse,  # noqa: F811
) -> None:
    tables = Tables(warehouse)
    rebuilt(tables, "main", {1: "a", 2: "b"})
    before = warehouse.head()
    gone = warehouse.repository.objects.snapshot(
        tables.shown(RelationName("shop", "t")).snapshot
    ).segments
    rebuilt(tables, "main", {1: "a", 3: "b"})
    for ref in gone:
        for block in warehouse.repository.objects.segment(ref.id).blocks:
            warehouse.blobs.delete(block.path)
    (change,) = list_changes(warehouse.repository, before, warehouse.head())
    assert str(change) == "  changed  table  shop.t  at most +2 -2"


@given(values, values, st.booleans())
def test_a_summary_counts_what_a_person_would(before: Rows, after: Rows, key: bool) -> None:
    house = Warehouse()
    tables = Tables(house)
    rebuilt(tables, "main", before, key=key)
    first = house.head()
    rebuilt(tables, "main", after, key=key)
    modified = sum(before[id] != after[id] for id in before.keys() & after.keys())
    expected = [len(after.keys() - before.keys()), len(before.keys() - after.keys()), modified]
    if not key:
        expected = [expected[0] + modified, expected[1] + modified, 0]
    changes = list_changes(house.repository, first, house.head())
    assert all(change.is_exact for change in changes)
    counted = [(c.rows_added, c.rows_removed, c.rows_modified) for c in changes]
    assert counted == ([tuple(expected)] if first != house.head() else [])


@pytest.mark.parametrize(("rows", "word"), [(250_000, "+0 -0 ~1"), (250_001, "at most")])
def test_the_budget_is_not_left_out(rows: int, word: str) -> None:
    house = Warehouse()
    tables = Tables(house)
    first = dict.fromkeys(range(rows // 2), "a")
    rebuilt(tables, "main", first)
    before = house.head()
    rebuilt(tables, "main", {**first, 0: "b"} | ({-1: "c"} if rows % 2 else {}))
    (change,) = list_changes(house.repository, before, house.head())
    assert word in str(change)
