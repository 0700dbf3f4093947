"""What commands ask of the store doesn't grow with the number of branches."""

from collections.abc import Callable

import pytest

from dbt.adapters.vcs.commands import revisions
from dbt.adapters.vcs.commands.branch import list_branches
from dbt.adapters.vcs.commands.log import read_log
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.store.blobs import MemoryBlobs
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

    def folders(self, folder: str) -> list[str]:
        self.requests += 1
        return super().folders(folder)

    def next_after(self, path: str) -> str | None:
        self.requests += 1
        return super().next_after(path)


def first_branches(repository: Repository) -> None:
    found = list_branches(repository)
    assert [next(found).name for _ in range(20)]


WORKS: dict[str, Callable[[Repository], object]] = {
    "log": lambda repository: list(read_log(repository, "main", limit=5)),
    "branch list": first_branches,
    "runs": runs,
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
