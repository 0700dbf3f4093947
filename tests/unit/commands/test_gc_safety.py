"""A collection beside writers, other collections and stores that list too little."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from dbt.adapters.vcs.commands import gc
from dbt.adapters.vcs.commands.fsck import check_repository
from dbt.adapters.vcs.commands.garbage import check_listings
from dbt.adapters.vcs.commands.gc import collect, set_retention
from dbt.adapters.vcs.commands.merge import merge
from dbt.adapters.vcs.commands.purge import PurgeRequest, purge
from dbt.adapters.vcs.commands.snapshot import create_snapshot
from dbt.adapters.vcs.core.errors import (
    DamagedError,
    NoSpaceError,
    NotFoundError,
    RetryError,
    StorageError,
)
from dbt.adapters.vcs.core.ids import Micros, SegmentId, SnapshotId, ViewId
from dbt.adapters.vcs.core.model import RelationName, Segment, SegmentRef, TableEntry, View
from dbt.adapters.vcs.core.plan.collect import Roots, needed
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.retention import DAY, SeenRefs, hold, hold_commit, read_retention
from dbt.adapters.vcs.core.store import lease
from dbt.adapters.vcs.core.store.blobs import MemoryBlobs
from dbt.adapters.vcs.core.store.lease import TERM
from dbt.adapters.vcs.core.store.local import LocalBlobs
from dbt.adapters.vcs.core.store.objects import SETTLED, ObjectStore, has_object, object_path
from dbt.adapters.vcs.iceberg.avro_files import read_avro
from dbt.adapters.vcs.iceberg.exports import export
from dbt.adapters.vcs.workspace.run_branch import Status
from tests.unit.tables import Tables
from tests.unit.warehouse import Clock, Warehouse


class Interrupted(MemoryBlobs):
    """A store where something happens once, right before a deletion or after a listing."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock)
        self.hidden: str | None = None
        self.unwalked: str | None = None
        self.before_delete: Callable[[], object] | None = None
        self.deleted = ""
        self.after_walk: Callable[[], object] | None = None
        self.before_create: Callable[[], object] | None = None
        self.requests: list[str] = []

    def create(self, path: str, data: bytes) -> bool:
        if self.before_create is not None and path.startswith("condemned"):
            happens, self.before_create = self.before_create, None
            happens()
        return super().create(path, data)

    def arrive(self) -> None:
        """Let every request to delete that was ever sent arrive once more."""
        for path in self.requests:
            super().delete(path)

    def folders(self, folder: str) -> list[str]:
        return [name for name in super().folders(folder) if name != self.hidden]

    def walk(self, folder: str):  # type: ignore[no-untyped-def]
        yield from [info for info in super().walk(folder) if f"/{self.unwalked}/" not in info.path]
        if folder == "data" and self.after_walk is not None:
            happens, self.after_walk = self.after_walk, None
            happens()

    def delete(self, path: str) -> None:
        if self.before_delete is not None and path.startswith(self.deleted):
            happens, self.before_delete = self.before_delete, None
            happens()
        self.requests.append(path)
        super().delete(path)


@pytest.fixture
def blobs() -> Interrupted:
    return Interrupted(Clock())


@pytest.fixture
def tables(blobs: Interrupted) -> Tables:
    tables = Tables(Warehouse(blobs, blobs._clock))  # type: ignore[arg-type]
    tables.put(a=tables.entry([tables.block({1: "a"})]))
    tables.put(a=tables.entry([tables.block({2: "b"})]))
    tables.warehouse.clock.now += int(9 * DAY)
    return tables


def expect_nothing_deleted(tables: Tables, blobs: Interrupted, found: str) -> None:
    before = {path for path in blobs._blobs if not path.startswith("refs")}
    with pytest.raises(DamagedError, match=found):
        collect(tables.warehouse.repository, author="gc")
    assert before <= set(blobs._blobs)


def test_a_listing_without_the_default_branch_deletes_nothing(
    tables: Tables, blobs: Interrupted
) -> None:
    blobs.hidden = "main"
    expect_nothing_deleted(tables, blobs, "lacks main, which another listing shows")


def test_listings_that_contradict_each_other_delete_nothing(
    tables: Tables, blobs: Interrupted
) -> None:
    tables.warehouse.branch("feature")
    tables.put("feature", b=tables.entry([tables.block({3: "c"})]))
    tables.warehouse.clock.now += int(9 * DAY)
    blobs.hidden = "feature"
    expect_nothing_deleted(tables, blobs, "refs/heads .* lacks feature")


def test_a_branch_that_no_listing_shows_any_more_is_missed(
    tables: Tables, blobs: Interrupted
) -> None:
    repository = tables.warehouse.repository
    tables.warehouse.branch("feature")
    tables.put("feature", b=tables.entry([tables.block({3: "c"})]))
    create_snapshot(repository, "shop.a", "month-end", "main", author="ann")
    collect(repository, author="gc")
    tables.put(a=tables.entry([tables.block({4: "d"})]))
    tables.warehouse.clock.now += int(9 * DAY)
    blobs.hidden = blobs.unwalked = "feature"
    expect_nothing_deleted(tables, blobs, "lacks feature, which an earlier look showed")
    blobs.hidden = blobs.unwalked = "month-end"
    expect_nothing_deleted(tables, blobs, "lacks month-end, which an earlier look showed")
    blobs.hidden = blobs.unwalked = None
    # A branch that was deleted has a log still.
    repository.delete_branch("feature", author="ann")
    assert collect(repository, author="gc").kept_files == 3


def test_what_became_reachable_after_marking_is_kept(tables: Tables, blobs: Interrupted) -> None:
    repository = tables.warehouse.repository
    first = tables.warehouse.head()
    old = repository.objects.commit(first).parents[0]

    def name_it() -> None:
        repository.create_branch("again", old, author="ann")

    blobs.after_walk = name_it
    assert collect(repository, author="gc").files == 0
    assert check_repository(repository).problems == ()


class ThreadsOfReads(MemoryBlobs):
    """Knows which threads read objects, each of which takes a moment."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock)
        self.threads: list[str] = []

    def get(self, path: str) -> bytes:
        self.threads.append(threading.current_thread().name)
        time.sleep(0.002)
        return super().get(path)


def test_manifests_of_tables_are_marked_many_at_once() -> None:
    clock = Clock()
    blobs = ThreadsOfReads(clock)
    tables = Tables(Warehouse(blobs, clock))
    head = tables.put(**{f"t{n}": tables.entry([tables.block({n: "a"})]) for n in range(60)})
    blobs.threads.clear()
    found = needed(Roots(commits=[head], whole=[head]), ObjectStore(blobs))
    assert len(found.files) == 60
    by_itself = blobs.threads.count(threading.main_thread().name)
    # Of each table a snapshot and a segment; commits, trees and the way to them follow each other.
    assert len(blobs.threads) > 120
    # This thread makes its share of what is asked for at once.
    assert by_itself < 40


@pytest.mark.parametrize("branches", [0, 20])
def test_the_names_are_read_again_in_proportion_to_what_is_deleted(
    branches: int, tables: Tables, blobs: Interrupted, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(branches):
        tables.warehouse.branch(f"b/{number}")
    for number in range(20):
        blobs.create(f"objects/view/ab/{number:02d}{'ab' * 31}", b"garbage")
    tables.warehouse.clock.now += int(9 * DAY)
    looks: list[object] = []

    def counted(*of: Any) -> SeenRefs:
        looks.append(of)
        return check_listings(*of)

    monkeypatch.setattr(gc, "check_listings", counted)
    monkeypatch.setattr(gc, "_BATCH", 5)
    found = collect(tables.warehouse.repository, author="gc")
    deleted = found.files + found.objects
    assert deleted >= 20
    # `main`, and the branches.
    assert len(looks) == -(-deleted // max(5, 1 + branches))


def test_a_writer_that_finds_old_garbage_there_renews_it(
    tables: Tables, blobs: Interrupted
) -> None:
    path = "objects/view/ab/" + "ab" * 32
    blobs.create(path, b"garbage")
    tables.warehouse.clock.now += int(9 * DAY)
    # Before the age of files is looked at the last time, somebody stores the same bytes.
    blobs.after_walk = lambda: blobs.create_all({path: b"garbage"})
    collect(tables.warehouse.repository, author="gc")
    assert blobs.exists(path)


def test_a_collection_that_stood_still_has_lost_its_lease(
    tables: Tables, blobs: Interrupted
) -> None:
    repository, clock = tables.warehouse.repository, tables.warehouse.clock

    def stand_still() -> None:
        clock.now += 2 * TERM
        ahead = SimpleNamespace(monotonic=lambda: time.monotonic() + 120)
        monkeypatch.setattr(lease, "time", ahead)

    with pytest.MonkeyPatch.context() as monkeypatch:
        blobs.after_walk = stand_still
        before = sum(1 for _ in blobs.walk("objects"))
        with pytest.raises(RetryError, match="lost its lease"):
            collect(repository, author="gc")
    assert sum(1 for _ in blobs.walk("objects")) == before
    assert list(blobs.walk("leases")) == []
    assert collect(repository, author="gc").objects == before - sum(
        1 for _ in blobs.walk("objects")
    )


def test_a_killed_collection_blocks_nobody_for_longer_than_a_minute(
    tables: Tables, blobs: Interrupted
) -> None:
    repository, clock = tables.warehouse.repository, tables.warehouse.clock
    old = repository.objects.commit(tables.warehouse.head()).parents[0]
    blobs.create("leases/killed", b"")
    with pytest.raises(RetryError, match="is running"):
        hold_commit(repository, old, author="ann")
    with pytest.raises(RetryError, match="is running"):
        collect(repository, author="gc")
    clock.now += TERM
    hold_commit(repository, old, author="ann")
    collect(repository, author="gc")


@pytest.mark.parametrize("hours", [-48, -25, 25, 48])
def test_the_clock_of_a_machine_neither_hurries_nor_stops_a_collection(
    tables: Tables, blobs: Interrupted, hours: int
) -> None:
    set_retention(tables.warehouse.repository, 0, author="ann")
    path = "data/t/w=new/0.parquet"
    blobs.create(path, b"rows of a write that goes on")
    apart = Micros(hours * 3_600 * 1_000_000)
    clock = tables.warehouse.clock
    skewed = Repository.open(blobs, clock=lambda: Micros(clock() + apart))
    collect(skewed, author="gc")
    assert blobs.exists(path)
    assert list(blobs.walk("leases")) == []


def test_what_a_machine_with_a_slow_clock_wrote_is_not_older_for_that(
    tables: Tables, blobs: Interrupted
) -> None:
    right = tables.warehouse.repository
    clock = tables.warehouse.clock
    set_retention(right, 2, author="ann")

    def late() -> Micros:
        return Micros(clock() - 3 * DAY)

    tables.warehouse.repository = Repository.open(blobs, clock=late)
    tables.warehouse.clock = late  # type: ignore[assignment]
    tables.put(b=tables.entry([tables.block({5: "e"})]))
    tables.put(b=tables.entry([tables.block({6: "f"})]))
    tables.warehouse.run("r1", Status.FAILED, c=tables.entry([tables.block({7: "g"})]))
    clock.now += int(1.5 * DAY)
    # One file is gone that was replaced days ago, and none of those that were shown since.
    report = collect(right, author="gc")
    assert (report.files, report.runs) == (1, ())


def test_what_a_writer_renews_between_the_look_at_its_age_and_its_deletion_is_there(
    tables: Tables, blobs: Interrupted
) -> None:
    garbage = View(text="select 1 as garbage", columns=())
    id, path = written(garbage, blobs)
    tables.warehouse.clock.now += int(9 * DAY)
    writer = threading.Thread(target=written, args=(garbage, blobs))

    def renew() -> None:
        before = blobs.modified_at(path)
        writer.start()
        while blobs.modified_at(path) == before:
            time.sleep(0.001)

    blobs.before_delete, blobs.deleted = renew, path
    assert collect(tables.warehouse.repository, author="gc").objects == 1
    writer.join()
    assert ObjectStore(blobs).view(id) == garbage


def test_a_request_to_delete_that_arrives_late_removes_nothing_alive(
    tables: Tables, blobs: Interrupted
) -> None:
    # Three times garbage, three times needed again: each collection condemns another name.
    view = View(text="select 1 as id", columns=())
    id, path = written(view, blobs)
    for _ in range(3):
        tables.warehouse.clock.now += int(9 * DAY)
        assert collect(tables.warehouse.repository, author="gc").objects >= 1
        assert not has_object(blobs, "view", id)
        for name in (path, *blobs.requests):
            blobs._blobs.pop(name, None)
        # A writer with an old cache, another process, and the requests once more.
        assert written(view, blobs)[0] == id
        blobs.arrive()
        assert ObjectStore(blobs).view(id) == view
        assert ObjectStore(blobs).with_prefix("view", id) == [id]
    assert {name for name in blobs.requests if name.startswith(path)} == {
        path,
        f"{path}.1",
        f"{path}.2",
    }
    tables.warehouse.clock.now += SETTLED
    assert collect(tables.warehouse.repository, author="gc").objects == 1
    tables.warehouse.clock.now += SETTLED
    collect(tables.warehouse.repository, author="gc")
    written(view, blobs)
    assert blobs.exists(path)


def test_a_request_that_is_on_its_way_when_a_writer_lands_removes_nothing_alive(
    tables: Tables, blobs: Interrupted
) -> None:
    # The collection still waits for an answer: nothing was deleted when the writer stores.
    view = View(text="select 1 as id", columns=())
    id, path = written(view, blobs)
    tables.warehouse.clock.now += int(9 * DAY)
    blobs.before_delete, blobs.deleted = (lambda: written(view, blobs)), path
    assert collect(tables.warehouse.repository, author="gc").objects == 1
    blobs.arrive()
    assert ObjectStore(blobs).view(id) == view
    assert check_repository(tables.warehouse.repository).problems == ()


def test_rows_are_not_brought_back_while_a_request_to_delete_them_may_be_on_its_way(
    tables: Tables, blobs: Interrupted, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository = tables.warehouse.repository
    (old,) = repository.objects.commit(tables.warehouse.head()).parents
    before = dict(blobs._blobs)
    collect(repository, author="gc")
    # The store has told that they are deleted, and they aren't: a proxy holds the requests.
    gone = {path: blob for path, blob in before.items() if path in blobs.requests}
    blobs._blobs.update(gone)
    assert any(path.startswith("data/") for path in gone)
    with pytest.raises(NotFoundError, match="have been let go of"):
        hold_commit(repository, old, author="ann")
    blobs.arrive()
    assert check_repository(repository).problems == ()


def test_what_is_collected_is_not_called_damaged_without_a_word_of_the_collection(
    tables: Tables, blobs: Interrupted
) -> None:
    tables.warehouse.branch("feature")
    tables.put("feature", b=tables.entry([tables.block({3: "c"})]))
    repository = tables.warehouse.repository
    head = repository.branch("feature").head
    tree = repository.objects.commit(head).tree
    repository.delete_branch("feature", author="ann")
    tables.warehouse.clock.now += int(9 * DAY)
    collect(repository, author="gc")
    opened = Repository.open(blobs, clock=tables.warehouse.clock)
    with pytest.raises(DamagedError, match="a collection let go of it"):
        opened.objects.tree(tree)
    blobs._blobs.pop(object_path("tree", opened.tree(opened.branch("main").head).id))
    with pytest.raises(DamagedError, match="is missing from"):
        Repository.open(blobs, clock=tables.warehouse.clock).tree(opened.branch("main").head)


def test_what_a_collection_spared_can_be_brought_back(tables: Tables, blobs: Interrupted) -> None:
    repository = tables.warehouse.repository
    (old,) = repository.objects.commit(tables.warehouse.head()).parents
    first = repository.tree(old).entry(RelationName("shop", "a"))
    assert isinstance(first, TableEntry)
    blobs.before_create = lambda: tables.put(b=first)
    assert collect(repository, author="gc").files == 0
    assert blobs.before_create is None
    hold(repository, None, [first.snapshot], author="ann", known=tables.warehouse.head())


@pytest.mark.parametrize("fails", [2, 99])
def test_a_store_that_refuses_to_delete_for_a_moment_is_asked_again(
    tables: Tables, blobs: Interrupted, monkeypatch: pytest.MonkeyPatch, fails: int
) -> None:
    monkeypatch.setattr(gc, "_PAUSES", (0.0, 0.0, 0.0))
    left = iter(range(fails))

    def busy(path: str) -> None:
        if path.startswith("data/") and next(left, None) is not None:
            raise StorageError("SlowDown")
        MemoryBlobs.delete(blobs, path)

    monkeypatch.setattr(blobs, "delete", busy)
    if fails == 2:
        assert collect(tables.warehouse.repository, author="gc").files == 1
    else:
        with pytest.raises(StorageError, match="SlowDown"):
            collect(tables.warehouse.repository, author="gc")
        assert sum(1 for _ in blobs.walk("data")) == 2


def written(view: View, blobs: Interrupted) -> tuple[ViewId, str]:
    objects = ObjectStore(blobs)
    id = ViewId(objects.put(view))
    objects.flush()
    return id, f"objects/view/{id[:2]}/{id}"


class Full(Interrupted):
    """A store without space for another byte, until something is deleted if `frees` is true.

    Without inodes it has no space for an empty file either.
    """

    is_full = False
    frees = True
    has_inodes = True

    def create(self, path: str, data: bytes) -> bool:
        if self.is_full and (data or not self.has_inodes) and not self.exists(path):
            raise NoSpaceError(f"No space left to write {path}.")
        return super().create(path, data)

    def delete(self, path: str) -> None:
        super().delete(path)
        if self.frees and path.startswith("data"):
            self.is_full = False


@pytest.mark.parametrize("has_inodes", [True, False])
@pytest.mark.parametrize("frees", [True, False])
def test_a_full_disk_is_collected(frees: bool, has_inodes: bool) -> None:
    blobs = Full(Clock())
    tables = Tables(Warehouse(blobs, blobs._clock))  # type: ignore[arg-type]
    for n in range(3):
        tables.put(a=tables.entry([tables.block({n: "a"})]))
    tables.warehouse.clock.now += int(9 * DAY)
    repository = tables.warehouse.repository
    blobs.is_full, blobs.frees, blobs.has_inodes = True, frees, has_inodes
    if frees:
        assert collect(repository, author="gc").files == 2
        assert read_retention(repository).horizon > 0
    else:
        with pytest.raises(NoSpaceError, match="Nothing more can be deleted"):
            collect(repository, author="gc")
    assert sum(1 for _ in blobs.walk("data")) == 1
    assert list(blobs.walk("leases")) == []
    blobs.is_full = False
    assert check_repository(repository).problems == ()


@pytest.mark.parametrize("can_renew", [True, False])
def test_on_a_full_disk_files_are_as_young_as_the_store_says(can_renew: bool) -> None:
    blobs = Full(Clock())
    tables = Tables(Warehouse(blobs, blobs._clock))  # type: ignore[arg-type]
    for n in range(3):
        tables.put(a=tables.entry([tables.block({n: "a"})]))
    written = tables.block({9: "of a writer at work"})
    set_retention(tables.warehouse.repository, 0, author="ann")
    # The clock of this machine is ten days fast.
    repository = Repository.open(blobs, clock=lambda: Micros(blobs._clock() + int(10 * DAY)))
    blobs.is_full, blobs.has_inodes = True, False
    if not can_renew:
        blobs.create_all = refuse  # type: ignore[method-assign]
    with pytest.raises(NoSpaceError):
        collect(repository, author="gc")
    assert blobs.exists(written.path)
    assert sum(1 for _ in blobs.walk("data")) == 4


def refuse(blobs: object) -> set[str]:
    raise NoSpaceError("No space left, even to renew a file.")


def test_what_killed_writes_left_on_a_disk_is_deleted_when_it_is_old(tmp_path: Path) -> None:
    blobs = LocalBlobs(tmp_path)
    repository = Repository.create(blobs, author="ann")
    old = tmp_path / "objects/view/ab" / f"{'ab' * 32}#123"
    young = tmp_path / "refs/heads/main" / "2#45"
    for path in (old, young):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"half of it")
    os.utime(old, (1, 1))
    collect(repository, author="gc")
    assert [path.exists() for path in (old, young)] == [False, True]


@pytest.mark.parametrize("is_looked_at", [False, True])
def test_metadata_that_an_export_uses_again_is_there_after_a_collection(
    blobs: Interrupted, is_looked_at: bool
) -> None:
    warehouse = Warehouse(blobs, blobs._clock)  # type: ignore[arg-type]
    repository = warehouse.repository
    whole, part = (first_blocks(warehouse, count) for count in (2, 1))
    warehouse.put(a=whole)
    export(repository, "main")
    before = {info.path for info in blobs.walk("iceberg")}
    warehouse.put(a=part)
    export(repository, "main")
    added = {info.path for info in blobs.walk("iceberg")} - before
    (manifest,) = (path for path in added if f"/manifests/{segment_of(warehouse)}" in path)
    warehouse.put(a=whole)
    blobs.create("objects/view/ab/" + "ab" * 32, b"garbage")
    warehouse.clock.now += int(9 * DAY)
    export(repository, "main", everything=True)

    def publish() -> None:
        warehouse.put(a=part)
        export(repository, "main")

    writer = threading.Thread(target=publish)

    def renew() -> None:
        old = blobs.modified_at(manifest)
        writer.start()
        while writer.is_alive() and blobs.modified_at(manifest) == old:
            time.sleep(0.001)

    blobs.before_delete = renew
    blobs.deleted = manifest if is_looked_at else "objects/view/ab"
    collect(repository, author="gc")
    writer.join()
    assert blobs.before_delete is None
    blobs.arrive()
    assert listed(blobs)
    assert all(map(blobs.exists, listed(blobs)))


def listed(blobs: Interrupted) -> list[str]:
    """Return the manifests of all versions that the newest metadata of an export shows."""
    paths = [i.path for i in blobs.walk("iceberg/export") if i.path.endswith(".metadata.json")]
    newest = max(paths, key=lambda path: int(path.rpartition("/v")[2].partition(".")[0]))
    lists = [each["manifest-list"] for each in json.loads(blobs.get(newest))["snapshots"]]
    paths = [f"iceberg/{uri.partition('/iceberg/')[2]}" for uri in lists]
    found = [item["manifest_path"] for path in paths for item in read_avro(blobs.get(path))]
    return [f"iceberg/{str(uri).partition('/iceberg/')[2]}" for uri in found]


def first_blocks(warehouse: Warehouse, count: int) -> TableEntry:
    """Return a table with the first of two blocks, or both, in one segment."""
    entry = warehouse.table("x", "y")
    assert isinstance(entry, TableEntry)
    objects = warehouse.repository.objects
    snapshot = objects.snapshot(entry.snapshot)
    blocks = [b for ref in snapshot.segments for b in objects.segment(ref.id).blocks][:count]
    ref = SegmentRef(
        id=SegmentId(objects.put(Segment(blocks=tuple(blocks)))),
        blocks=count,
        rows=sum(block.rows for block in blocks),
        bytes=sum(block.bytes for block in blocks),
    )
    version = msgspec.structs.replace(snapshot, segments=(ref,))
    return TableEntry(snapshot=SnapshotId(objects.put(version)))


def segment_of(warehouse: Warehouse) -> SegmentId:
    """Return the only segment of the table `a`."""
    entry = warehouse.shown()["shop.a"]
    assert isinstance(entry, TableEntry)
    (ref,) = warehouse.repository.objects.snapshot(entry.snapshot).segments
    return ref.id


@pytest.mark.parametrize("purges", [False, True])
def test_what_is_brought_back_is_merged_row_by_row(purges: bool) -> None:
    tables = Tables(Warehouse())
    warehouse, repository = tables.warehouse, tables.warehouse.repository
    rows = {1: "old", 2: "old", 5: "old"}
    base = tables.entry([tables.block(rows)], key=True)
    tables.put(a=base)
    warehouse.branch("x")
    ours = [tables.block(rows | {1: "x"})]
    tables.put("x", a=tables.entry(ours, parents=[base], key=True))
    before = warehouse.head("x")
    theirs = [tables.block(rows | {2: "main"})]
    tables.put(a=tables.entry(theirs, parents=[base], key=True))
    warehouse.clock.now += int(9 * DAY)
    merge(repository, "main", "x", author="ann")
    warehouse.clock.now += int(DAY)
    collect(repository, author="gc")
    if purges:
        purge(repository, PurgeRequest(relation="shop.a", where="id = 5"), author="bob")
        before = repository.maintenance.current(before)
    hold_commit(repository, before, author="ann")
    repository.create_branch("again", before, author="ann")
    merge(repository, "again", "main", author="ann")
    found = {row["id"]: row["name"] for row in warehouse.rows("a")}
    assert found == {1: "x", 2: "main"} | ({} if purges else {5: "old"})
    assert check_repository(repository).problems == ()
