"""Activity: what a command has done so far with files, counted in the stores that it uses."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from dbt.adapters.vcs.core.ids import Micros
from dbt.adapters.vcs.core.store.blobs import BlobInfo, Blobs
from dbt.adapters.vcs.layout.styled import counted, size


class FileCounts(NamedTuple):
    """What was done with files so far.

    Attributes:
        listed: Files that were found in listings.
        checked: Files whose size, age or existence was looked up.
        read: Files read from their beginning, whole or in part.
        bytes_read: Bytes read.
        written: Files stored, replaced or renewed.
        bytes_written: Their size.
        deleted: Files removed.
    """

    listed: int = 0
    checked: int = 0
    read: int = 0
    bytes_read: int = 0
    written: int = 0
    bytes_written: int = 0
    deleted: int = 0


class FileWatch:
    """Counts for any number of stores; shared by threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts = FileCounts()

    @property
    def counts(self) -> FileCounts:
        """What was done so far."""
        return self._counts

    def add(self, more: FileCounts) -> None:
        """Add what was just done."""
        with self._lock:
            pairs = zip(self._counts, more, strict=True)
            self._counts = FileCounts(*(one + other for one, other in pairs))


class WatchedBlobs:
    """Does what another store does, and counts it; see `Blobs` for the methods."""

    def __init__(self, blobs: Blobs, watch: FileWatch) -> None:
        self._blobs = blobs
        self._watch = watch

    @property
    def uri(self) -> str:
        """Where the store is."""
        return self._blobs.uri

    def get(self, path: str) -> bytes:
        """Return all bytes of a blob."""
        data = self._blobs.get(path)
        self._watch.add(FileCounts(read=1, bytes_read=len(data)))
        return data

    def range(self, path: str, start: int, length: int) -> bytes:
        """Return a part of a blob."""
        data = self._blobs.range(path, start, length)
        self._watch.add(FileCounts(read=int(start == 0), bytes_read=len(data)))
        return data

    def size(self, path: str) -> int:
        """Return the size of a blob in bytes."""
        self._watch.add(FileCounts(checked=1))
        return self._blobs.size(path)

    def create(self, path: str, data: bytes) -> bool:
        """Store a blob if there is none."""
        is_new = self._blobs.create(path, data)
        self._watch.add(FileCounts(written=int(is_new), bytes_written=len(data) * is_new))
        return is_new

    def create_all(self, blobs: Mapping[str, bytes]) -> set[str]:
        """Store blobs, and renew those that exist."""
        there = self._blobs.create_all(blobs)
        self._watch.add(_stored(blobs))
        return there

    def replace_all(self, blobs: Mapping[str, bytes]) -> None:
        """Store blobs in the place of those that exist."""
        self._blobs.replace_all(blobs)
        self._watch.add(_stored(blobs))

    def modified_at(self, path: str) -> Micros | None:
        """Return when a blob was written or renewed."""
        self._watch.add(FileCounts(checked=1))
        return self._blobs.modified_at(path)

    def exists(self, path: str) -> bool:
        """Return whether there is a blob with this path."""
        self._watch.add(FileCounts(checked=1))
        return self._blobs.exists(path)

    def folders(self, folder: str) -> list[str]:
        """Return the names of the direct sub-folders."""
        return self._blobs.folders(folder)

    def top(self) -> list[str]:
        """Return the names of the files and folders at the top."""
        return self._blobs.top()

    def walk(self, folder: str) -> Iterator[BlobInfo]:
        """Yield every blob below a folder."""
        for info in self._blobs.walk(folder):
            self._watch.add(FileCounts(listed=1))
            yield info

    def next_after(self, path: str) -> str | None:
        """Return the first blob in the path's folder with a later name."""
        return self._blobs.next_after(path)

    def unfinished(self, folder: str) -> Iterator[BlobInfo]:
        """Yield the incomplete files below a folder."""
        return self._blobs.unfinished(folder)

    def delete(self, path: str) -> None:
        """Remove a blob."""
        self._blobs.delete(path)
        self._watch.add(FileCounts(deleted=1))

    def sync(self, paths: Iterable[str]) -> None:
        """Make blobs written by another program survive a power loss."""
        self._blobs.sync(paths)


def activity_text(seconds: float, counts: FileCounts, tasks: tuple[int, int] | None) -> str:
    """Return what a command has done so far, as one line.

    Args:
        seconds: Since it began.
        counts: What was done with files.
        tasks: Spark's tasks that are done, and all of the stages that run; None if none do.
    """
    parts = [
        f"read {_files(counts.read)}, {size(counts.bytes_read)}" if counts.bytes_read else "",
        f"wrote {_files(counts.written)}, {size(counts.bytes_written)}" if counts.written else "",
        f"deleted {_files(counts.deleted)}" if counts.deleted else "",
        f"listed {_files(counts.listed)}" if counts.listed else "",
        f"checked {_files(counts.checked)}" if counts.checked else "",
        f"Spark: {tasks[0]:,} of {counted(tasks[1], 'task')}" if tasks is not None else "",
    ]
    return " · ".join([f"{seconds:.0f} s", *filter(None, parts)])


def _files(number: int) -> str:
    return counted(number, "file")


def _stored(blobs: Mapping[str, bytes]) -> FileCounts:
    return FileCounts(written=len(blobs), bytes_written=sum(map(len, blobs.values())))
