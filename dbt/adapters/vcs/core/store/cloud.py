"""Blobs in an object store, or on a local disk seen as one, through obstore."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from typing import TYPE_CHECKING, Final

import obstore
from obstore.exceptions import (
    AlreadyExistsError,
    BaseError,
    PermissionDeniedError,
    UnauthenticatedError,
)
from obstore.exceptions import NotFoundError as StoreNotFoundError
from obstore.store import ObjectStore

from dbt.adapters.vcs.core.errors import NotFoundError
from dbt.adapters.vcs.core.failures import translated, without_secrets
from dbt.adapters.vcs.core.ids import Micros, micros_of
from dbt.adapters.vcs.core.store.blobs import (
    LATER,
    BlobInfo,
    FolderEnd,
    Parallel,
    check_path,
    folder_ends,
)

if TYPE_CHECKING:
    from obstore import ObjectMeta

# A store takes far more, and whoever lands the work of many writers waits for it: 16 at 50 ms each
# would be 60 landings a second.
AT_ONCE = 128
"""Files that are written at once."""


class CloudBlobs:
    """Any store that obstore reaches; `Blobs` has the contract.

    `create` relies on the store's put-if-absent: If-None-Match on S3, GCS and Azure, a hard link
    on a local disk.
    """

    is_near: Final = False

    def __init__(self, store: ObjectStore, uri: str, deleting: ObjectStore | None = None) -> None:
        """Take the store, its location, and the same store as it is to be asked to delete."""
        self.uri = uri
        self._store = store
        self._deleting = deleting or store
        self._parallel = Parallel(AT_ONCE)

    def get(self, path: str) -> bytes:
        """Return all bytes of a blob."""
        check_path(path)
        with translated_cloud("read", path, self.uri):
            return bytes(obstore.get(self._store, path).bytes())

    def range(self, path: str, start: int, length: int) -> bytes:
        """Return a part of a blob."""
        # The size first: a store refuses a range that begins at the end, and the contract doesn't.
        stop = min(start + length, self.size(path))
        if start >= stop:
            return b""
        with translated_cloud("read", path, self.uri):
            return bytes(obstore.get_range(self._store, path, start=start, end=stop))

    def size(self, path: str) -> int:
        """Return the size of a blob in bytes."""
        check_path(path)
        with translated_cloud("read", path, self.uri):
            return int(obstore.head(self._store, path)["size"])

    def create(self, path: str, data: bytes) -> bool:
        """Store a blob if none has this path."""
        check_path(path)
        with translated_cloud("write", path, self.uri):
            try:
                # One request, so that it is all of it or nothing.
                obstore.put(self._store, path, data, mode="create", use_multipart=False)
            except AlreadyExistsError:
                return False
            return True

    def create_all(self, blobs: Mapping[str, bytes]) -> set[str]:
        """Store blobs, and renew those that are there by putting their bytes again."""
        are_new = self._parallel.map(lambda item: self._create_or_renew(*item), blobs.items())
        return {path for path, is_new in zip(blobs, are_new, strict=True) if not is_new}

    def _create_or_renew(self, path: str, data: bytes) -> bool:
        if self.create(path, data):
            return True
        # What is there is never replaced by other bytes.
        with suppress(NotFoundError):
            data = self.get(path)
        self._replace(path, data)
        return False

    def replace_all(self, blobs: Mapping[str, bytes]) -> None:
        """Store blobs, in the place of those that exist."""
        self._parallel.map(lambda item: self._replace(*item), blobs.items())

    def _replace(self, path: str, data: bytes) -> None:
        check_path(path)
        with translated_cloud("write", path, self.uri):
            obstore.put(self._store, path, data, use_multipart=False)

    def modified_at(self, path: str) -> Micros | None:
        """Return when a blob was written or renewed."""
        check_path(path)
        with suppress(NotFoundError), translated_cloud("read", path, self.uri):
            return micros_of(obstore.head(self._store, path)["last_modified"])
        return None

    def exists(self, path: str) -> bool:
        """Return whether there is a blob with this path."""
        return self.modified_at(path) is not None

    def folders(self, folder: str) -> list[str]:
        """Return the names of the direct sub-folders."""
        check_path(folder)
        found: Sequence[str] = ()
        with suppress(NotFoundError), translated_cloud("list", folder, self.uri):
            found = obstore.list_with_delimiter(self._store, folder)["common_prefixes"]
        return sorted(path.rstrip("/").rpartition("/")[2] for path in found)

    def top(self) -> list[str]:
        """Return the names of the files and folders that lie at the top."""
        names: list[str] = []
        with suppress(NotFoundError), translated_cloud("list", "", self.uri):
            found = obstore.list_with_delimiter(self._store)
            names = [path.rstrip("/").rpartition("/")[2] for path in found["common_prefixes"]]
            names += [meta["path"].rpartition("/")[2] for meta in found["objects"]]
        return sorted(names)

    def walk(self, folder: str) -> Iterator[BlobInfo]:
        """Yield every blob below a folder."""
        check_path(folder)
        with suppress(NotFoundError), translated_cloud("list", folder, self.uri):
            for chunk in obstore.list(self._store, folder):
                yield from map(_info, chunk)

    def later(self, path: str) -> list[str]:
        """Return the first blobs in the path's folder with later names."""
        check_path(path)
        folder = path.rpartition("/")[0]
        with suppress(NotFoundError), translated_cloud("list", folder, self.uri):
            # The first chunk is what the store answers to the first request.
            for chunk in obstore.list(self._store, folder, offset=path, chunk_size=LATER):
                return sorted(str(meta["path"]) for meta in chunk)
        return []

    def ends(self, folder: str) -> list[FolderEnd]:
        """Return the end of each direct sub-folder."""
        check_path(folder)
        found: list[BlobInfo] = []
        long: dict[str, BlobInfo] = {}
        start: str | None = None
        while True:
            is_long = False
            with suppress(NotFoundError), translated_cloud("list", folder, self.uri):
                # A chunk is a page that the store answers.
                for chunk in obstore.list(self._store, folder, offset=start, chunk_size=LATER):
                    page = list(map(_info, chunk))
                    name, other = (
                        info.path[len(folder) + 1 :].partition("/")[0]
                        for info in (page[0], page[-1])
                    )
                    is_long = name == other and len(page) >= LATER
                    if is_long:
                        long[name] = page[-1]
                        # Behind all names in the sub-folder, as 0 comes after the slash.
                        start = f"{folder}/{name}0"
                        break
                    found += page
            if not is_long:
                counted = [end for end in folder_ends(folder, found) if end.folder not in long]
                return counted + [FolderEnd(name, last, None) for name, last in long.items()]

    def unfinished(self, folder: str) -> Iterator[BlobInfo]:
        """Yield nothing: files are written whole."""
        return iter(())

    def delete(self, path: str) -> None:
        """Remove a blob."""
        check_path(path)
        with suppress(NotFoundError), translated_cloud("delete", path, self.uri):
            # By the client that sends a request once: see `opening._NO_RETRIES`.
            obstore.delete(self._deleting, path)

    def sync(self, paths: Iterable[str]) -> None:
        """Do nothing: an object store responds only once bytes are safe."""


def _info(meta: ObjectMeta) -> BlobInfo:
    modified: datetime = meta["last_modified"]
    return BlobInfo(meta["path"], meta["size"], micros_of(modified), meta["e_tag"] or "")


@contextmanager
def translated_cloud(verb: str, path: str, uri: str) -> Iterator[None]:
    """Turn errors of obstore inside the block into ours, as `translated` does for other errors."""
    with translated(verb, path, uri):
        try:
            yield
        except StoreNotFoundError as error:
            # As Python's own errors, so that `translated` has one set of rules for all stores.
            raise FileNotFoundError(_error_text(error)) from None
        except (PermissionDeniedError, UnauthenticatedError) as error:
            raise PermissionError(_error_text(error)) from None
        except BaseError as error:
            raise OSError(_error_text(error)) from None


def _error_text(error: BaseError) -> str:
    # The text of the original may hold a signed URL, which a traceback would show.
    return without_secrets(str(error).strip()) or type(error).__name__
