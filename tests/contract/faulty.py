"""Stores that fail on purpose."""

from collections.abc import Callable, Iterable, Iterator, Mapping

from dbt.adapters.vcs.core.errors import StorageError
from dbt.adapters.vcs.core.ids import Micros
from dbt.adapters.vcs.core.store.blobs import BlobInfo, Blobs, FolderEnd


class Crash(BaseException):
    """Stands for the end of the process: nothing catches it."""


class FaultyBlobs:
    """Another store, with something done before or after each `create`.

    `before(number, path)` and `after(number, path)` see the count of creates so far, from 1.
    """

    def __init__(
        self,
        inner: Blobs,
        *,
        before: Callable[[int, str], None] = lambda number, path: None,
        after: Callable[[int, str], None] = lambda number, path: None,
    ) -> None:
        self.uri = inner.uri
        self.is_near = inner.is_near
        self.creates = 0
        self._inner = inner
        self._before = before
        self._after = after

    def create(self, path: str, data: bytes) -> bool:
        if path == "vcs.json" and self._inner.exists(path):
            # A question whether the store writes twice: it stores nothing, and does not count.
            return self._inner.create(path, data)
        self.creates += 1
        number = self.creates
        self._before(number, path)
        created = self._inner.create(path, data)
        self._after(number, path)
        return created

    def create_all(self, blobs: Mapping[str, bytes]) -> set[str]:
        there = {path for path, data in blobs.items() if not self.create(path, data)}
        return self._inner.create_all({path: blobs[path] for path in there})

    def replace_all(self, blobs: Mapping[str, bytes]) -> None:
        self._inner.replace_all(blobs)

    def modified_at(self, path: str) -> Micros | None:
        return self._inner.modified_at(path)

    def get(self, path: str) -> bytes:
        return self._inner.get(path)

    def range(self, path: str, start: int, length: int) -> bytes:
        return self._inner.range(path, start, length)

    def size(self, path: str) -> int:
        return self._inner.size(path)

    def exists(self, path: str) -> bool:
        return self._inner.exists(path)

    def folders(self, folder: str) -> list[str]:
        return self._inner.folders(folder)

    def top(self) -> list[str]:
        return self._inner.top()

    def walk(self, folder: str) -> Iterator[BlobInfo]:
        return self._inner.walk(folder)

    def later(self, path: str) -> list[str]:
        return self._inner.later(path)

    def ends(self, folder: str) -> list[FolderEnd]:
        return self._inner.ends(folder)

    def unfinished(self, folder: str) -> Iterator[BlobInfo]:
        return self._inner.unfinished(folder)

    def delete(self, path: str) -> None:
        assert path.startswith(("turns/", "creating/")), f"nothing may delete {path}"
        self._inner.delete(path)

    def sync(self, paths: Iterable[str]) -> None:
        self._inner.sync(paths)


def at(number: int, fault: BaseException) -> Callable[[int, str], None]:
    """Raise a fault at the n-th create."""

    def hook(count: int, path: str) -> None:
        if count == number:
            raise fault

    return hook


def under(folder: str, fault: BaseException) -> Callable[[int, str], None]:
    """Raise a fault at every create below a folder."""

    def hook(count: int, path: str) -> None:
        if path.startswith(folder):
            raise fault

    return hook


def lost() -> StorageError:
    """What a store says when the answer to a request never came."""
    return StorageError("Could not write: connection reset.")
