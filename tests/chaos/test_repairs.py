"""Decision 46: what `repair` does for a damaged repository, and no other command can."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import pytest

from chaos.copies import EVERYTHING, named
from chaos.ground import Ground
from chaos.shop import TABLES, Shop, look
from dbt.adapters.vcs.commands.copy import copy_repository
from dbt.adapters.vcs.commands.fsck import check_repository
from dbt.adapters.vcs.commands.repair import fetch, go_back
from dbt.adapters.vcs.commands.restore import restore_branch
from dbt.adapters.vcs.core.errors import InputError, VcsError
from dbt.adapters.vcs.core.model import TableEntry
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.store.blobs import MemoryBlobs
from dbt.adapters.vcs.core.store.objects import object_path

Damaged = tuple[Repository, Repository]
"""A repository, and its backup."""


def file_of(repository: Repository, revision: str) -> str:
    entry = repository.tree(repository.resolve(revision)).entry(TABLES[0])
    assert isinstance(entry, TableEntry)
    segments = repository.objects.snapshot(entry.snapshot).segments
    return repository.objects.segment(segments[-1].id).blocks[0].path


def move(repository: Repository, back: int) -> str:
    return f"refs/heads/main/{repository.branch('main').ref.seq - back:020d}"


PATHS: dict[str, Callable[[Repository], str]] = {
    "old move": lambda repository: move(repository, 3),
    "new move": lambda repository: move(repository, 1),
    "last move": lambda repository: move(repository, 0),
    "new commit": lambda repository: object_path("commit", repository.resolve("main")),
    "new file": lambda repository: file_of(repository, "main"),
    "old file": lambda repository: file_of(repository, "main~3"),
    "old commit": lambda repository: object_path("commit", repository.resolve("main~3")),
}


def damaged(kind: str) -> Damaged:
    """Return a repository of which a file was edited, and its backup: it lacks two batches."""
    blobs, copy = named(MemoryBlobs(), "repository"), named(MemoryBlobs(), "copy")
    ground = Ground(lambda: blobs, workers=("w0",))
    ground.found()
    shop = Shop(ground.repository(), "main", "w0")
    for number in range(3):
        shop.insert(f"w0.1.{number}")
    copy_repository(blobs, copy)
    for number in range(3, 5):
        shop.insert(f"w0.1.{number}")
    path = PATHS[kind](ground.repository())
    data = blobs.get(path)
    blobs.delete(path)
    blobs.create(path, data[:-4] + b"xxxx")
    return ground.repository(), Repository.open(copy)


def shown(repository: Repository) -> tuple[int | None, bool]:
    """Return how many batches main shows, None if it can't be read; and whether all is whole."""
    left = Repository.open(repository.blobs)
    is_whole = not check_repository(left, data=EVERYTHING).problems
    with suppress(VcsError):
        return len(look(left, left.branch("main").head).batches), is_whole
    return None, is_whole


@pytest.mark.parametrize(
    "kind, restored, fetched, went_back",
    [
        ("old move", (4, False), (5, True), (5, True)),
        ("new move", (None, False), (None, False), (5, True)),
        ("last move", (None, False), (None, False), (4, True)),
        ("new commit", (None, False), (None, False), (4, False)),
        ("new file", (4, False), (None, False), (4, False)),
        ("old file", (None, False), (5, True), (1, False)),
        ("old commit", (4, False), (5, True), (5, False)),
    ],
)
def test_each_repair_does_what_no_other_command_can(
    kind: str,
    restored: tuple[int | None, bool],
    fetched: tuple[int | None, bool],
    went_back: tuple[int | None, bool],
) -> None:
    repository, copy = damaged(kind)
    with pytest.raises(InputError):
        copy_repository(copy.blobs, repository.blobs)
    with suppress(VcsError):
        restore_branch(repository, "main@{1}", branch="main", author="ann")
    assert shown(repository) == restored
    repository, copy = damaged(kind)
    fetch(repository, copy, author="ann")
    assert shown(repository) == fetched
    repository, _ = damaged(kind)
    go_back(repository, "main", author="ann")
    assert shown(repository) == went_back
