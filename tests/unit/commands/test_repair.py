"""Standing up again: what is damaged is named, and repaired without losing what is whole."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pytest

from dbt.adapters.vcs.api import Client
from dbt.adapters.vcs.commands.fsck import DataCheck, check_repository
from dbt.adapters.vcs.commands.gc import collect
from dbt.adapters.vcs.commands.repair import fetch, go_back, survey
from dbt.adapters.vcs.core.branches import Protection
from dbt.adapters.vcs.core.errors import (
    DamagedError,
    InputError,
    NotFoundError,
    ProtectedError,
    StorageError,
)
from dbt.adapters.vcs.core.model import Block
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.retention import DAY
from dbt.adapters.vcs.core.store.blobs import MemoryBlobs
from dbt.adapters.vcs.table.files.footers import read_blocks
from dbt.adapters.vcs.table.files.parquet import write_table
from tests.unit.commands.test_beside_damage import DAMAGES, damaged, place_of
from tests.unit.fake_engine import FakeEngine
from tests.unit.tables import SCHEMA, Tables
from tests.unit.warehouse import Clock, Warehouse

IN_LOG = DAMAGES[:3]
IN_TABLE = ("snapshot", "segment", "data")


@pytest.fixture
def tables() -> Tables:
    clock = Clock()
    tables = Tables(Warehouse(MemoryBlobs(clock), clock))
    for number in range(3):
        tables.put(
            a=tables.entry([tables.block({1: f"a{number}"})]),
            b=tables.entry([tables.block({1: f"b{number}"})]),
        )
    tables.warehouse.branch("dev")
    return tables


def copied(blobs: MemoryBlobs) -> MemoryBlobs:
    copy = MemoryBlobs()
    copy.create_all(contents(blobs))
    return copy


def contents(blobs: MemoryBlobs) -> dict[str, bytes]:
    paths = [info.path for folder in ("refs", "objects", "data") for info in blobs.walk(folder)]
    return {path: blobs.get(path) for path in ("vcs.json", *paths)}


def again(repository: Repository) -> Repository:
    """The repository as another process sees it."""
    return Repository.open(repository.blobs, clock=repository.clock)


@pytest.mark.parametrize("what", DAMAGES)
def test_damage_is_named_with_what_can_be_done(tables: Tables, what: str) -> None:
    assert survey(tables.warehouse.repository).damages == ()
    repository = damaged(tables, "main", "b", what)
    before = contents(repository.blobs)
    report = survey(repository)
    found = [damage for damage in report.damages if damage.where.startswith("branch main")]
    assert found
    assert "dbt-vcs repair --from-copy LOCATION" in found[0].help
    assert found[0].help[-1] == "dbt-vcs repair --to-last-whole main"
    drop = "dbt-vcs sql 'drop table `shop`.`b`' --branch main"
    assert (drop in found[0].help) == (what in IN_TABLE)
    assert contents(repository.blobs) == before


@pytest.mark.parametrize("what", IN_TABLE)
def test_what_only_a_merge_needs_is_fetched_from_a_copy(tables: Tables, what: str) -> None:
    warehouse = tables.warehouse
    base = place_of(warehouse.repository, "dev", "b", what)
    tables.put(b=tables.entry([tables.block({1: "main's"})]))
    tables.put("dev", b=tables.entry([tables.block({1: "dev's"})]))
    warehouse.clock.now += 400 * DAY
    collect(again(warehouse.repository), author="bob")
    assert warehouse.blobs.exists(base)
    copy = Repository.open(copied(warehouse.blobs), clock=warehouse.clock)
    warehouse.blobs.delete(base)
    assert check_repository(again(warehouse.repository)).problems != ()
    report = fetch(again(warehouse.repository), copy, author="bob")
    assert (len(report.done), report.damages) == (1, ())
    assert check_repository(again(warehouse.repository)).problems == ()


@pytest.mark.parametrize("what", DAMAGES)
def test_everything_is_fetched_from_a_copy(tables: Tables, what: str) -> None:
    whole = contents(tables.warehouse.blobs)
    copy = Repository.open(copied(tables.warehouse.blobs))
    repository = damaged(tables, "main", "b", what)
    broken = contents(repository.blobs)
    report = fetch(repository, copy, author="bob", dry_run=True)
    assert (len(report.done), contents(repository.blobs)) == (1, broken)
    report = fetch(repository, copy, author="bob")
    assert (len(report.done), report.damages) == (1, ())
    assert contents(repository.blobs) == whole
    assert check_repository(again(repository)).problems == ()
    # What was replaced is kept.
    aside = [repository.blobs.get(info.path) for info in repository.blobs.walk("damaged")]
    assert aside == [data for path, data in broken.items() if whole.get(path) != data]
    assert fetch(again(repository), copy, author="bob").done == ()


def test_all_branches_come_back_from_a_copy(tables: Tables) -> None:
    whole = contents(tables.warehouse.blobs)
    copy = Repository.open(copied(tables.warehouse.blobs))
    blobs = tables.warehouse.blobs
    for info in list(blobs.walk("refs/heads")):
        blobs.delete(info.path)
    report = fetch(again(tables.warehouse.repository), copy, author="bob")
    assert report.damages == ()
    assert contents(blobs) == whole


def test_what_is_damaged_in_the_copy_is_not_taken(tables: Tables) -> None:
    blobs = tables.warehouse.blobs
    copy = copied(blobs)
    for what in ("edited move", "segment", "data"):
        path = place_of(tables.warehouse.repository, "main", "b", what)
        data = copy.get(path)
        copy.delete(path)
        copy.create(path, data[:-3])
        damaged(tables, "main", "a" if what == "edited move" else "b", what)
        broken = contents(blobs)
        report = fetch(again(tables.warehouse.repository), Repository.open(copy), author="bob")
        assert (report.done, contents(blobs)) == ((), broken)
        assert report.damages != ()
        blobs.delete(path)
        blobs.create(path, data)
        tables.warehouse.repository = again(tables.warehouse.repository)


def test_another_repository_is_no_copy(tables: Tables) -> None:
    other = Repository.create(MemoryBlobs(), author="ann")
    with pytest.raises(InputError, match="another repository"):
        fetch(tables.warehouse.repository, other, author="bob")


@pytest.mark.parametrize("what", DAMAGES)
def test_a_branch_goes_back_to_its_last_whole_state(tables: Tables, what: str) -> None:
    old = tables.warehouse.repository
    heads = [old.refs.at("heads", "main", seq).move.commit for seq in range(1, 5)]
    protection = Protection(require=("tests",))
    if what in IN_LOG:
        old.protect("dev", protection, author="ann")
    repository = damaged(tables, "main", "b", what)
    before = contents(repository.blobs)
    go_back(repository, "main", author="bob", dry_run=True)
    assert contents(repository.blobs) == before
    report = go_back(repository, "main", author="bob")
    assert report.damages == ()
    repository = again(repository)
    # Of a gap in the middle nothing but the move itself is lost.
    assert repository.branch("main").head == heads[3 if what == "gap" else 2]
    assert list(repository.refs.check("heads", "main")) == []
    shown = {move.move.commit for move in repository.refs.log("heads", "main")}
    assert set(heads[:2]) <= shown
    tables.warehouse.repository = repository
    tables.put(a=tables.entry([tables.block({9: "new"})]))
    assert go_back(repository, "main", author="bob").done == (
        "The branch main is whole: nothing to do.",
    )


@pytest.mark.parametrize(
    ("lost", "shown"),
    [
        ((1, 2), (None, None, 3, 4)),
        ((1, 2, 3), (None, None, None, 4)),
        ((2, 3), (1, 1, 1, 4)),
        ((1, 3), (None, 2, 2, 4)),
    ],
)
def test_a_lost_move_shows_no_commit_that_is_later(
    tables: Tables, lost: tuple[int, ...], shown: tuple[int | None, ...]
) -> None:
    refs = tables.warehouse.repository.refs
    moves = {seq: refs.at("heads", "main", seq).move for seq in range(1, 5)}
    for number in lost:
        tables.warehouse.blobs.delete(f"refs/heads/main/{number:020d}")
    go_back(again(tables.warehouse.repository), "main", author="bob")
    repository = again(tables.warehouse.repository)
    assert list(repository.refs.check("heads", "main")) == []
    found = [ref.move for ref in reversed(repository.refs.log("heads", "main"))]
    assert [move.commit for move in found] == [n and moves[n].commit for n in shown]
    assert [move.at for move in found] == [moves[n].at if n else 0 for n in shown]
    assert [number for number, move in enumerate(found, 1) if move.action == "lost"] == list(lost)
    if shown[0] is None:
        for revision in ("main@{2020-01-01}", f"main@{{{len(set(shown)) - 1}}}"):
            with pytest.raises(NotFoundError, match="not known where the branch 'main' was"):
                repository.resolve(revision)


def test_a_foreign_file_is_taken_away_and_no_move_is_lost(tables: Tables) -> None:
    blobs = tables.warehouse.blobs
    head = tables.warehouse.head()
    for name in ("x.tmp", "99999999999999999999"):
        blobs.create(f"refs/heads/main/{name}", b"x")
    go_back(again(tables.warehouse.repository), "main", author="bob")
    repository = again(tables.warehouse.repository)
    assert (repository.branch("main").head, repository.branch("main").ref.seq) == (head, 4)
    assert sum(1 for _ in blobs.walk("damaged")) == 2


def test_a_protected_branch_shows_no_other_commit_by_repair(tables: Tables) -> None:
    tables.warehouse.repository.protect("main", Protection(), author="ann")
    repository = damaged(tables, "main", "b", "segment")
    before = contents(repository.blobs)
    with pytest.raises(ProtectedError, match="protected"):
        go_back(repository, "main", author="bob")
    assert contents(repository.blobs) == before


def test_a_branch_without_any_whole_state_is_left_as_it_is(tables: Tables) -> None:
    blobs = tables.warehouse.blobs
    for info in list(blobs.walk("refs/heads/dev")):
        blobs.delete(info.path)
        blobs.create(info.path, b"{}")
    before = contents(blobs)
    with pytest.raises(DamagedError, match="--from-copy"):
        go_back(again(tables.warehouse.repository), "dev", author="bob")
    with pytest.raises(NotFoundError, match="no branch or tag"):
        go_back(tables.warehouse.repository, "nope", author="bob")
    assert contents(blobs) == before


@pytest.mark.parametrize("what", IN_TABLE)
def test_a_damaged_relation_is_dropped_and_others_stay(tables: Tables, what: str) -> None:
    shown = tables.warehouse.shown()
    repository = damaged(tables, "dev", "b", what)
    with Client.on(
        repository, "dev", lambda _: FakeEngine(repository.blobs), schema="shop", author="bob"
    ) as client:
        client.sql("drop table `shop`.`b`")
    left = survey(repository).damages
    assert not [damage for damage in left if damage.where.startswith("branch dev")]
    assert tables.warehouse.shown("dev") == {"shop.a": shown["shop.a"]}
    assert tables.warehouse.shown("main") == shown


@pytest.mark.parametrize("what", DAMAGES)
@pytest.mark.parametrize("how", ["copy", "back"])
def test_a_repair_that_dies_at_any_write_is_begun_again(
    tables: Tables, monkeypatch: pytest.MonkeyPatch, what: str, how: str
) -> None:
    copy = Repository.open(copied(tables.warehouse.blobs))
    start = contents(damaged(tables, "main", "b", what).blobs)

    def repair(repository: Repository) -> object:
        if how == "copy":
            return fetch(repository, copy, author="bob")
        return go_back(repository, "main", author="bob")

    writes = 0
    while True:
        blobs = MemoryBlobs(tables.warehouse.clock)
        blobs.create_all(start)
        repository = Repository.open(blobs, clock=tables.warehouse.clock)
        left = [writes]

        def dying(call: Callable[..., object], left: list[int] = left) -> Callable[..., object]:
            def run(*args: object) -> object:
                if left[0] == 0:
                    raise StorageError("The machine went down.")
                left[0] -= 1
                return call(*args)

            return run

        with monkeypatch.context() as patch:
            for name in ("create", "delete"):
                patch.setattr(blobs, name, dying(getattr(blobs, name)))
            try:
                repair(repository)
            except StorageError:
                died = True
            else:
                died = False
        repair(again(repository))
        if how == "copy":
            assert check_repository(again(repository)).problems == ()
        assert list(again(repository).refs.check("heads", "main")) == []
        left = survey(again(repository)).damages
        assert not [item for item in left if item.where.startswith("branch main")]
        if not died:
            return
        writes += 1


def flipped(tables: Tables) -> Block:
    """Give main another table, and flip a bit of its file."""
    blobs = tables.warehouse.blobs
    rows = pa.table({"id": list(range(9_000)), "name": [f"name {id}" for id in range(9_000)]})
    files = write_table(blobs, rows, folder="data/t/w=big", schema=SCHEMA)
    (block,) = read_blocks(blobs, files, SCHEMA, (), files)
    tables.put(c=tables.entry([block]))
    return block


def flip(tables: Tables, path: str) -> bytes:
    blobs = tables.warehouse.blobs
    good = blobs.get(path)
    blobs.delete(path)
    blobs.create(path, good[:500] + bytes([good[500] ^ 1]) + good[501:])
    return good


def test_a_flipped_bit_is_named_where_data_files_are_read(tables: Tables) -> None:
    block = flipped(tables)
    flip(tables, block.path)
    repository = again(tables.warehouse.repository)
    sizes = survey(repository)
    assert (sizes.damages, sizes.sizes_only) == ((), True)
    report = survey(repository, DataCheck())
    assert not report.sizes_only
    assert [damage.where for damage in report.damages] == ["branch main, shop.c"]
    assert block.path in report.damages[0].what


def test_a_file_with_a_flipped_bit_is_fetched_from_a_copy(tables: Tables) -> None:
    block = flipped(tables)
    copy = copied(tables.warehouse.blobs)
    good = flip(tables, block.path)
    repository = again(tables.warehouse.repository)
    # One that is damaged in the copy, too, is not taken.
    other = copied(tables.warehouse.blobs)
    assert fetch(repository, Repository.open(other), author="bob").done == ()
    report = fetch(repository, Repository.open(copy), author="bob")
    assert (report.done, report.damages) == ((f"The data file {block.path}.",), ())
    assert repository.blobs.get(block.path) == good


def test_a_branch_goes_back_behind_a_flipped_bit(tables: Tables) -> None:
    head = tables.warehouse.head()
    block = flipped(tables)
    flip(tables, block.path)
    assert go_back(again(tables.warehouse.repository), "main", author="bob").damages == ()
    assert again(tables.warehouse.repository).branch("main").head == head
