"""Blobs on a local disk that survive a power loss."""

from __future__ import annotations

import errno
import heapq
import os
import re
import stat
import uuid
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final

from dbt.adapters.vcs.core.errors import StorageError
from dbt.adapters.vcs.core.failures import translated
from dbt.adapters.vcs.core.ids import Micros
from dbt.adapters.vcs.core.store.blobs import LATER, BlobInfo, FolderEnd, Parallel, check_path

if TYPE_CHECKING:
    from dbt.adapters.vcs.core.store.cloud import CloudBlobs

_UNFINISHED = re.compile(r"#\d+$")

# Decision 2: a folder that begins so belongs to one write.
_OF_A_WRITE = "w="
# What running processes tell each other. None of them is left after a power loss, and what they
# told need not be either.
_FLEETING = ("turns/", "creating/")
# How many files and folders a process remembers to have synced; forgetting them costs a sync.
_REMEMBERED = 10_000
# How file systems refuse that have no hard links, or allow a file no more of them (EMLINK).
_NO_LINKS = (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK)


class LocalBlobs:
    """A folder; `Blobs` has the contract.

    Listing whole trees goes through obstore, which is loaded for that alone. Single files are
    read here, since its runtime costs several times what the file system does. Writing is done
    here, since obstore does not ask the disk to keep what it was given: bytes go to a temporary
    file beside the final name, are synced, and are linked to the final name, which fails if that
    exists. Files are synced at once where there are several: the file system then writes its
    journal once, not once for each.

    Attributes:
        root: The folder, absolute; made by the first write.
    """

    is_near: Final = True

    def __init__(self, root: Path, *, fsync: bool = True) -> None:
        self.uri = str(root)
        self.root = root
        self._fsync = fsync
        self._parallel = Parallel()
        # Files of writes that survive a power loss, and folders whose own names do.
        self._lasting: set[str] = set()
        # Texts, as in all that is done for each write: making a `Path` costs more than the call.
        self._rooted: set[str] = {self.uri}

    def _listed(self) -> CloudBlobs | None:
        """Return the folder as obstore sees it, or None if it isn't there."""
        if not self.root.exists():
            return None
        # Most commands list nothing, and start sooner without it.
        from obstore.store import LocalStore

        from dbt.adapters.vcs.core.store.cloud import CloudBlobs

        return CloudBlobs(LocalStore(self.root), self.uri)

    def get(self, path: str) -> bytes:
        """Return all bytes of a blob."""
        with translated("read", path, self.uri), self._open(path, buffering=0) as file:
            return file.read()

    def range(self, path: str, start: int, length: int) -> bytes:
        """Return a part of a blob."""
        with translated("read", path, self.uri), self._open(path) as file:
            file.seek(start)
            return file.read(max(length, 0))

    def size(self, path: str) -> int:
        """Return the size of a blob in bytes."""
        with translated("read", path, self.uri):
            found = self._stat(path)
            if found is None:
                raise FileNotFoundError(path)
            return found.st_size

    def exists(self, path: str) -> bool:
        """Return whether there is a blob with this path."""
        with translated("read", path, self.uri):
            return self._stat(path) is not None

    def folders(self, folder: str) -> list[str]:
        """Return the names of the direct sub-folders."""
        check_path(folder)
        with translated("list", folder, self.uri):
            try:
                entries = os.scandir(f"{self.uri}/{folder}")
            except (FileNotFoundError, NotADirectoryError):
                return []
            with entries:
                return sorted(entry.name for entry in entries if entry.is_dir())

    def later(self, path: str) -> list[str]:
        """Return the first blobs in the path's folder with later names."""
        folder, _, name = check_path(path).rpartition("/")
        with translated("list", folder, self.uri):
            try:
                entries = os.listdir(f"{self.uri}/{folder}")
            except (FileNotFoundError, NotADirectoryError):
                return []
        # Names with # are files of writes that are under way.
        names = [entry for entry in entries if entry > name and "#" not in entry]
        # Of a long log only the first are sorted.
        first = sorted(names) if len(names) <= LATER else heapq.nsmallest(LATER, names)
        return [f"{folder}/{later}" for later in first]

    def ends(self, folder: str) -> list[FolderEnd]:
        """Return the end of each direct sub-folder."""
        found: list[FolderEnd] = []
        for name in self.folders(folder):
            with translated("list", folder, self.uri):
                entries = os.listdir(f"{self.uri}/{folder}/{name}")
                if any("#" in entry for entry in entries):
                    entries = [entry for entry in entries if "#" not in entry]
                if not entries:
                    continue
                path = f"{folder}/{name}/{max(entries)}"
                try:
                    status = os.stat(f"{self.uri}/{path}")
                except FileNotFoundError:
                    # Taken away since the folder was listed, so what is there now isn't known.
                    found.append(FolderEnd(name, BlobInfo(path, 0, Micros(0)), None))
                    continue
            size, micros = status.st_size, status.st_mtime_ns // 1000
            # The tag is what obstore makes of a file: `walk` has it from there.
            tag = f'"{status.st_ino:x}-{micros:x}-{size:x}"'
            found.append(FolderEnd(name, BlobInfo(path, size, Micros(micros), tag), len(entries)))
        return found

    def top(self) -> list[str]:
        """Return the names of the files and folders that lie at the top."""
        listed = self._listed()
        return [] if listed is None else listed.top()

    def walk(self, folder: str) -> Iterator[BlobInfo]:
        """Yield every blob below a folder."""
        check_path(folder)
        listed = self._listed()
        if listed is not None:
            yield from listed.walk(folder)

    def unfinished(self, folder: str) -> Iterator[BlobInfo]:
        """Yield what writes leave that are under way or were killed."""
        for above, _, names in os.walk(self.root / check_path(folder)):
            for name in names:
                if _UNFINISHED.search(name):
                    path = Path(above, name).relative_to(self.root).as_posix()
                    found = self._stat(path)
                    if found is not None:
                        yield BlobInfo(path, found.st_size, Micros(found.st_mtime_ns // 1000))

    def _open(self, path: str, buffering: int = -1) -> BinaryIO:
        """Open a blob; anything but a file counts as missing."""
        try:
            return open(f"{self.uri}/{check_path(path)}", "rb", buffering)
        except (IsADirectoryError, NotADirectoryError) as error:
            raise FileNotFoundError(path) from error

    def _stat(self, path: str) -> os.stat_result | None:
        """Return a blob's status; None if there is no file with this path."""
        try:
            found = os.stat(f"{self.uri}/{check_path(path)}")
        except (FileNotFoundError, NotADirectoryError):
            return None
        return found if stat.S_ISREG(found.st_mode) else None

    def delete(self, path: str) -> None:
        """Remove a blob, and the folders of a write and its partitions that it leaves empty."""
        file = f"{self.uri}/{check_path(path)}"
        with translated("delete", path, self.uri), suppress(FileNotFoundError, NotADirectoryError):
            os.unlink(file)
        folders = path.split("/")[:-1]
        start = next((n for n, name in enumerate(folders) if name.startswith(_OF_A_WRITE)), None)
        if start is None:
            return
        # No other write uses them. A shared folder could disappear while somebody writes to it.
        with suppress(OSError):
            for end in range(len(folders), start, -1):
                self.root.joinpath(*folders[:end]).rmdir()

    def create(self, path: str, data: bytes) -> bool:
        """Store a blob if none has this path."""
        return self._put({path: data}, set())[path]

    def create_all(self, blobs: Mapping[str, bytes]) -> set[str]:
        """Store blobs, and renew those that are there, whose paths are returned."""
        there = {path for path in blobs if self._renew(path)}
        new = {path: data for path, data in blobs.items() if path not in there}
        # The writers of existing files may not have synced their names yet.
        created = self._put(new, {self._folder(path) for path in there})
        return there | {path for path, is_new in created.items() if not is_new}

    def _renew(self, path: str) -> bool:
        """Make a blob as young as a new one; False if there is none."""
        if not self.exists(path):
            return False
        with translated("write", path, self.uri):
            try:
                os.utime(f"{self.uri}/{path}")
            except FileNotFoundError:
                # A collection deleted it in the meantime, so it is stored again.
                return False
            except PermissionError:
                # Only the owner of a file can set its times.
                return self._replace_by_copy(path)
        return True

    def _replace_by_copy(self, path: str) -> bool:
        """Put a new file with the same bytes in a blob's place; False if there is none."""
        final = self.root / path
        staged = Path(_unfinished(final, uuid.uuid4().int))
        try:
            staged.write_bytes(final.read_bytes())
            if self._fsync:
                _sync(staged)
            staged.replace(final)
        except FileNotFoundError:
            return False
        finally:
            staged.unlink(missing_ok=True)
        return True

    def replace_all(self, blobs: Mapping[str, bytes]) -> None:
        """Store blobs, in the place of those that exist."""
        folders: set[str] = set()
        with self._staged(blobs, folders) as staged:
            for path, file in list(staged.items()):
                with translated("write", path, self.uri):
                    os.replace(file, f"{self.uri}/{path}")
                del staged[path]
        self._sync_folders(folders)

    def modified_at(self, path: str) -> Micros | None:
        """Return when a blob was written or renewed."""
        with translated("read", path, self.uri):
            found = self._stat(path)
        return None if found is None else Micros(found.st_mtime_ns // 1000)

    def sync(self, paths: Iterable[str]) -> None:
        """Sync the files and the folders that list them."""
        new = [check_path(path) for path in paths if path not in self._lasting]
        files = {path: f"{self.uri}/{path}" for path in new}
        there = {path: file for path, file in files.items() if os.path.isfile(file)}
        self._sync_files(there)
        self._sync_folders(self._listings(there))
        self._remember(there)

    def _folder(self, path: str) -> str:
        return f"{self.uri}/{path}".rpartition("/")[0]

    def _listings(self, paths: Iterable[str]) -> set[str]:
        """Return the folders to sync so that files last: up to one whose own name does."""
        folders: set[str] = set()
        for path in paths:
            # Spark and Arrow make these folders, and sync none of them.
            folder = self._folder(path)
            while folder not in self._rooted:
                folders.add(folder)
                folder = folder.rpartition("/")[0]
            folders.add(folder)
        return folders

    def _remember(self, paths: Iterable[str]) -> None:
        """Remember files of writes, and the folders of `_listings`, as synced."""
        # Each is the file of one write, so nobody puts another one in its place.
        lasting = [path for path in paths if f"/{_OF_A_WRITE}" in path]
        if not lasting:
            return
        if len(self._lasting) + len(self._rooted) > _REMEMBERED:
            self._lasting, self._rooted = set(), {self.uri}
        # The listing of each folder above was synced, and with it the names of those in it.
        self._rooted |= self._listings(lasting)
        self._lasting.update(lasting)

    def _put(self, blobs: Mapping[str, bytes], folders: set[str]) -> dict[str, bool]:
        """Store blobs and also sync some folders; True for each blob that was created."""
        with self._staged(blobs, folders) as staged:
            created = {path: self._publish(path, file) for path, file in staged.items()}
        # Even if another writer was first: it may not have reached this line yet.
        self._sync_folders(folders)
        written = [path for path in blobs if f"/{_OF_A_WRITE}" in path]
        self._remember(path for path in written if self._listings([path]) <= folders)
        return created

    @contextmanager
    def _staged(self, blobs: Mapping[str, bytes], folders: set[str]) -> Iterator[dict[str, str]]:
        """Write and sync blobs beside their final names, and clean up after the block.

        Yields the files by path. The folders whose listings the block changes are added to
        `folders`.
        """
        # Texts and one number for all: objects for each cost more than the system's calls.
        unique = uuid.uuid4().int
        staged = {path: _unfinished(f"{self.uri}/{check_path(path)}", unique) for path in blobs}
        made: set[str] = set()

        def write(item: tuple[str, str]) -> None:
            path, file = item
            with translated("write", path, self.uri):
                _write(file, blobs[path], is_synced=self._fsync and not path.startswith(_FLEETING))

        try:
            for path, file in staged.items():
                folder = file.rpartition("/")[0]
                if folder not in made:
                    with translated("write", path, self.uri):
                        to_sync = _make_folder(folder)
                    folders |= set() if path.startswith(_FLEETING) else to_sync
                    made.add(folder)
            if self._fsync:
                self._parallel.map(write, staged.items())
            else:
                # Nothing to wait for, so nothing for threads.
                for item in staged.items():
                    write(item)
            yield staged
        finally:
            for unfinished in staged.values():
                # What failed before says more. A collection removes what is left.
                with suppress(OSError):
                    os.unlink(unfinished)

    def _publish(self, path: str, staged: str) -> bool:
        with translated("write", path, self.uri):
            try:
                # Not a rename, which would replace what another writer has put there.
                os.link(staged, f"{self.uri}/{path}")
            except FileExistsError:
                return False
            except OSError as error:
                if error.errno not in _NO_LINKS:
                    raise
                raise StorageError(
                    f"The file system of {self.uri} refused a hard link ({error.strerror}), "
                    "which is how a commit is made in one step there. Put the repository on a "
                    "local file system that has them, or in an object store."
                ) from error
        return True

    def _sync_files(self, files: Mapping[str, str]) -> None:
        def sync(item: tuple[str, str]) -> None:
            with translated("write", item[0], self.uri):
                _sync(item[1])

        if self._fsync:
            self._parallel.map(sync, files.items())

    def _sync_folders(self, folders: Collection[str]) -> None:
        def sync(folder: str) -> None:
            with translated("write", folder, self.uri):
                _sync_folder(folder)

        if self._fsync:
            self._parallel.map(sync, folders)


def _unfinished(final: Path | str, unique: int) -> str:
    """Return where a file is written before it gets its name.

    obstore leaves names that end in # and digits out of every listing.
    """
    return f"{final}#{unique}"


def _make_folder(folder: str) -> set[str]:
    """Make a folder and its parents; return the folders whose listing must be synced."""
    missing: list[str] = []
    above = folder
    while not os.path.exists(above):
        missing.append(above)
        above = os.path.dirname(above)
    for path in reversed(missing):
        with suppress(FileExistsError):
            os.mkdir(path)
    # A new folder is an entry of its parent, which a power loss could take back.
    return {folder, *map(os.path.dirname, missing)}


def _write(path: str, data: bytes, *, is_synced: bool) -> None:
    """Write a new file, and let it survive a power loss."""
    # Unbuffered, and synced before it is closed: opening it again costs as much as the sync.
    with open(path, "xb", 0) as file:
        left = memoryview(data)
        while left:
            left = left[file.write(left) :]
        if is_synced:
            os.fsync(file.fileno())


def _sync(path: Path | str) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _sync_folder(path: str) -> None:
    # Windows doesn't open folders.
    if os.name == "nt":
        return
    try:
        _sync(path)
    except OSError as error:
        # Some network file systems don't; they write names through by themselves.
        if error.errno not in (errno.EINVAL, errno.EOPNOTSUPP):
            raise
