"""Blobs on a local disk that outlive a power loss."""

from __future__ import annotations

import errno
import os
import uuid
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from obstore.store import LocalStore

from dbt.adapters.vcs.core.errors import StorageError
from dbt.adapters.vcs.core.store.blobs import check_path
from dbt.adapters.vcs.core.store.cloud import CloudBlobs
from dbt.adapters.vcs.core.store.failures import translated

_NO_LINKS = (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK)


class LocalBlobs(CloudBlobs):
    """A folder; `Blobs` has the contract.

    Reading goes through obstore. Writing is done here, since obstore does not ask the disk to
    keep what it was given: bytes go to a temporary file beside the final name, are synced,
    and are linked to the final name, which fails if that exists.

    Attributes:
        root: The folder, absolute; made by the first write.
    """

    def __init__(self, root: Path, *, fsync: bool = True) -> None:
        self.uri = str(root)
        self.root = root
        self._fsync = fsync
        self._opened: LocalStore | None = None

    @property
    def _store(self) -> LocalStore:
        if self._opened is None:
            if not self.root.exists():
                raise FileNotFoundError(self.uri)
            self._opened = LocalStore(self.root)
        return self._opened

    def create(self, path: str, data: bytes) -> bool:
        """Store a blob if none has this path."""
        final = self.root / check_path(path)
        # obstore leaves names that end in # and digits out of every listing.
        staged = final.with_name(f"{final.name}#{uuid.uuid4().int}")
        with translated("write", path, self.uri):
            self._make_folder(final.parent)
            try:
                self._write(staged, data)
                return self._publish(staged, final)
            finally:
                with suppress(FileNotFoundError):
                    staged.unlink()

    def sync(self, paths: Iterable[str]) -> None:
        """Sync the files and the folders that list them."""
        if not self._fsync:
            return
        folders: set[Path] = set()
        for path in paths:
            file = self.root / check_path(path)
            with translated("write", path, self.uri), suppress(FileNotFoundError):
                _sync(file)
                folders.update(file.parents[: len(Path(path).parts)])
        for folder in folders:
            with translated("write", str(folder), self.uri):
                _sync_folder(folder)

    def _make_folder(self, folder: Path) -> None:
        missing = [folder, *folder.parents]
        missing = missing[: next(i for i, path in enumerate(missing) if path.exists())]
        for path in reversed(missing):
            path.mkdir(exist_ok=True)
            if self._fsync:
                _sync_folder(path.parent)

    def _write(self, staged: Path, data: bytes) -> None:
        with staged.open("xb") as file:
            file.write(data)
            if self._fsync:
                file.flush()
                os.fsync(file.fileno())

    def _publish(self, staged: Path, final: Path) -> bool:
        created = True
        try:
            os.link(staged, final)
        except FileExistsError:
            created = False
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            raise StorageError(
                f"The file system of {self.uri} refused a hard link ({error.strerror}), which is "
                "how a commit is made in one step there. Put the repository on a local file "
                "system that has them, or in an object store."
            ) from error
        # Also if another writer was first: it may not have come to this line yet.
        if self._fsync:
            _sync_folder(final.parent)
        return created


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _sync_folder(path: Path) -> None:
    """Sync the names in a folder, where the system knows such a thing."""
    if os.name == "nt":
        return
    try:
        _sync(path)
    except OSError as error:
        # Some network file systems; they write names through by themselves.
        if error.errno not in (errno.EINVAL, errno.EOPNOTSUPP):
            raise
