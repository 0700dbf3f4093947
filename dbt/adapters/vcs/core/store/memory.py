"""Blobs in this process's memory: for tests and for trying things out."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping

from dbt.adapters.vcs.core.errors import NotFoundError
from dbt.adapters.vcs.core.ids import Clock, Micros, system_clock
from dbt.adapters.vcs.core.store.blobs import BlobInfo, check_path


class MemoryBlobs:
    """A store that lasts as long as the object; `Blobs` has the contract."""

    def __init__(self, clock: Clock = system_clock) -> None:
        self.uri = "memory://"
        self._clock = clock
        self._lock = threading.Lock()
        self._blobs: dict[str, tuple[bytes, Micros]] = {}

    def get(self, path: str) -> bytes:
        """Return all bytes of a blob."""
        found = self._blobs.get(check_path(path))
        if found is None:
            raise NotFoundError(f"There is no file {path} in {self.uri}.")
        return found[0]

    def range(self, path: str, start: int, length: int) -> bytes:
        """Return a part of a blob."""
        return self.get(path)[start : start + length]

    def size(self, path: str) -> int:
        """Return the size of a blob in bytes."""
        return len(self.get(path))

    def create(self, path: str, data: bytes) -> bool:
        """Store a blob if none has this path."""
        check_path(path)
        with self._lock:
            if path in self._blobs:
                return False
            self._blobs[path] = (bytes(data), self._clock())
            return True

    def create_all(self, blobs: Mapping[str, bytes]) -> set[str]:
        """Store blobs, and renew those that are there, whose paths are returned."""
        there = set()
        for path, data in blobs.items():
            if not self.create(path, data):
                there.add(path)
                with self._lock:
                    held, _ = self._blobs.get(path, (bytes(data), 0))
                    self._blobs[path] = (held, self._clock())
        return there

    def replace_all(self, blobs: Mapping[str, bytes]) -> None:
        """Store blobs, in the place of those that exist."""
        for path, data in blobs.items():
            check_path(path)
            with self._lock:
                self._blobs[path] = (bytes(data), self._clock())

    def modified_at(self, path: str) -> Micros | None:
        """Return when a blob was written or renewed."""
        found = self._blobs.get(check_path(path))
        return None if found is None else found[1]

    def exists(self, path: str) -> bool:
        """Return whether there is a blob with this path."""
        return check_path(path) in self._blobs

    def folders(self, folder: str) -> list[str]:
        """Return the names of the direct sub-folders."""
        start = len(folder) + 1
        below = (info.path[start:] for info in self.walk(folder))
        return sorted({path.partition("/")[0] for path in below if "/" in path})

    def top(self) -> list[str]:
        """Return the names of the files and folders that lie at the top."""
        with self._lock:
            return sorted({path.partition("/")[0] for path in self._blobs})

    def walk(self, folder: str) -> Iterator[BlobInfo]:
        """Yield every blob below a folder."""
        prefix = f"{check_path(folder)}/"
        with self._lock:
            found = [(path, blob) for path, blob in self._blobs.items() if path.startswith(prefix)]
        for path, (data, modified_at) in found:
            yield BlobInfo(path, len(data), modified_at)

    def next_after(self, path: str) -> str | None:
        """Return the first blob in the path's folder with a later name."""
        folder = check_path(path).rpartition("/")[0]
        names = (info.path for info in self.walk(folder))
        return min((name for name in names if name > path), default=None)

    def unfinished(self, folder: str) -> Iterator[BlobInfo]:
        """Yield nothing: files are written whole."""
        return iter(())

    def delete(self, path: str) -> None:
        """Remove a blob."""
        check_path(path)
        with self._lock:
            self._blobs.pop(path, None)

    def sync(self, paths: Iterable[str]) -> None:
        """Do nothing: memory never survives a power loss."""
