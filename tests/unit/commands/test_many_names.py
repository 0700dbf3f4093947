"""What commands ask of the store doesn't grow with the number of branches."""

from collections.abc import Callable

import msgspec
import pytest

from dbt.adapters.vcs.commands import branch, revisions, status
from dbt.adapters.vcs.commands.branch import list_branches
from dbt.adapters.vcs.commands.garbage import check_listings
from dbt.adapters.vcs.commands.gc import collect
from dbt.adapters.vcs.commands.log import read_log
from dbt.adapters.vcs.commands.status import read_status
from dbt.adapters.vcs.commands.tag import list_tags
from dbt.adapters.vcs.core.branches import Protection
from dbt.adapters.vcs.core.codec import encode_record, unpack
from dbt.adapters.vcs.core.errors import DamagedError
from dbt.adapters.vcs.core.ids import CommitId, Micros
from dbt.adapters.vcs.core.model import Forwarding
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.retention import names_of
from dbt.adapters.vcs.core.store import refs
from dbt.adapters.vcs.core.store.blobs import FolderEnd, MemoryBlobs
from dbt.adapters.vcs.core.store.moves import Forwards
from dbt.adapters.vcs.core.store.opening import HEADER_PATH
from dbt.adapters.vcs.core.store.ref_packs import PACKED
from dbt.adapters.vcs.core.store.refs import RefStore
from dbt.adapters.vcs.workspace.run_branch import runs
from tests.watched_blobs import RequestBlobs


def first_branches(repository: Repository) -> None:
    found = list_branches(repository, first=20)
    assert [next(found).name for _ in range(20)]


WORKS: dict[str, Callable[[Repository], object]] = {
    "log": lambda repository: list(read_log(repository, "main", limit=5)),
    "branch list": first_branches,
    "runs": runs,
    "status": lambda repository: read_status(repository, "main"),
}


READS_ALL: dict[str, Callable[[Repository], object]] = {
    "branch list": lambda repository: list(list_branches(repository)),
    "branch list --all": lambda repository: list(list_branches(repository, with_runs=True)),
    "log": lambda repository: list(read_log(repository, "main", limit=5)),
    "tag list": list_tags,
    "gc": lambda repository: collect(repository, author="ann", dry_run=True),
}


def filled(branches: int, *, are_worked_on: bool) -> RequestBlobs:
    """A repository of many branches and tags; some may have several moves or be deleted."""
    blobs = RequestBlobs()
    repository = Repository.create(blobs, author="ann")
    head = repository.branch("main").head
    for number in range(branches):
        repository.create_branch(f"b/{number}", head, author="ann")
    for number in range(0, branches if are_worked_on else 0, 10):
        repository.protect(f"b/{number}", Protection(), author="ann")
        repository.delete_branch(f"b/{number + 1}", author="ann")
        repository.create_tag(f"v{number}", head, author="ann")
    return blobs


def requests_of(
    work: Callable[[Repository], object], branches: int, *, are_packed: bool = False
) -> int:
    blobs = filled(branches, are_worked_on=are_packed)
    if are_packed:
        collect(Repository.open(blobs), author="ann")
    opened = Repository.open(blobs)
    blobs.requests = 0
    work(opened)
    return blobs.requests


@pytest.mark.parametrize("name", WORKS)
def test_ten_times_the_branches_take_no_more_requests(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (branch, revisions, status):
        monkeypatch.setattr(module, "MOST_NAMES", 50)
    assert requests_of(WORKS[name], 1_000) == requests_of(WORKS[name], 100)


@pytest.mark.parametrize("name", READS_ALL)
def test_packed_refs_are_read_with_as_many_requests_however_many_there_are(name: str) -> None:
    work = READS_ALL[name]
    few, many = (requests_of(work, branches, are_packed=True) for branches in (100, 1_000))
    assert many <= few


@pytest.mark.parametrize("name", READS_ALL)
def test_refs_that_are_not_packed_take_one_request_each(name: str) -> None:
    blobs = filled(300, are_worked_on=True)
    opened = Repository.open(blobs)
    blobs.requests = 0
    READS_ALL[name](opened)
    # A collection looks at the move before the last one, too, of the 60 branches that have one.
    assert blobs.requests <= 331 + (60 if name == "gc" else 0) + 40


def test_a_purge_deletes_packs_and_the_texts_in_them() -> None:
    blobs = MemoryBlobs()
    repository = Repository.create(blobs, author="ann")
    head = repository.branch("main").head
    for number in range(30):
        repository.create_branch(f"b/{number}", head, author="ann", note="secret")
    collect(repository, author="ann")
    assert any(b"secret" in unpacked(blobs, info.path) for info in blobs.walk(PACKED))
    with repository.maintenance.alone("shop.orders", author="ann") as purging:
        empty: dict[str, str] = {}
        forwarding = Forwarding(commits=empty, trees=empty, snapshots=empty, segments=empty)
        purging.finish(Forwards(blobs).put(forwarding), tables=(), folders=())
    assert list(blobs.walk(PACKED)) == []


def test_what_a_late_pack_says_otherwise_is_gone_after_the_next_collection() -> None:
    blobs = MemoryBlobs()
    repository = Repository.create(blobs, author="ann")
    head = repository.branch("main").head
    for number in range(30):
        repository.create_branch(f"b/{number}", head, author="ann", note=f"note {number}")
    collect(Repository.open(blobs), author="ann")
    (late,) = [(info.path, blobs.get(info.path)) for info in blobs.walk(PACKED)]
    repository.delete_branch("b/7", author="ann")
    blobs.replace_all(dict([late]))
    assert b"note 7" in unpacked(blobs, late[0])
    collect(Repository.open(blobs), author="ann")
    (found,) = blobs.walk(PACKED)
    assert b"note 7" not in unpacked(blobs, found.path)
    assert b"note 8" in unpacked(blobs, found.path)


def unpacked(blobs: MemoryBlobs, path: str) -> bytes:
    return unpack(blobs.get(path).partition(b"\n")[2], path)


def test_a_repository_of_an_older_format_is_not_packed() -> None:
    blobs = MemoryBlobs()
    repository = Repository.create(blobs, author="ann")
    header = msgspec.structs.replace(repository.header, format=2)
    blobs.replace_all({HEADER_PATH: encode_record(header)})
    head = repository.branch("main").head
    for number in range(30):
        repository.create_branch(f"b/{number}", head, author="ann")
    collect(Repository.open(blobs), author="ann")
    assert list(blobs.walk(PACKED)) == []
    blobs.replace_all({HEADER_PATH: encode_record(repository.header)})
    collect(Repository.open(blobs), author="ann")
    assert len(list(blobs.walk(PACKED))) == 1


class OldListing(MemoryBlobs):
    """Shows the ends of folders as they were when it was told to."""

    def __init__(self) -> None:
        super().__init__()
        self.shown: dict[str, list[FolderEnd]] = {}
        self.is_old = False

    def ends(self, folder: str) -> list[FolderEnd]:
        found = super().ends(folder)
        return self.shown.setdefault(folder, found) if self.is_old else found


def test_a_collection_looks_up_what_an_old_listing_lacks() -> None:
    blobs = OldListing()
    repository = Repository.create(blobs, author="ann")
    head = repository.branch("main").head
    for number in range(30):
        repository.create_branch(f"b/{number}", head, author="ann")
    blobs.is_old = True
    list(repository.branches())
    commit = repository.objects.commit(head)
    later = msgspec.structs.replace(commit, parents=(head,), message="later")
    new = CommitId(repository.objects.put(later))
    assert repository.move_branch(repository.branch("b/7"), new, author="ann", action="test")
    opened = Repository.open(blobs)
    assert {branch.head for branch in opened.branches()} == {head}
    seen = check_listings(opened, {}, opened.clock())
    assert new in names_of(opened, Micros(0), None, seen).live


def test_with_too_many_names_those_that_were_asked_for_stay(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    repository = Repository.create(MemoryBlobs(), author="ann")
    head = repository.branch("main").head
    for name in ("dev", "other"):
        repository.create_branch(name, head, author="ann")
    repository.create_tag("v1", head, author="ann")
    told: list[str] = []
    entry = next(read_log(repository, "dev", tell=told.append))
    assert (entry.names, told) == (("dev", "main", "other", "tag: v1"), [])
    monkeypatch.setattr(revisions, "MOST_NAMES", 3)
    entry = next(read_log(repository, "dev", tell=told.append))
    assert entry.names == ("dev", "main")
    assert len(told) == 1


def test_a_status_counts_many_names_without_reading_them(monkeypatch: pytest.MonkeyPatch) -> None:
    repository = Repository.create(MemoryBlobs(), author="ann")
    head = repository.branch("main").head
    for name in ("dev", "gone", "runs/5f2c"):
        repository.create_branch(name, head, author="ann")
    repository.delete_branch("gone", author="ann")
    repository.create_tag("v1", head, author="ann")
    found = read_status(repository, "main")
    assert (found.branches, found.tags, found.with_deleted) == (3, 1, False)
    monkeypatch.setattr(status, "MOST_NAMES", 4)
    found = read_status(repository, "main")
    assert (found.branches, found.tags, found.with_deleted) == (3, 1, True)


def test_all_logs_of_a_space_are_checked_with_one_listing() -> None:
    blobs = RequestBlobs()
    repository = Repository.create(blobs, author="ann")
    head = repository.branch("main").head
    for number in range(30):
        repository.create_branch(f"b/{number}", head, author="ann")
    blobs.requests = 0
    assert list(RefStore(blobs).check("heads")) == []
    # A read of each move besides.
    assert blobs.requests == 1 + 31


@pytest.mark.parametrize("moves", [2, 40])
def test_a_log_of_any_usual_length_is_opened_with_one_listing(moves: int) -> None:
    blobs = RequestBlobs()
    repository = Repository.create(blobs, author="ann")
    for number in range(moves - 1):
        repository.protect("main", Protection((str(number),)), author="ann")
    blobs.requests = 0
    found = RefStore(blobs).read("heads", "main")
    assert found is not None and found.seq == moves
    # The listing beside the first move; then whether there is one more, beside the last move and
    # the one before.
    assert blobs.requests == (4 if moves == 2 else 5)


class ShortPages(MemoryBlobs):
    """Lists three names at once."""

    def later(self, path: str) -> list[str]:
        return super().later(path)[:3]


@pytest.mark.parametrize("moves", range(1, 12))
def test_a_log_longer_than_a_listing_is_read_to_its_end(
    moves: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(refs, "LATER", 3)
    blobs = ShortPages()
    repository = Repository.create(blobs, author="ann")
    for number in range(moves - 1):
        repository.protect("main", Protection((str(number),)), author="ann")
    found = RefStore(blobs).read("heads", "main")
    assert found is not None and found.seq == moves
    blobs.create(f"refs/heads/main/{moves + 2:020d}", b"{}")
    with pytest.raises(DamagedError):
        RefStore(blobs).read("heads", "main")
