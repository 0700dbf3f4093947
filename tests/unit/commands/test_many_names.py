"""What commands ask of the store doesn't grow with the number of branches."""

from collections.abc import Callable, Iterator

import pytest

from dbt.adapters.vcs.commands import revisions, status
from dbt.adapters.vcs.commands.branch import list_branches
from dbt.adapters.vcs.commands.log import read_log
from dbt.adapters.vcs.commands.status import read_status
from dbt.adapters.vcs.core.branches import Protection
from dbt.adapters.vcs.core.errors import DamagedError
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.store import refs
from dbt.adapters.vcs.core.store.blobs import BlobInfo, MemoryBlobs
from dbt.adapters.vcs.core.store.refs import RefStore
from dbt.adapters.vcs.workspace.run_branch import runs


class RequestBlobs(MemoryBlobs):
    """Counts requests; a listing is one."""

    def __init__(self) -> None:
        super().__init__()
        self.requests = 0

    def get(self, path: str) -> bytes:
        self.requests += 1
        return super().get(path)

    def exists(self, path: str) -> bool:
        self.requests += 1
        return super().exists(path)

    # All listings of this store are made of it.
    def walk(self, folder: str) -> Iterator[BlobInfo]:
        self.requests += 1
        return super().walk(folder)


def first_branches(repository: Repository) -> None:
    found = list_branches(repository)
    assert [next(found).name for _ in range(20)]


WORKS: dict[str, Callable[[Repository], object]] = {
    "log": lambda repository: list(read_log(repository, "main", limit=5)),
    "branch list": first_branches,
    "runs": runs,
    "status": lambda repository: read_status(repository, "main"),
}


def requests_of(work: Callable[[Repository], object], branches: int) -> int:
    blobs = RequestBlobs()
    repository = Repository.create(blobs, author="ann")
    head = repository.branch("main").head
    for number in range(branches):
        repository.create_branch(f"b/{number}", head, author="ann")
    opened = Repository.open(blobs)
    blobs.requests = 0
    work(opened)
    return blobs.requests


@pytest.mark.parametrize("name", WORKS)
def test_ten_times_the_branches_take_no_more_requests(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(revisions, "MOST_NAMES", 50)
    monkeypatch.setattr(status, "MOST_NAMES", 50)
    assert requests_of(WORKS[name], 1_000) == requests_of(WORKS[name], 100)


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
    # The listing, whether there is one more, the last move, and the one before.
    assert blobs.requests == 4


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
