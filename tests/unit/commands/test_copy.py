"""A copy of a repository: whole at each moment, and as good as the original."""

import threading
from pathlib import Path

import pyarrow as pa
import pytest
from click.testing import CliRunner

from dbt.adapters.vcs.cli import main
from dbt.adapters.vcs.commands.copy import copy_repository
from dbt.adapters.vcs.commands.fsck import DataCheck, check_repository
from dbt.adapters.vcs.commands.gc import collect
from dbt.adapters.vcs.commands.merge import abort_merge, merge
from dbt.adapters.vcs.commands.purge import PurgeRequest, purge
from dbt.adapters.vcs.commands.restore import restore_relation
from dbt.adapters.vcs.commands.snapshot import create_snapshot
from dbt.adapters.vcs.commands.tag import create_tag
from dbt.adapters.vcs.core.codec import is_same_table
from dbt.adapters.vcs.core.errors import (
    ConflictError,
    DamagedError,
    InputError,
    NotFoundError,
    RetryError,
)
from dbt.adapters.vcs.core.ids import SnapshotId
from dbt.adapters.vcs.core.model import Block, RelationName
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.retention import change_retention
from dbt.adapters.vcs.core.store.blobs import MemoryBlobs
from dbt.adapters.vcs.core.store.opening import open_blobs
from dbt.adapters.vcs.table.files.footers import read_blocks
from dbt.adapters.vcs.table.files.parquet import write_table
from tests.contract.faulty import Crash, FaultyBlobs, at
from tests.unit.tables import SCHEMA, Tables
from tests.unit.warehouse import Warehouse


class Shop(Warehouse):
    def __init__(self) -> None:
        super().__init__()
        self.tables = Tables(self)


def put(warehouse: Shop, text: str, branch: str = "main") -> None:
    tables = warehouse.tables
    tables.put(branch, a=tables.entry([tables.block({1: text, 2: text})], key=True))


def filled() -> Shop:
    warehouse = Shop()
    put(warehouse, "x")
    create_tag(warehouse.repository, "v1", "main", author="ann")
    create_snapshot(warehouse.repository, "shop.a", "s1", "main", author="ann")
    warehouse.branch("dev")
    put(warehouse, "y", "dev")
    return warehouse


def files(blobs: MemoryBlobs) -> dict[str, bytes]:
    found = [info.path for top in ("refs", "objects", "data") for info in blobs.walk(top)]
    return {path: blobs.get(path) for path in [*found, "vcs.json"] if "/pins/" not in path}


def test_a_copy_has_everything_and_is_brought_up_to_date() -> None:
    warehouse, target = filled(), MemoryBlobs()
    target.uri = "memory://copy"
    first = copy_repository(warehouse.blobs, target)
    assert files(target) == files(warehouse.blobs)
    assert first.files and first.moves
    again = copy_repository(warehouse.blobs, target)
    assert (again.files, again.moves) == (0, 0)
    put(warehouse, "z")
    more = copy_repository(warehouse.blobs, target)
    assert 0 < more.files < first.files and more.moves == 1
    assert files(target) == files(warehouse.blobs)
    assert not check_repository(Repository.open(target)).problems


def test_a_copy_has_merges_that_wait_and_goes_on_with_them() -> None:
    warehouse, target = filled(), MemoryBlobs()
    target.uri = "memory://copy"
    put(warehouse, "z")
    with pytest.raises(ConflictError):
        merge(warehouse.repository, "dev", "main", author="ann")
    copy_repository(warehouse.blobs, target)
    assert files(target) == files(warehouse.blobs)
    abort_merge(Repository.open(target), "main", author="ann")


def test_a_copy_of_a_purged_repository_leads_to_the_new_history() -> None:
    warehouse, target = filled(), MemoryBlobs()
    put(warehouse, "z")
    target.uri = "memory://copy"
    request = PurgeRequest(relation="shop.a", where="id = 1")
    purge(warehouse.repository, request, author="ann")
    copy_repository(warehouse.blobs, target)
    copy = Repository.open(target, clock=warehouse.clock)
    assert copy.resolve("main@{1}") in {commit for commit, _ in copy.log(copy.resolve("main"))}
    assert check_repository(copy).problems == ()
    collect(copy, author="ann")


def test_a_dropped_table_is_restored_from_a_copy() -> None:
    warehouse, target = filled(), MemoryBlobs()
    target.uri = "memory://copy"
    copy_repository(warehouse.blobs, target)
    copy = Repository.open(target, clock=warehouse.clock)
    restore_relation(copy, "shop.a", "v1", branch="dev", author="ann")
    shown = [copy.tree(copy.resolve(at)).entry(RelationName("shop", "a")) for at in ("v1", "dev")]
    old, new = (copy.objects.snapshot(SnapshotId(entry.version)) for entry in shown if entry)
    assert is_same_table(old, new)


def test_a_copy_that_is_stopped_anywhere_is_whole_and_goes_on() -> None:
    warehouse, target = filled(), MemoryBlobs()
    target.uri = "memory://copy"
    copy_repository(warehouse.blobs, target)
    put(warehouse, "z")
    put(warehouse, "w", "dev")
    stops = 0
    while files(target) != files(warehouse.blobs):
        # Each try gets to the first write of the next step.
        with pytest.raises(Crash):
            copy_repository(warehouse.blobs, FaultyBlobs(target, after=at(1, Crash())))
        assert not check_repository(Repository.open(target)).problems
        stops += 1
    assert stops >= 3
    copy_repository(warehouse.blobs, target)
    assert files(target) == files(warehouse.blobs)


def test_a_first_copy_that_is_stopped_is_no_repository_yet() -> None:
    warehouse, target = filled(), MemoryBlobs()
    target.uri = "memory://copy"
    total = len(files(warehouse.blobs))
    with pytest.raises(Crash):
        copy_repository(warehouse.blobs, FaultyBlobs(target, before=at(total, Crash())))
    with pytest.raises(NotFoundError, match="not a repository"):
        Repository.open(target)
    copy_repository(warehouse.blobs, target)
    assert files(target) == files(warehouse.blobs)


def test_what_is_written_meanwhile_is_in_the_copy_whole_or_not() -> None:
    warehouse, inner = filled(), MemoryBlobs()
    inner.uri = "memory://copy"
    blocks = iter("abcdefghijklmnopqrstuvw")
    alone = threading.Lock()

    def write(number: int, path: str) -> None:
        # Files are copied by several threads, and two writers of one table would conflict.
        with alone:
            if number % 4 == 0 and (block := next(blocks, "")):
                put(warehouse, block)

    copy_repository(warehouse.blobs, FaultyBlobs(inner, before=write))
    assert not check_repository(Repository.open(inner)).problems
    copy_repository(warehouse.blobs, inner)
    assert files(inner) == files(warehouse.blobs)


def test_a_collection_that_deletes_meanwhile_moves_no_branch_of_the_copy() -> None:
    warehouse, inner = filled(), MemoryBlobs()
    inner.uri = "memory://copy"

    def collect(number: int, path: str) -> None:
        if number == 1:
            now = warehouse.repository.clock()
            change_retention(warehouse.repository, author="ann", action="gc", horizon=now)

    with pytest.raises(RetryError, match="ran meanwhile"):
        copy_repository(warehouse.blobs, FaultyBlobs(inner, after=collect))
    assert not inner.exists("vcs.json")
    leases = MemoryBlobs()
    leases.create("leases/others", b"")
    warehouse.blobs._blobs.update(leases._blobs)  # type: ignore[attr-defined]
    with pytest.raises(RetryError, match="is running"):
        copy_repository(warehouse.blobs, inner)


def test_damage_at_the_source_does_not_reach_the_branches_of_the_copy() -> None:
    warehouse, target = filled(), MemoryBlobs()
    target.uri = "memory://copy"
    warehouse.blobs.delete(next(iter(sorted(i.path for i in warehouse.blobs.walk("data")))))
    with pytest.raises(DamagedError, match="would be damaged"):
        copy_repository(warehouse.blobs, target)
    assert not target.exists("vcs.json")


def test_a_target_that_is_something_else_is_refused() -> None:
    warehouse, target = filled(), MemoryBlobs()
    target.uri = "memory://copy"
    with pytest.raises(InputError, match="copied to itself"):
        copy_repository(warehouse.blobs, warehouse.blobs)
    other = Warehouse()
    other.blobs.uri = "memory://other"  # type: ignore[misc]
    with pytest.raises(InputError, match="another repository"):
        copy_repository(warehouse.blobs, other.blobs)
    copy_repository(warehouse.blobs, target)
    Repository.open(target).create_branch("mine", warehouse.head(), author="bob")
    with pytest.raises(InputError, match="moves of its own"):
        copy_repository(warehouse.blobs, target)


def test_the_command_copies_between_folders(tmp_path: Path) -> None:
    source, target = str(tmp_path / "a"), str(tmp_path / "b")
    Repository.create(open_blobs(source), author="ann")
    done = CliRunner().invoke(main, ["copy", source, target])
    assert done.exit_code == 0, done.output
    assert f"from {source} to {target}." in done.output
    assert "up to date" in CliRunner().invoke(main, ["copy", source, target]).output
    assert Repository.open(open_blobs(target)).branch("main")


def with_digests() -> tuple[Shop, Block]:
    warehouse = filled()
    rows = pa.table({"id": list(range(9_000)), "name": [f"name {id}" for id in range(9_000)]})
    files = write_table(warehouse.blobs, rows, folder="data/t/w=big", schema=SCHEMA)
    (block,) = read_blocks(warehouse.blobs, files, SCHEMA, (), files)
    warehouse.tables.put(b=warehouse.tables.entry([block]))
    return warehouse, block


def replaced(blobs: MemoryBlobs, path: str, data: bytes) -> None:
    blobs.delete(path)
    blobs.create(path, data)


def test_a_file_that_is_damaged_inside_is_not_copied_as_if_it_were_whole() -> None:
    (warehouse, block), target = with_digests(), MemoryBlobs()
    target.uri = "memory://copy"
    good = warehouse.blobs.get(block.path)
    replaced(warehouse.blobs, block.path, good[:500] + bytes([good[500] ^ 1]) + good[501:])
    with pytest.raises(DamagedError, match=f"{block.path} is not the file that was written"):
        copy_repository(warehouse.blobs, target)
    assert list(target.walk("refs")) == []
    replaced(warehouse.blobs, block.path, good)
    copy_repository(warehouse.blobs, target)
    assert files(target) == files(warehouse.blobs)


@pytest.mark.parametrize("left", [b"x", b""], ids=["same size", "shorter"])
def test_what_an_earlier_copy_left_damaged_is_copied_again(left: bytes) -> None:
    (warehouse, block), target = with_digests(), MemoryBlobs()
    target.uri = "memory://copy"
    good = warehouse.blobs.get(block.path)
    target.create(block.path, good[:-9] + left * 9)
    copy_repository(warehouse.blobs, target)
    assert files(target) == files(warehouse.blobs)
    assert check_repository(Repository.open(target), data=DataCheck()).problems == ()
