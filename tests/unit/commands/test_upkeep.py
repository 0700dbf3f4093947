"""Collection and checks: what is kept for how long, and what is said when it is gone."""

from __future__ import annotations

import msgspec
import pytest

from dbt.adapters.vcs.commands import gc
from dbt.adapters.vcs.commands.branch import create_branch, undelete_branch
from dbt.adapters.vcs.commands.clone import clone_from_snapshot
from dbt.adapters.vcs.commands.fsck import check_repository
from dbt.adapters.vcs.commands.gc import collect, gc_text, set_retention
from dbt.adapters.vcs.commands.layout import plain_lines
from dbt.adapters.vcs.commands.log import read_log
from dbt.adapters.vcs.commands.merge import merge
from dbt.adapters.vcs.commands.restore import restore_branch, restore_relation
from dbt.adapters.vcs.commands.snapshot import create_snapshot
from dbt.adapters.vcs.commands.tag import create_tag
from dbt.adapters.vcs.core.branches import Protection
from dbt.adapters.vcs.core.errors import (
    DamagedError,
    InputError,
    NotFoundError,
    RetryError,
    StorageError,
)
from dbt.adapters.vcs.core.ids import SnapshotId
from dbt.adapters.vcs.core.maintenance import PINS
from dbt.adapters.vcs.core.model import RelationName, TableEntry
from dbt.adapters.vcs.core.origins.results import Result, Results
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.retention import DAY, hold_commit, read_retention
from dbt.adapters.vcs.core.store.blobs import MemoryBlobs
from dbt.adapters.vcs.workspace.run_branch import Status
from tests.unit.tables import Tables
from tests.unit.warehouse import Clock, Warehouse, promote

MAIN = {"branch": "main", "author": "bob"}


@pytest.fixture
def warehouse() -> Warehouse:
    clock = Clock()
    return Warehouse(MemoryBlobs(clock), clock)


@pytest.fixture
def tables(warehouse: Warehouse) -> Tables:
    return Tables(warehouse)


def files(tables: Tables) -> int:
    return sum(1 for _ in tables.warehouse.blobs.walk("data"))


def later(tables: Tables, days: float) -> None:
    tables.warehouse.clock.now += int(days * DAY)


def replaced(tables: Tables) -> None:
    """A table, and another version with other rows."""
    tables.put(a=tables.entry([tables.block({1: "a"})]))
    tables.put(a=tables.entry([tables.block({2: "b"})]))


def test_replaced_rows_go_after_the_retention(tables: Tables) -> None:
    replaced(tables)
    repository = tables.warehouse.repository
    assert collect(repository, author="gc").files == 0
    later(tables, 7.5)
    assert collect(repository, author="gc").files == 0
    later(tables, 1)
    foretold = collect(repository, author="gc", dry_run=True)
    assert (foretold.files, foretold.dry_run, files(tables)) == (1, True, 2)
    done = collect(repository, author="gc")
    assert (done.files, done.objects, done.bytes) == (1, 0, foretold.bytes)
    assert (files(tables), done.kept_files) == (1, 1)
    assert check_repository(repository).problems == ()
    assert len(list(read_log(repository, "main", relation="shop.a"))) == 2


def test_a_merge_does_not_bring_back_rows_that_were_collected(tables: Tables) -> None:
    repository = tables.warehouse.repository
    for number in range(4):
        tables.put(a=tables.entry([tables.block({1: f"v{number}"})]))
        if number == 0:
            tables.warehouse.branch("release/1")
        later(tables, 3)
    later(tables, 9)
    assert collect(repository, author="gc").files == 2
    before = tables.warehouse.head("release/1")
    with pytest.raises(NotFoundError, match=r"collected \(data/"):
        merge(repository, "main~2", "release/1", author="bob")
    with pytest.raises(NotFoundError, match=r"collected \(data/"):
        promote(repository, "main~2", "release/1", author="bob")
    assert tables.warehouse.head("release/1") == before
    assert check_repository(repository).problems == ()
    merge(repository, "main", "release/1", author="bob")
    assert check_repository(repository).problems == ()


def test_an_old_commit_that_is_merged_is_kept_from_a_collection(tables: Tables) -> None:
    repository = tables.warehouse.repository
    tables.put(a=tables.entry([tables.block({1: "a"})]))
    tables.warehouse.branch("release/1")
    tables.put(a=tables.entry([tables.block({1: "b"})]))
    tables.put(a=tables.entry([tables.block({1: "c"})]))
    later(tables, 30)
    merge(repository, "main~1", "release/1", author="bob")
    collect(repository, author="gc")
    assert check_repository(repository).problems == ()
    assert tables.warehouse.rows("a", "release/1")[0]["name"] == "b"


def test_a_landing_looks_for_the_files_that_it_names(tables: Tables) -> None:
    warehouse = tables.warehouse
    tables.put(a=tables.entry([tables.block({1: "a"})]))
    warehouse.branch("dev")
    lost = tables.block({2: "b"})
    tables.put("dev", b=tables.entry([tables.block({3: "c"}), lost]))
    warehouse.blobs.delete(lost.path)
    before = warehouse.head()
    with pytest.raises(NotFoundError, match=f"{lost.path} is needed"):
        merge(warehouse.repository, "dev", "main", author="bob")
    assert warehouse.head() == before


def test_a_damaged_log_is_reported_and_nothing_is_collected(tables: Tables) -> None:
    replaced(tables)
    warehouse = tables.warehouse
    warehouse.branch("dev")
    protection = Protection(require=("tests",))
    warehouse.repository.protect("main", protection, author="ann")
    path = f"refs/heads/main/{warehouse.repository.branch('main').ref.seq:020d}"
    data = warehouse.blobs.get(path)
    warehouse.blobs.delete(path)
    warehouse.blobs.create(path, data.replace(b'"yes"', b'"yep"'))
    later(tables, 30)
    again = Repository.open(warehouse.blobs, clock=warehouse.clock)
    with pytest.raises(DamagedError, match="changed after it was written"):
        again.branch("main")
    with pytest.raises(DamagedError, match="changed after it was written"):
        collect(again, author="gc")
    assert files(tables) == 2
    assert [path in problem for problem in check_repository(again).problems] == [True]


@pytest.mark.parametrize("seq", [1, 2, 3])
def test_fsck_reports_a_damaged_move_wherever_it_is_in_a_log(tables: Tables, seq: int) -> None:
    replaced(tables)
    warehouse = tables.warehouse
    path = f"refs/heads/main/{seq:020d}"
    data = warehouse.blobs.get(path)
    warehouse.blobs.delete(path)
    warehouse.blobs.create(path, data.replace(b'"by":"', b'"by":"not '))
    again = Repository.open(warehouse.blobs, clock=warehouse.clock)
    assert any(path in problem for problem in check_repository(again).problems)


@pytest.mark.parametrize("how", ["tag", "snapshot", "branch"])
def test_what_has_a_name_is_kept(tables: Tables, how: str) -> None:
    replaced(tables)
    repository = tables.warehouse.repository
    old = repository.resolve("main~1")
    if how == "tag":
        repository.create_tag("v1", old, author="bob")
    elif how == "branch":
        repository.create_branch("old", old, author="bob")
    else:
        create_snapshot(repository, "shop.a", "sn1", "main~1", author="bob")
    later(tables, 100)
    assert collect(repository, author="gc").files == 0
    if how == "tag":
        repository.delete_tag("v1", author="bob")
    elif how == "branch":
        repository.delete_branch("old", author="bob")
    else:
        tables.warehouse.repository.snapshots.delete(
            next(iter(repository.snapshots.all())).relation, "sn1", author="bob"
        )
    later(tables, 5)
    assert collect(repository, author="gc").files == 0
    later(tables, 5)
    assert collect(repository, author="gc").files == 1


@pytest.mark.parametrize("many", [1, 1_000])
def test_what_is_gone_is_not_brought_back(
    tables: Tables, monkeypatch: pytest.MonkeyPatch, many: int
) -> None:
    # Whether each file is asked for, or all are listed.
    monkeypatch.setattr("dbt.adapters.vcs.core.plan.collect._MANY", many)
    replaced(tables)
    repository = tables.warehouse.repository
    old = repository.resolve("main~1")
    repository.create_branch("old", old, author="bob")
    repository.delete_branch("old", author="bob")
    later(tables, 9)
    head = tables.warehouse.head()
    collect(repository, author="gc")
    for attempt in (
        lambda: restore_relation(repository, "shop.a", "main~1", **MAIN),
        lambda: restore_branch(repository, "main~1", **MAIN),
        lambda: clone_from_snapshot(repository, "shop.a", "shop.b", "main~1", **MAIN),
        lambda: create_snapshot(repository, "shop.a", "sn", "main~1", author="bob"),
        lambda: undelete_branch(repository, "old", author="bob"),
        lambda: create_branch(repository, "again", "main~1", author="bob"),
        lambda: create_tag(repository, "v1", "main~1", author="bob"),
    ):
        with pytest.raises(NotFoundError, match="kept for 7 days"):
            attempt()
    assert (tables.warehouse.head(), len(repository.branches())) == (head, 1)
    assert check_repository(repository).problems == ()


@pytest.mark.parametrize("many", [1, 1_000])
def test_old_versions_come_back_while_they_are_there_and_stay(
    tables: Tables, monkeypatch: pytest.MonkeyPatch, many: int
) -> None:
    monkeypatch.setattr("dbt.adapters.vcs.core.plan.collect._MANY", many)
    replaced(tables)
    repository = tables.warehouse.repository
    later(tables, 30)
    restore_relation(repository, "shop.a", "main~1", **MAIN)
    assert collect(repository, author="gc").files == 0
    later(tables, 9)
    assert collect(repository, author="gc").files == 1
    assert check_repository(repository).problems == ()


def test_a_collection_and_who_brings_back_see_each_other(tables: Tables) -> None:
    replaced(tables)
    repository = tables.warehouse.repository
    later(tables, 30)
    repository.blobs.create("leases/others", b"")
    with pytest.raises(RetryError, match="is running"):
        restore_relation(repository, "shop.a", "main~1", **MAIN)
    with pytest.raises(RetryError, match="is running"):
        collect(repository, author="gc")
    later(tables, 0.1)
    held = repository.resolve("main~1")
    before = repository.refs.names(PINS)
    restore_relation(repository, "shop.a", "main~1", dry_run=True, **MAIN)
    restore_branch(repository, "main~1", dry_run=True, **MAIN)
    assert repository.refs.names(PINS) == before
    hold_commit(repository, held, author="ann")
    # What was held is pinned, and so outlives a collection that comes before it has a name.
    assert collect(repository, author="gc").files == 0
    restore_relation(repository, "shop.a", "main~1", **MAIN)
    assert check_repository(repository).problems == ()


def test_a_collection_that_dies_half_way_is_begun_again(
    tables: Tables, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository, blobs = tables.warehouse.repository, tables.warehouse.blobs
    for number in range(5):
        tables.put(a=tables.entry([tables.block({number: "a"})]))
    later(tables, 30)
    delete, calls = blobs.delete, []

    def dies(path: str) -> None:
        calls.append(path)
        if len(calls) == 3:
            raise StorageError("The disk went away.")
        delete(path)

    monkeypatch.setattr(blobs, "delete", dies)
    monkeypatch.setattr(gc, "_PAUSES", ())
    with pytest.raises(StorageError):
        collect(repository, author="gc")
    assert check_repository(repository).problems == ()
    assert files(tables) == 3
    collect(repository, author="gc")
    assert (files(tables), check_repository(repository).problems) == (1, ())


def test_the_retention_is_the_repositorys(tables: Tables) -> None:
    replaced(tables)
    repository = tables.warehouse.repository
    assert set_retention(repository, 30, author="bob").keep == 30 * DAY
    later(tables, 20)
    assert collect(repository, author="gc").files == 0
    assert read_retention(Repository.open(tables.warehouse.blobs)).keep == 30 * DAY
    set_retention(repository, 0, author="bob")
    assert collect(repository, author="gc").files == 1
    for days in (-1, 1e9):
        with pytest.raises(InputError, match="expected 0 to 36500"):
            set_retention(repository, days, author="bob")


def test_young_files_of_nobody_are_left_alone(tables: Tables) -> None:
    repository = tables.warehouse.repository
    tables.entry([tables.block({1: "a"})])
    repository.objects.flush()
    report = collect(repository, author="gc")
    assert (report.files, report.objects, report.young) == (0, 0, 3)
    assert check_repository(repository).orphans == 3
    later(tables, 1.1)
    report = collect(repository, author="gc")
    assert (report.files, report.objects, report.young) == (1, 2, 0)
    assert check_repository(repository).orphans == 0


def test_branches_of_expired_runs_go_for_good(tables: Tables) -> None:
    repository = tables.warehouse.repository
    tables.put(a=tables.entry([tables.block({1: "a"})]))
    run = tables.warehouse.run("r1", Status.FAILED, b=tables.entry([tables.block({2: "b"})]))
    later(tables, 5)
    assert collect(repository, author="gc").runs == ()
    later(tables, 3)
    report = collect(repository, author="gc")
    assert (report.runs, report.files) == ((run.name,), 1)
    with pytest.raises(NotFoundError, match="older than the retention"):
        undelete_branch(repository, run.name, author="bob")


def test_the_base_of_two_branches_stays_for_their_merge(tables: Tables) -> None:
    """Trap 3: without it the update on one side would look like an insert."""
    repository = tables.warehouse.repository
    tables.put(a=tables.entry([tables.block({1: "a"})]))
    base = tables.warehouse.head()
    tables.warehouse.branch("feature")
    tables.put(a=tables.entry([tables.block({1: "b"})]))
    tables.put("feature", a=tables.entry([tables.block({1: "c"})]))
    later(tables, 100)
    assert collect(repository, author="gc").files == 0
    assert repository.merge_base(repository.resolve("feature"), tables.warehouse.head()) == base
    repository.delete_branch("feature", author="bob")
    later(tables, 5)
    assert collect(repository, author="gc").files == 0, "it could be undeleted, then merged"
    later(tables, 5)
    assert collect(repository, author="gc").files == 2


def test_fsck_reports_that_the_default_branch_is_missing(tables: Tables) -> None:
    warehouse = tables.warehouse
    for info in list(warehouse.blobs.walk("refs/heads")):
        warehouse.blobs.delete(info.path)
    repository = Repository.open(warehouse.blobs, clock=warehouse.clock)
    (problem,) = check_repository(repository).problems
    assert problem.startswith("The default branch 'main' is missing from memory://")
    assert "Restore the folder refs from a backup" in problem


def test_fsck_names_a_tombstone_that_deletes_from_no_block_of_the_version(tables: Tables) -> None:
    block, other = tables.block({1: "ann", 2: "bob"}), tables.block({3: "kim"})
    tombstone = tables.tombstone(block, {0: (1, "ann")})
    tables.put(a=tables.entry([block], [tombstone]))
    assert check_repository(tables.warehouse.repository).problems == ()
    tables.put(a=tables.entry([other], [tombstone]))
    [problem] = check_repository(tables.warehouse.repository).problems
    assert tombstone.path in problem
    assert f"deletes rows of {block.path}" in problem


def test_fsck_names_what_is_missing_or_damaged(tables: Tables) -> None:
    replaced(tables)
    blobs = tables.warehouse.blobs
    repository = Repository.open(blobs, clock=tables.warehouse.clock)
    well = check_repository(repository)
    assert (well.problems, well.commits, well.files) == ((), 3, 2)
    (path,) = [info.path for info in blobs.walk("data") if "part-2" in info.path]
    data = blobs.get(path)
    blobs.delete(path)
    (problem,) = check_repository(repository).problems
    assert problem.startswith(f"The data file {path} is missing")
    blobs.create(path, data + b"x")
    (problem,) = check_repository(repository).problems
    assert "bytes, expected" in problem
    blobs.delete(path)
    blobs.create(path, data)
    snapshot = next(info.path for info in blobs.walk("objects/snapshot"))
    stored = blobs.get(snapshot)
    blobs.delete(snapshot)
    assert any("is missing" in problem for problem in check_repository(repository).problems)
    blobs.create(snapshot, stored.replace(b"append", b"rebild"))
    assert any("is damaged" in problem for problem in check_repository(repository).problems)
    with pytest.raises(DamagedError):
        collect(Repository.open(blobs, clock=tables.warehouse.clock), author="gc")
    blobs.delete(snapshot)
    blobs.create(snapshot, stored)
    assert check_repository(repository).problems == ()
    commit = next(
        info.path
        for info in blobs.walk("objects/commit")
        if info.path.endswith(repository.resolve("main~1"))
    )
    blobs.delete(commit)
    assert any("is missing" in problem for problem in check_repository(repository).problems)


def test_a_dry_run_shows_what_a_shorter_retention_takes_away(tables: Tables) -> None:
    replaced(tables)
    warehouse, repository = tables.warehouse, tables.warehouse.repository
    warehouse.run("r1", Status.FAILED, a="1")
    warehouse.run("r2", Status.OPEN, a="1")
    later(tables, 1.1)
    looked = collect(repository, author="gc", dry_run=True, days=0)
    assert (looked.dry_run, looked.keep_days, looked.files) == (True, 0, 2)
    assert set(looked.runs) == {"runs/r1", "runs/r2"}, "neither has been heard of for a day"
    assert collect(repository, author="gc", dry_run=True).files == 0
    assert collect(repository, author="gc", dry_run=True, days=3).runs == ()
    assert read_retention(repository).keep == 7 * DAY
    with pytest.raises(InputError, match="retention of -1 days"):
        collect(repository, author="gc", dry_run=True, days=-1)
    # A collection removes what the dry run showed.
    before = files(tables)
    set_retention(repository, 0, author="bob")
    done = collect(repository, author="gc")
    assert set(done.runs) == set(looked.runs)
    assert before - files(tables) == looked.files
    with pytest.raises(NotFoundError):
        restore_relation(repository, "shop.a", "main~1", **MAIN)


def remembered(tables: Tables) -> Results:
    """Results: a version that is shown, one that was replaced, a view, and an answer."""
    replaced(tables)
    repository, results = tables.warehouse.repository, Results(tables.warehouse.blobs)
    view = tables.warehouse.view("select 1 as id")
    tables.warehouse.put(v=view)
    for number, at in enumerate(("main", "main~2")):
        entry = repository.tree(repository.resolve(at)).entry(RelationName("shop", "a"))
        assert isinstance(entry, TableEntry)
        results.put(f"{number:064x}", Result(kind="table", version=entry.snapshot))
    results.put(f"{2:064x}", Result(kind="view", version=view.version))
    results.put(f"{3:064x}", Result(kind="answer", rows="[[1]]"))
    results.put(f"{4:064x}", Result(kind="view", version="0" * 64))
    return results


def numbers(results: Results) -> list[int]:
    return sorted(int(stored.key, 16) for stored in results.all())


def test_results_whose_versions_are_gone_are_forgotten(tables: Tables) -> None:
    results = remembered(tables)
    repository = tables.warehouse.repository
    assert collect(repository, author="gc").results == 0
    later(tables, 2)
    # The rows that were replaced are still kept; nothing shows the second view.
    assert collect(repository, author="gc", dry_run=True).results == 1
    assert numbers(results) == [0, 1, 2, 3, 4]
    assert collect(repository, author="gc").results == 1
    later(tables, 8)
    report = collect(repository, author="gc")
    assert (report.results, numbers(results)) == (2, [0, 2])
    assert "2 remembered results" in "\n".join(plain_lines(gc_text(report)))
    assert check_repository(repository).problems == ()


def test_a_result_stays_whose_rows_another_version_keeps(tables: Tables) -> None:
    results = remembered(tables)
    repository = tables.warehouse.repository
    entry = repository.tree(repository.resolve("main")).entry(RelationName("shop", "a"))
    assert isinstance(entry, TableEntry)
    # As where a comment follows in the same node, or another branch took the version.
    shown = repository.objects.snapshot(entry.snapshot)
    between = msgspec.structs.replace(shown, comment="x", parents=(entry.snapshot,))
    id = SnapshotId(repository.objects.put(between))
    last = msgspec.structs.replace(shown, comment="y", parents=(id,))
    tables.put(a=TableEntry(snapshot=SnapshotId(repository.objects.put(last))))
    results.put(f"{5:064x}", Result(kind="table", version=id))
    later(tables, 30)
    collect(repository, author="gc")
    assert numbers(results) == [0, 2, 5]


def test_of_results_with_one_version_the_one_in_use_stays(tables: Tables) -> None:
    results = remembered(tables)
    repository = tables.warehouse.repository
    found = results.find(f"{0:064x}")
    assert found is not None
    later(tables, 1)
    # Other inputs gave the same rows, which kept their version.
    results.put(f"{5:064x}", found)
    later(tables, 2)
    collect(repository, author="gc")
    assert {0, 5} <= set(numbers(results))
    later(tables, 30)
    results.put(f"{0:064x}", found, replace=True)
    later(tables, 2)
    collect(repository, author="gc")
    assert numbers(results) == [0, 2]


def test_a_result_keeps_nothing_from_being_collected(tables: Tables) -> None:
    remembered(tables)
    later(tables, 9)
    assert collect(tables.warehouse.repository, author="gc").files == 1


def test_damaged_results_are_forgotten_and_harm_nobody(tables: Tables) -> None:
    results = remembered(tables)
    tables.warehouse.blobs.create(f"results/ff/{'ff' * 32}", b"no record")
    assert results.find("ff" * 32) is None
    repository = tables.warehouse.repository
    assert check_repository(repository).problems == ()
    later(tables, 2)
    assert collect(repository, author="gc").results == 2
    assert results.find("ff" * 32) is None and f"{0:064x}" in {r.key for r in results.all()}


def test_a_repository_that_never_remembered_anything_is_as_before(tables: Tables) -> None:
    replaced(tables)
    later(tables, 9)
    report = collect(tables.warehouse.repository, author="gc")
    assert (report.results, report.files) == (0, 1)
    assert "remembered" not in "\n".join(plain_lines(gc_text(report)))
    assert Results(tables.warehouse.blobs).count() == 0
