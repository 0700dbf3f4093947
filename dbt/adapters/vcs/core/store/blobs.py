"""The port to an object store: named bytes, created once and never changed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple, Protocol

from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.core.ids import Micros

_REFUSED_SEGMENTS = frozenset({"", ".", ".."})
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


class BlobInfo(NamedTuple):
    """One stored blob: its path, its size in bytes, when it was written.

    `tag` changes with the contents, where the store has such tags; else it is empty.
    """

    path: str
    bytes: int
    modified_at: Micros
    tag: str = ""


class Blobs(Protocol):
    """The interface the core needs from a store. Safe to call from several threads.

    Paths are relative to the repository and use `/`; every method refuses one that `check_path`
    refuses. Each method may raise StorageError, whose message holds no credentials.
    """

    @property
    def uri(self) -> str:
        """Where the store is, for messages: holds no credentials."""

    def get(self, path: str) -> bytes:
        """Return all bytes of a blob; NotFoundError if there is none."""

    def range(self, path: str, start: int, length: int) -> bytes:
        """Return `length` bytes from `start`, or fewer at the end; NotFoundError if none."""

    def size(self, path: str) -> int:
        """Return the size of a blob in bytes; NotFoundError if there is none."""

    def create(self, path: str, data: bytes) -> bool:
        """Store a blob if none has this path: all of it or nothing, for any number of callers.

        The blob survives a power loss once the call returns. Returns True if this call created it.
        A StorageError leaves the outcome unknown.
        """

    def create_all(self, blobs: Mapping[str, bytes]) -> set[str]:
        """Store blobs by path, and renew those that exist: they become as young as new ones.

        A collection may be about to delete what is there, and looks at its age before it does.
        They are stored in no particular order, at about the cost of one. After a StorageError it
        is unknown which of them exist. Returns the paths of those that were there.
        """

    def replace_all(self, blobs: Mapping[str, bytes]) -> None:
        """Store blobs by path, in the place of those that exist: readers see either one whole.

        They are stored in no particular order, at about the cost of one. Nothing of the
        repository itself is stored so: only what tells programs of other makers where to look,
        and can be made again.
        """

    def modified_at(self, path: str) -> Micros | None:
        """Return when a blob was written or renewed; None if there is none."""

    def exists(self, path: str) -> bool:
        """Return whether there is a blob with this path."""

    def folders(self, folder: str) -> list[str]:
        """Return the names of the direct sub-folders, sorted; empty if there is no such folder."""

    def top(self) -> list[str]:
        """Return the names of the files and folders at the top, sorted."""

    def walk(self, folder: str) -> Iterator[BlobInfo]:
        """Yield every blob below a folder, in no order; nothing if there is no such folder."""

    def next_after(self, path: str) -> str | None:
        """Return the first blob in the path's folder with a later name, in order of characters.

        Returns None if there is none. Costs one request on an object store, however many come
        before.
        """

    def unfinished(self, folder: str) -> Iterator[BlobInfo]:
        """Yield the incomplete files below a folder, of writes that are under way or were killed.

        No listing shows them. A store that writes files whole has none.
        """

    def delete(self, path: str) -> None:
        """Remove a blob; nothing happens if there is none."""

    def sync(self, paths: Iterable[str]) -> None:
        """Make blobs written by another program survive a power loss; skip absent ones."""


def check_path(path: str) -> str:
    """Return the path.

    Raises:
        InputError: It is empty or absolute, has an empty, `.` or `..` segment, or a control
            character: it could name something outside the repository.
    """
    if _CONTROL.search(path) or not _REFUSED_SEGMENTS.isdisjoint(path.split("/")):
        raise InputError(
            f"The path {path!r} is not one inside a repository: expected names joined by `/`, "
            "none of them empty, `.` or `..`, without control characters."
        )
    return path
