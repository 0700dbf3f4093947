"""Faults: a store that fails, lies or kills its caller at single calls."""

from __future__ import annotations

import random
import resource
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final, NoReturn

from chaos.calendar import Calendar
from dbt.adapters.vcs.core.errors import NotFoundError, StorageError
from dbt.adapters.vcs.core.ids import Micros
from dbt.adapters.vcs.core.store.blobs import BlobInfo, Blobs, FolderEnd, folder_ends

_WRITES: Final = ("before", "after", "twice", "full", "cut off")
_READS: Final = ("before", "truncated", "not there")
_LOOKS: Final = ("before", "not there")
_LISTS: Final = ("before", "stale")
_PLAIN: Final = ("before", "after")
KINDS: Final = {
    "create": _WRITES,
    "create_all": ("before", "after", "partly", "full", "cut off"),
    "get": _READS,
    "range": _READS,
    "size": _LOOKS,
    "exists": _LOOKS,
    "folders": _LISTS,
    "walk": _LISTS,
    "later": _LISTS,
    "delete": _PLAIN,
    "sync": ("before",),
}
"""What can go wrong at each call."""

LIES: Final = frozenset({"not there", "stale"})
"""Answers that a store must never give."""


_OVERTAKEN: Final = frozenset({"create", "create_all", "walk", "folders", "delete"})
"""Calls before which others may work, besides moves of refs."""

_OFTEN: Final = 0.03

_UNANSWERED: Final = 0.005
"""How likely a request to delete is given up before it arrives."""


@dataclass
class LateDeletions:
    """Requests to delete files of rows and objects, which arrive once more at any later time.

    A client repeats a request that wasn't answered, and the first one may still be on its way.

    Attributes:
        dice: Decides.
        sent: The paths of all of them.
    """

    dice: random.Random
    sent: list[str] = field(default_factory=list)

    def send(self, path: str) -> None:
        """Note a request.

        Raises:
            StorageError: It was not answered.
        """
        if path.startswith(("objects/", "data/")):
            self.sent.append(path)
            if self.dice.random() < _UNANSWERED:
                raise StorageError(f"Could not delete {path}: no answer.")

    def arrive(self, blobs: Blobs, share: float) -> int:
        """Carry out some of them, once more or at last; return how many."""
        some = [path for path in list(self.sent) if self.dice.random() < share]
        for path in some:
            blobs.delete(path)
        return len(some)


@dataclass
class Trouble:
    """When a store fails, and how.

    Attributes:
        dice: Decides.
        rate: How likely a call fails.
        lies: Whether it also gives wrong answers.
        kill_at: The number of the call at which the process dies; 0 for none.
        die: Ends the process.
        between: Called before a ref is moved and, now and then, before other calls that
            change or list something: what others do meanwhile.
        pause: Seconds that a thread stands still at most before it moves a ref.
        tell: Told each fault.
        late: Requests to delete that arrive again.
    """

    dice: random.Random
    rate: float = 0.0
    lies: bool = False
    kill_at: int = 0
    die: Callable[[], NoReturn] | None = None
    between: Callable[[], None] | None = None
    pause: float = 0.0
    tell: Callable[[str, str, str], None] = lambda kind, call, path: None
    late: LateDeletions | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _calls: int = 0

    def meanwhile(self, call: str, path: str) -> None:
        """Let others work before a call."""
        moves_ref = call == "create" and path.startswith("refs/")
        if moves_ref and self.pause:
            time.sleep(self.dice.random() * self.pause)
        if self.between is None or threading.current_thread() is not threading.main_thread():
            return
        if moves_ref or (call in _OVERTAKEN and self.dice.random() < _OFTEN):
            self.between()

    def strike(self, call: str, path: str) -> str:
        """Return the fault that happens at a call, empty for none."""
        with self._lock:
            self._calls += 1
            if self.kill_at and self._calls > self.kill_at:
                return "die before"  # What the dead one's blocks do on leaving reaches nothing.
            if self.kill_at and self._calls == self.kill_at:
                return "die before" if self.dice.random() < 0.5 else "die after"
            if self.rate == 0 or self.dice.random() >= self.rate:
                return ""
            kind = self.dice.choice(KINDS[call])
        if kind in LIES and not self.lies:
            return ""
        self.tell(kind, call, path)
        return kind


class TroubledBlobs:
    """Another store with trouble, and with files that are as old as the calendar says."""

    def __init__(self, inner: Blobs, calendar: Calendar, trouble: Trouble) -> None:
        self.uri = inner.uri
        self.is_near = inner.is_near
        self._inner = inner
        self._calendar = calendar
        self._trouble = trouble

    @contextmanager
    def _call(self, call: str, path: str) -> Iterator[str]:
        """Do what goes wrong before and after a call; yield what the call itself must do."""
        self._trouble.meanwhile(call, path)
        kind = self._trouble.strike(call, path)
        if kind == "die before":
            self._die()
        if kind == "before":
            raise StorageError(f"Could not {call} {path}: connection refused.")
        if kind == "full":
            raise StorageError(f"No space left to write {path}.")
        yield kind
        if kind == "die after":
            self._die()
        if kind == "after":
            raise StorageError(f"Could not {call} {path}: connection reset.")

    def _die(self) -> None:
        assert self._trouble.die is not None
        self._trouble.die()

    def get(self, path: str) -> bytes:
        """Return all bytes of a blob."""
        with self._call("get", path) as kind:
            return self._cut(self._inner.get(self._there(kind, path)), kind)

    def range(self, path: str, start: int, length: int) -> bytes:
        """Return a part of a blob."""
        with self._call("range", path) as kind:
            return self._cut(self._inner.range(self._there(kind, path), start, length), kind)

    def _there(self, kind: str, path: str) -> str:
        if kind == "not there":
            raise NotFoundError(f"There is no file {path} in {self.uri}.")
        return path

    def _cut(self, data: bytes, kind: str) -> bytes:
        return data[: len(data) // 2] if kind == "truncated" else data

    def size(self, path: str) -> int:
        """Return the size of a blob."""
        with self._call("size", path) as kind:
            return self._inner.size(self._there(kind, path))

    def modified_at(self, path: str) -> Micros | None:
        """Return when a blob was written or renewed."""
        with self._call("exists", path) as kind:
            found = None if kind == "not there" else self._inner.modified_at(path)
            return None if found is None else self._calendar.at(found)

    def exists(self, path: str) -> bool:
        """Return whether there is a blob."""
        with self._call("exists", path) as kind:
            return kind != "not there" and self._inner.exists(path)

    def create(self, path: str, data: bytes) -> bool:
        """Store a blob if none has this path."""
        with self._call("create", path) as kind, _disk(kind):
            created = self._inner.create(path, data)
            # A client that repeats a request is answered what the second one met.
            return self._inner.create(path, data) if kind == "twice" else created

    def create_all(self, blobs: Mapping[str, bytes]) -> set[str]:
        """Store blobs, and renew those that are there."""
        with self._call("create_all", next(iter(blobs), "")) as kind, _disk(kind):
            if kind != "partly":
                return self._inner.create_all(blobs)
            some = dict(list(blobs.items())[: len(blobs) // 2])
            self._inner.create_all(some)
            raise StorageError(f"Could not write more than {len(some)} files: connection reset.")

    def replace_all(self, blobs: Mapping[str, bytes]) -> None:
        """Store blobs, in the place of those that exist."""
        with self._call("replace_all", next(iter(blobs), "")) as kind, _disk(kind):
            self._inner.replace_all(blobs)

    def folders(self, folder: str) -> list[str]:
        """Return the names of the sub-folders."""
        with self._call("folders", folder) as kind:
            found = self._inner.folders(folder)
            return found[:-1] if kind == "stale" else found

    def top(self) -> list[str]:
        """Return the names at the top."""
        return self._inner.top()

    def walk(self, folder: str) -> Iterator[BlobInfo]:
        """Yield the blobs below a folder, as old as the calendar says."""
        with self._call("walk", folder) as kind:
            found = list(self._inner.walk(folder))
        if kind == "stale":
            found = sorted(found, key=lambda info: info.modified_at)[: len(found) * 3 // 4]
        for info in found:
            yield info._replace(modified_at=self._calendar.at(info.modified_at))

    def later(self, path: str) -> list[str]:
        """Return the next blobs of a folder; an old listing lacks the last of them."""
        with self._call("later", path) as kind:
            found = self._inner.later(path)
            return found[:-1] if kind == "stale" else found

    def ends(self, folder: str) -> list[FolderEnd]:
        """Return the end of each sub-folder, as `walk` shows them."""
        return folder_ends(folder, self.walk(folder))

    def unfinished(self, folder: str) -> Iterator[BlobInfo]:
        """Yield the incomplete files of writes."""
        return self._inner.unfinished(folder)

    def delete(self, path: str) -> None:
        """Remove a blob."""
        with self._call("delete", path):
            if self._trouble.late is not None:
                self._trouble.late.send(path)
            self._inner.delete(path)

    def sync(self, paths: Iterable[str]) -> None:
        """Make blobs survive a power loss."""
        wanted = list(paths)
        with self._call("sync", next(iter(wanted), "")):
            self._inner.sync(wanted)


@contextmanager
def _disk(kind: str) -> Iterator[None]:
    """Let no file grow beyond some bytes if a write is to be cut off, as on a full disk."""
    if kind != "cut off":
        yield
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
