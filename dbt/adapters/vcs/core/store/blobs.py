"""The port to an object store: named bytes, created once and never changed.

Besides the contract it has the store in memory, for tests and for trying things out, and what
every caller needs: files that nobody else writes, and many calls at once, since most of each is
waiting.
"""

from __future__ import annotations

import os
import re
import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from operator import itemgetter
from typing import Any, ClassVar, Final, Generic, NamedTuple, Protocol, TypeVar

from dbt.adapters.vcs.core.errors import DamagedError, InputError, NotFoundError, StorageError
from dbt.adapters.vcs.core.ids import Clock, Micros, system_clock

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


class FolderEnd(NamedTuple):
    """The last blob of a folder, by name, and how many there are.

    `blobs` is None if the store didn't count them, and `last` may be an earlier one then.
    """

    folder: str
    last: BlobInfo
    blobs: int | None


class Blobs(Protocol):
    """The interface the core needs from a store. Safe to call from several threads.

    Paths are relative to the repository and use `/`; every method refuses one that `check_path`
    refuses. Each method may raise StorageError, whose message holds no credentials.
    """

    @property
    def uri(self) -> str:
        """Where the store is, for messages: holds no credentials."""

    @property
    def is_near(self) -> bool:
        """True if waking a thread takes longer than a request."""

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

    def later(self, path: str) -> list[str]:
        """Return the first blobs in the path's folder with later names, in order of characters.

        These are at least the first `LATER`, or all if there are fewer. Costs one request on an
        object store, however many come before.
        """

    def ends(self, folder: str) -> list[FolderEnd]:
        """Return the end of each direct sub-folder, in no order, with the name of the sub-folder.

        Sub-folders of at most `LATER` blobs are counted. Costs one request for 1,000 blobs on an
        object store, and two for a sub-folder that has more of them.
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


LATER: Final = 1_000
"""Names that object stores list with one request."""


def folder_ends(folder: str, found: Iterable[BlobInfo]) -> list[FolderEnd]:
    """Return what `Blobs.ends` does, from all blobs below a folder."""
    ends: dict[str, FolderEnd] = {}
    start = len(folder) + 1
    for info in found:
        name, is_inside, _ = info.path[start:].partition("/")
        if is_inside:
            old = ends.get(name)
            last = info if old is None else max(old.last, info)
            ends[name] = FolderEnd(name, last, 1 + (old.blobs or 0 if old else 0))
    return list(ends.values())


def next_after(blobs: Blobs, path: str) -> str | None:
    """Return the first blob in the path's folder with a later name; None if there is none."""
    return next(iter(blobs.later(path)), None)


def write_new(blobs: Blobs, path: str, data: bytes) -> None:
    """Store a file in a folder that only this write uses.

    Finding its own bytes there is success: a client that didn't get an answer asks again, and an
    error doesn't tell whether the request had arrived.

    Raises:
        InputError: Another file is there: the folder is not new.
        StorageError: The store failed, and the file is not there as far as can be seen.
    """
    try:
        if blobs.create(path, data):
            return
    except StorageError:
        if not _holds(blobs, path, data):
            raise
        return
    if not _holds(blobs, path, data):
        raise InputError(f"{path} already exists; write to a new folder.")


def check_write_once(blobs: Blobs, path: str, data: bytes) -> None:
    """Check that a store refuses to create a file that exists, and holds these bytes.

    A store that doesn't refuse writes the same bytes once more, so nothing is lost by asking.

    Raises:
        StorageError: It does not, so two writers could both believe that they won.
    """
    if blobs.create(path, data):
        raise StorageError(
            f"The store of {blobs.uri} ignores put-if-absent (If-None-Match), without which "
            "concurrent writers lose each other's commits. Upgrade it, or put the repository in a "
            "store that has it: S3, GCS, Azure, a local disk."
        )


def _holds(blobs: Blobs, path: str, data: bytes) -> bool:
    try:
        # The size first: it needs no read, and another file mostly has another one.
        return blobs.size(path) == len(data) and blobs.get(path) == data
    except NotFoundError:
        return False


# Files that are synced at once cost the disk's journal one write. One by one, a landing on a
# busy machine took 36 ms in place of 8.
_THREADS: Final = 16

# As many as plans that are landed at once, whose tickets are read and taken down so.
READ_AT_ONCE: Final = 64
"""Requests that whoever reads a repository makes at once."""

T = TypeVar("T")
R = TypeVar("R")


class Parallel:
    """Threads that are started when first needed and kept; safe to share, and to fork.

    Attributes:
        is_serial: True to make all calls in the caller's thread, one after the other: for tests
            that decide what happens between two calls.
    """

    is_serial: ClassVar[bool] = False
    _all: ClassVar[weakref.WeakSet[Parallel]] = weakref.WeakSet()

    def __init__(self, threads: int = _THREADS) -> None:
        self._threads = threads
        self.renew()
        self._all.add(self)

    def map(self, function: Callable[[T], R], items: Iterable[T]) -> list[R]:
        """Return the results in order of the items; raises the first error after all ended.

        The calls may call it, too. Whoever finds no free thread makes its calls itself, so nobody
        waits for a thread that waits.
        """
        wanted = list(items)
        if len(wanted) < 2 or self.is_serial:
            return [function(item) for item in wanted]
        # One task for each thread: one for each item can cost more than the call itself. This
        # thread does its share, since waking another one can cost more, too.
        work = _Work(function, wanted)
        most = min(self._threads, len(wanted)) - 1
        tasks: list[Future[None]] = []
        while len(tasks) < most and self._free.acquire(blocking=False):
            task = self._pool.submit(work)
            task.add_done_callback(self._release)
            tasks.append(task)
        work()
        for task in tasks:
            if not task.cancel():
                task.result()
        if work.errors:
            raise min(work.errors, key=itemgetter(0))[1]
        return [work.results[number] for number in range(len(wanted))]

    def renew(self) -> None:
        """Have threads of its own: a fork copies objects, and none of their threads."""
        self._pool = ThreadPoolExecutor(self._threads, "vcs-store")
        self._free = threading.Semaphore(self._threads)

    def _release(self, task: Future[None]) -> None:
        self._free.release()


class _Work(Generic[T, R]):
    """Calls that several threads share out among themselves.

    Attributes:
        results: What the calls returned, by number of the item.
        errors: The numbers of the items whose calls raised, and what they raised.
    """

    def __init__(self, function: Callable[[T], R], items: Iterable[T]) -> None:
        self.results: dict[int, R] = {}
        self.errors: list[tuple[int, BaseException]] = []
        self._function = function
        self._left = deque(enumerate(items))

    def __call__(self) -> None:
        """Make calls until none is left."""
        while True:
            try:
                # A deque needs no lock for this.
                number, item = self._left.popleft()
            except IndexError:
                return
            try:
                self.results[number] = self._function(item)
            # Kept for `map`, which raises it in the caller's thread when all calls have ended.
            except BaseException as error:
                self.errors.append((number, error))
                # Ctrl-C, which only this thread hears, begins nothing more.
                if not isinstance(error, Exception):
                    self._left.clear()


def _renew_all() -> None:
    for parallel in list(Parallel._all):
        parallel.renew()


if hasattr(os, "register_at_fork"):
    # Once, since nothing unregisters a handler.
    os.register_at_fork(after_in_child=_renew_all)


each: Final = Parallel(READ_AT_ONCE).map
"""For what reads a repository; stores have threads of their own, which never wait for others."""


def together(blobs: Blobs, *calls: Callable[[], Any]) -> list[Any]:
    """Make calls that don't need each other's results, and return these in order.

    They ask a store, at once unless it is near: for a few requests to a local disk threads cost
    more than they gain.
    """
    return [call() for call in calls] if blobs.is_near else each(lambda call: call(), calls)


def caught(read: Callable[[T], R]) -> Callable[[T], R | DamagedError]:
    """Return damage as a result: `each` would raise the first error and drop all other results."""

    def call(item: T) -> R | DamagedError:
        try:
            return read(item)
        except DamagedError as error:
            return error

    return call


def delete_below(blobs: Blobs, *folders: str) -> None:
    """Delete every blob below some folders."""
    each(blobs.delete, [info.path for folder in folders for info in blobs.walk(folder)])


class MemoryBlobs:
    """A store that lasts as long as the object; `Blobs` has the contract."""

    # As of an object store, whose place it takes.
    is_near: Final = False

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
                    # Somebody may have deleted it since `create`.
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
            # Clocks of tests stand still, so times alone wouldn't tell two contents apart.
            yield BlobInfo(path, len(data), modified_at, f"{hash(data):x}")

    def later(self, path: str) -> list[str]:
        """Return the blobs in the path's folder with later names."""
        folder = check_path(path).rpartition("/")[0]
        return sorted(info.path for info in self.walk(folder) if info.path > path)

    def ends(self, folder: str) -> list[FolderEnd]:
        """Return the end of each direct sub-folder."""
        return folder_ends(folder, self.walk(folder))

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
