"""What a merge reports to become stale: of changed tables first, at a bounded cost."""

from __future__ import annotations

import pytest

from dbt.adapters.vcs.changes.merges import stale_by_merge
from dbt.adapters.vcs.changes.merges.merge_plan import Work, plan_merge
from dbt.adapters.vcs.changes.merges.table_merge import TableMerges
from dbt.adapters.vcs.commands.merge import MergeReport, MergeRequest, merge
from dbt.adapters.vcs.core.ids import SnapshotId
from dbt.adapters.vcs.core.model import Snapshot, TableEntry
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.store.blobs import MemoryBlobs
from dbt.adapters.vcs.core.store.objects import ObjectStore, object_path
from tests.unit.tables import Tables
from tests.unit.warehouse import Clock, Warehouse
from tests.watched_blobs import TogetherBlobs

DRY = MergeRequest(dry_run=True)


@pytest.fixture
def tables() -> Tables:
    """A branch `dev` that changed `a`, which the unchanged `b` was made from."""
    clock = Clock()
    tables = Tables(Warehouse(MemoryBlobs(clock), clock))
    raw = tables.entry([tables.block({1: "a"})])
    others = {f"t{number}": tables.entry([tables.block({number: "x"})]) for number in range(9)}
    tables.put(a=raw, b=tables.entry([], inputs={"shop.a": raw}), **others)
    tables.warehouse.branch("dev")
    tables.put("dev", a=tables.entry([tables.block({1: "a2"})], parents=[raw]))
    tables.put(t0=tables.entry([tables.block({1: "y"})], inputs={"shop.a": raw}))
    return tables


def merged(tables: Tables, request: MergeRequest | None = None) -> MergeReport:
    return merge(tables.warehouse.repository, "dev", "main", request, author="bob")


def reopened(tables: Tables) -> Repository:
    """Return the repository without anything at hand."""
    warehouse = tables.warehouse
    warehouse.repository.objects.flush()
    warehouse.repository = Repository.open(warehouse.blobs, clock=warehouse.clock)
    return warehouse.repository


def test_a_merge_tells_the_same_before_and_after(tables: Tables) -> None:
    for report in (merged(tables, DRY), merged(tables)):
        assert (report.stale, report.stale_unknown) == (("shop.b", "shop.t0"), 0)


def test_many_unchanged_tables_are_not_read(
    tables: Tables, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository = tables.warehouse.repository
    entries = repository.tree(repository.branch("main").head).relations("shop")
    unchanged = {
        entry.snapshot
        for name, entry in entries.items()
        if isinstance(entry, TableEntry) and name not in ("a", "t0")
    }
    monkeypatch.setattr(stale_by_merge.newly_stale, "__kwdefaults__", {"most": 5})
    monkeypatch.setattr(stale_by_merge.stale_after, "__kwdefaults__", {"most": 5})
    reopened(tables)
    read: list[str] = []
    get = ObjectStore.get

    def noting(store: ObjectStore, type_: type, id: str) -> object:
        if type_ is Snapshot:
            read.append(SnapshotId(id))
        return get(store, type_, id)

    monkeypatch.setattr(ObjectStore, "get", noting)
    for report in (merged(tables, DRY), merged(tables)):
        assert (report.stale, report.stale_unknown) == (("shop.t0",), len(unchanged))
    assert read
    assert unchanged.isdisjoint(read)


def test_a_version_that_was_changed_by_hand_very_often_follows_from_nothing(
    tables: Tables,
) -> None:
    """So that a long history by hand isn't read at every merge."""
    entry = tables.entry([], inputs={"shop.a": tables.entry([])})
    found = []
    for _ in range(6):
        for number in range(25):
            entry = tables.entry([tables.block({number: "x"})], parents=[entry])
        tables.put("dev", late=entry)
        found.append("shop.late" in merged(tables, DRY).stale)
    assert found == [True] * 3 + [False] * 3


def test_the_pasts_of_many_tables_are_read_at_once() -> None:
    clock = Clock()
    blobs = TogetherBlobs(clock)
    tables = Tables(Warehouse(blobs, clock))
    raw = tables.entry([tables.block({1: "a"})])
    made = [tables.entry([tables.block({n: "x"})], inputs={"shop.a": raw}) for n in range(9)]
    by_hand = [tables.entry([tables.block({1: "y"})], parents=[entry]) for entry in made]
    tables.put(a=raw, **{f"t{n}": entry for n, entry in enumerate(by_hand)})
    tables.warehouse.branch("dev")
    tables.put("dev", a=tables.entry([tables.block({1: "a2"})], parents=[raw]))
    reopened(tables)
    blobs.together = {object_path("snapshot", entry.snapshot) for entry in made}
    assert merged(tables, DRY).stale == tuple(f"shop.t{n}" for n in range(9))
    assert not blobs.together


def test_what_both_sides_made_is_read_at_once() -> None:
    clock = Clock()
    blobs = TogetherBlobs(clock)
    tables = Tables(Warehouse(blobs, clock))
    raw = tables.entry([tables.block({1: "a"})])
    tables.put(raw=raw)
    names = [f"t{n}" for n in range(9)]
    made = {name: tables.entry([], inputs={"shop.raw": raw}, node=name) for name in names}
    tables.warehouse.branch("dev")
    tables.put("dev", **made)
    tables.put(raw=tables.entry([tables.block({1: "b"})], parents=[raw]))
    repository = reopened(tables)
    main = repository.branch("main")
    work = Work(source="dev", commit=repository.branch("dev").head, run=None)
    plan = plan_merge(repository, work, main, TableMerges(repository, None))
    reopened(tables)
    blobs.together = {object_path("snapshot", entry.snapshot) for entry in made.values()}
    found = stale_by_merge.skewed_by(tables.warehouse.repository, plan)
    assert [item.relation.identifier for item in found] == names
    assert not blobs.together
