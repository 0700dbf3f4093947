"""A collection beside writers, other collections and stores that list too little."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from dbt.adapters.vcs.core.errors import DamagedError, RetryError
from dbt.adapters.vcs.core.ids import Micros
from dbt.adapters.vcs.core.retention import DAY, change_retention
from dbt.adapters.vcs.core.store import MemoryBlobs
from dbt.adapters.vcs.verbs.refs.named_snapshots import create_snapshot
from dbt.adapters.vcs.verbs.upkeep.fsck import check_repository
from dbt.adapters.vcs.verbs.upkeep.gc import collect
from tests.unit.tables import Tables
from tests.unit.warehouse import Clock, Warehouse


class Interrupted(MemoryBlobs):
    """A store where something happens once, right before a deletion or after a listing."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock)
        self.hidden: str | None = None
        self.unwalked: str | None = None
        self.before_delete: Callable[[], object] | None = None
        self.after_walk: Callable[[], object] | None = None

    def folders(self, folder: str) -> list[str]:
        return [name for name in super().folders(folder) if name != self.hidden]

    def walk(self, folder: str):  # type: ignore[no-untyped-def]
        yield from [info for info in super().walk(folder) if f"/{self.unwalked}/" not in info.path]
        if folder == "data" and self.after_walk is not None:
            happens, self.after_walk = self.after_walk, None
            happens()

    def delete(self, path: str) -> None:
        if self.before_delete is not None:
            happens, self.before_delete = self.before_delete, None
            happens()
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


def test_a_collection_that_lost_its_lease_stops(tables: Tables, blobs: Interrupted) -> None:
    repository = tables.warehouse.repository

    def take_over() -> None:
        until = Micros(repository.clock() + DAY)
        change_retention(repository, author="eve", action="begin", at_work_until=until)

    blobs.after_walk = take_over
    before = sum(1 for _ in blobs.walk("objects"))
    with pytest.raises(RetryError, match="lease is lost"):
        collect(repository, author="gc")
    assert sum(1 for _ in blobs.walk("objects")) == before
