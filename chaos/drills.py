"""Drills: damage in a view of the store, of which somebody must be told."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from chaos.copies import EVERYTHING, flipped
from chaos.shop import TABLES
from dbt.adapters.vcs.commands.fsck import DataCheck, check_repository
from dbt.adapters.vcs.core.errors import DamagedError, NotFoundError
from dbt.adapters.vcs.core.model import TableEntry
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.store.blobs import BlobInfo, Blobs, FolderEnd, folder_ends


class EditedBlobs:
    """Another store in which one file has other bytes, or is gone if they are None."""

    def __init__(self, inner: Blobs, path: str, data: bytes | None) -> None:
        self._inner = inner
        self._path = path
        self._data = data

    def get(self, path: str) -> bytes:
        """Return all bytes of a blob."""
        if path != self._path:
            return self._inner.get(path)
        if self._data is None:
            raise NotFoundError(f"There is no file {path}.")
        return self._data

    def range(self, path: str, start: int, length: int) -> bytes:
        """Return a part of a blob."""
        if path == self._path:
            return self.get(path)[start : start + length]
        return self._inner.range(path, start, length)

    def exists(self, path: str) -> bool:
        """Return whether there is a blob."""
        return (path != self._path or self._data is not None) and self._inner.exists(path)

    def walk(self, folder: str) -> Iterator[BlobInfo]:
        """Yield the blobs below a folder."""
        for info in self._inner.walk(folder):
            if info.path != self._path or self._data is not None:
                yield info

    def later(self, path: str) -> list[str]:
        """Return the next blobs of a folder."""
        found = self._inner.later(path)
        return [name for name in found if name != self._path or self._data is not None]

    def ends(self, folder: str) -> list[FolderEnd]:
        """Return the end of each sub-folder."""
        found = folder_ends(folder, self.walk(folder))
        if not self._path.startswith(f"{folder}/"):
            return found
        # An edited file has another tag in any store.
        return [
            end._replace(last=end.last._replace(tag=f"{end.last.tag} edited"))
            if end.last.path == self._path
            else end
            for end in found
        ]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


def drill(blobs: Blobs, dice: random.Random) -> list[str]:
    """Edit a move and a file of rows and take a move away; return what nobody was told."""
    path = dice.choice(sorted(info.path for info in blobs.walk("refs/heads")))
    edited = blobs.get(path).replace(b'"by":"', b'"by":"not ', 1)
    wrong = _untold(blobs, path, edited, None)
    wrong += _untold_gaps(blobs, dice)
    rows = sorted(_shown_files(Repository.open(blobs)))
    if rows:
        path = dice.choice(rows)
        wrong += _untold(blobs, path, flipped(blobs.get(path), dice), EVERYTHING)
    return wrong


def _untold(blobs: Blobs, path: str, edited: bytes | None, data: DataCheck | None) -> list[str]:
    view = Repository.open(EditedBlobs(blobs, path, edited))
    told = check_repository(view, data=data).problems
    how = "is missing" if edited is None else "was edited"
    return [] if told else [f"silent: {path} {how}, and fsck said that all is well"]


def _untold_gaps(blobs: Blobs, dice: random.Random) -> list[str]:
    """Take one of main's moves away, except the last: readers must not see an older state."""
    shown = Repository.open(blobs).branch("main")
    if shown.ref.seq < 2:
        return []
    wrong: list[str] = []
    for number in {1, dice.randrange(1, shown.ref.seq)}:
        path = f"refs/heads/main/{number:020d}"
        wrong += _untold(blobs, path, None, None)
        try:
            seen = Repository.open(EditedBlobs(blobs, path, None)).find_branch("main")
        except DamagedError:
            continue
        if seen is None or seen.head != shown.head:
            wrong.append(f"silent: {path} is missing, and main showed an older state")
    return wrong


def _shown_files(repository: Repository) -> Iterator[str]:
    """Yield the files of rows that main shows."""
    for name in TABLES:
        entry = repository.tree(repository.branch("main").head).entry(name)
        if isinstance(entry, TableEntry):
            for ref in repository.objects.snapshot(entry.snapshot).segments:
                segment = repository.objects.segment(ref.id)
                yield from (block.path for block in segment.blocks)
                yield from (stone.path for stone in segment.tombstones)
