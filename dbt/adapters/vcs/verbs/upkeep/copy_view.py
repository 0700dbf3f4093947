"""A copy as it will be: the target's files, with refs that are not written yet."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from dbt.adapters.vcs.core.ids import Micros
from dbt.adapters.vcs.core.store.blobs import BlobInfo, Blobs
from dbt.adapters.vcs.core.store.memory import MemoryBlobs


class CopyView:
    """A store that reads some files from memory and all others from a store; writes nowhere."""

    def __init__(self, target: Blobs, files: Mapping[str, bytes]) -> None:
        self.uri = target.uri
        self._target = target
        self._new = MemoryBlobs()
        self._new.create_all(files)

    def _of(self, path: str) -> Blobs:
        return self._new if self._new.exists(path) else self._target

    def get(self, path: str) -> bytes:
        """Return all bytes of a blob."""
        return self._of(path).get(path)

    def range(self, path: str, start: int, length: int) -> bytes:
        """Return a part of a blob."""
        return self._of(path).range(path, start, length)

    def size(self, path: str) -> int:
        """Return the size of a blob in bytes."""
        return self._of(path).size(path)

    def exists(self, path: str) -> bool:
        """Return whether there is a blob with this path."""
        return self._of(path).exists(path)

    def modified_at(self, path: str) -> Micros | None:
        """Return when a blob was written or renewed."""
        return self._of(path).modified_at(path)

    def folders(self, folder: str) -> list[str]:
        """Return the names of the direct sub-folders."""
        return sorted({*self._new.folders(folder), *self._target.folders(folder)})

    def top(self) -> list[str]:
        """Return the names of the files and folders at the top."""
        return sorted({*self._new.top(), *self._target.top()})

    def walk(self, folder: str) -> Iterator[BlobInfo]:
        """Yield every blob below a folder."""
        new = {info.path: info for info in self._new.walk(folder)}
        yield from new.values()
        yield from (info for info in self._target.walk(folder) if info.path not in new)

    def next_after(self, path: str) -> str | None:
        """Return the first blob in the path's folder with a later name."""
        found = (self._new.next_after(path), self._target.next_after(path))
        return min((name for name in found if name is not None), default=None)

    def create(self, path: str, data: bytes) -> bool:
        """Refuse: nothing is written through a view."""
        raise AssertionError(path)

    def create_all(self, blobs: Mapping[str, bytes]) -> set[str]:
        """Refuse: nothing is written through a view."""
        raise AssertionError(blobs)

    def replace_all(self, blobs: Mapping[str, bytes]) -> None:
        """Refuse: nothing is written through a view."""
        raise AssertionError(blobs)

    def unfinished(self, folder: str) -> Iterator[BlobInfo]:
        """Yield nothing: a copy has no need of them."""
        return iter(())

    def delete(self, path: str) -> None:
        """Refuse: nothing is written through a view."""
        raise AssertionError(path)

    def sync(self, paths: Iterable[str]) -> None:
        """Do nothing: nothing is written."""
