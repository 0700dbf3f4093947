"""Condemned names: what collections asked the store to delete, and which names are free of that.

A request to delete may arrive long after it was sent: a client repeats it, a proxy holds it, a
process stands still between its last look and the request. So a name that was condemned must
never again be the only name of something that is needed.

| who                         | does, in this order                                              |
|-----------------------------|------------------------------------------------------------------|
| collection                  | marks, writes the list of what it condemns, reads the refs and   |
|                             | the ages of files again, deletes what nobody took up             |
| writer of an object         | stores or renews it, reads the lists, stores it once more under  |
|                             | its next free name if the first one is condemned, moves the ref  |
| whoever brings rows back    | pins them, reads the lists, refuses what is condemned            |
| reader                      | tries the first name, then the others                            |

Either the writer comes first, and the collection sees that the file is young; or the list comes
first, and the writer sees the list. No clock decides which.

Data files have no second name. Their folder belongs to one write, so nobody creates one again,
and to bring one back under another name would mean to write every manifest above it again.
Remembered results have none either: what is lost of them is only computed again.
"""

from __future__ import annotations

import base64
import hashlib
import sys
import threading
import uuid
from array import array
from bisect import bisect_left
from collections.abc import Collection, Iterable, Mapping
from typing import Final

import msgspec

from dbt.adapters.vcs.core.codec import decode_record, encode_record
from dbt.adapters.vcs.core.errors import NotFoundError
from dbt.adapters.vcs.core.ids import Micros
from dbt.adapters.vcs.core.model.tree import Value
from dbt.adapters.vcs.core.store.blobs import Blobs

FOLDER: Final = "condemned"
"""Where the lists are: each file holds all that are not settled, and the last one counts."""

SETTLED: Final = Micros(30 * 24 * 3_600 * 1_000_000)
"""How old a list is when its names are free again: no request is on its way for a month."""


class CondemnedList(Value, frozen=True, kw_only=True):
    """What one collection condemned.

    Attributes:
        id: Random, to tell two lists apart.
        at: When it was written, by the store's time.
        names: The first 8 bytes of the SHA-256 of each path, sorted and joined, in base64. Another
            path with the same 8 bytes counts as condemned, too, which does no harm.
    """

    id: str
    at: Micros
    names: str


class CondemnedLists(Value, frozen=True, kw_only=True):
    """All lists that are not settled, the oldest first."""

    lists: tuple[CondemnedList, ...] = ()


class Condemned:
    """The lists of a repository, as they were when last read; safe to share between threads."""

    def __init__(self, blobs: Blobs) -> None:
        self._blobs = blobs
        self._lock = threading.Lock()
        self._number = 0
        self._lists = CondemnedLists()
        self._names: tuple[array[int], ...] = ()

    def __contains__(self, path: str) -> bool:
        """Return whether a path is on a list that is not settled."""
        names = self._names
        if not names:
            return False
        name = _number_of(path)
        return any(_has(each, name) for each in names)

    def refresh(self) -> bool:
        """Read what was condemned since the last look; return whether there is anything new.

        Costs one request if there is not.
        """
        with self._lock:
            is_new = False
            while True:
                later = self._blobs.next_after(_path(self._number))
                if later is None:
                    return is_new
                try:
                    data = self._blobs.get(later)
                except NotFoundError:
                    # A later one has taken its place meanwhile.
                    continue
                self._take(
                    int(later.rpartition("/")[2]), decode_record(CondemnedLists, data, later)
                )
                is_new = True

    def free(self, path: str) -> str:
        """Return the first name of a file that is not condemned: `<id>`, `<id>.1`, `<id>.2`."""
        name, number = path, 0
        while name in self:
            number += 1
            folder, _, last = path.rpartition("/")
            stem, dot, rest = last.partition(".")
            name = f"{folder}/{stem}.{number}{dot}{rest}"
        return name

    def is_gone(self, path: str) -> bool:
        """Return whether a file is condemned and hasn't been stored again under a free name."""
        return path in self and not self._blobs.exists(self.free(path))

    def store(self, files: Mapping[str, bytes]) -> set[str]:
        """Store files, or renew those that are there, each under a name that nobody deletes.

        What is young when a collection looks at it is kept. A list that was written before is
        seen here, since it is read after the files were stored.

        Returns:
            The names of those that were there.
        """
        names = {path: self.free(path) for path in files}
        there = self._blobs.create_all({name: files[path] for path, name in names.items()})
        while files and self.refresh():
            moved = {path: self.free(path) for path in files if names[path] in self}
            there |= self._blobs.create_all({name: files[path] for path, name in moved.items()})
            names |= moved
        return there

    def condemn(self, paths: Collection[str], now: Micros) -> str:
        """Write down what is about to be deleted; must be called before the first request.

        Args:
            paths: What is to be deleted.
            now: The time of the store; lists that are settled by then are left out.

        Returns:
            The id of the list.

        Raises:
            StorageError: The store failed, and nothing may be deleted.
        """
        new = CondemnedList(id=uuid.uuid4().hex, at=now, names=_encoded(map(_number_of, paths)))
        while True:
            self.refresh()
            kept = tuple(old for old in self._lists.lists if old.at > now - SETTLED)
            if self._follow(CondemnedLists(lists=(*kept, new))):
                return new.id

    def spare(self, id: str, paths: Collection[str]) -> None:
        """Take paths off a list, for which no request was sent after all.

        Only the collection that wrote the list can know that.
        """
        spared = {_number_of(path) for path in paths}
        while spared:
            self.refresh()
            lists = tuple(
                msgspec.structs.replace(old, names=_encoded(set(_decoded(old.names)) - spared))
                if old.id == id
                else old
                for old in self._lists.lists
            )
            if self._follow(CondemnedLists(lists=lists)):
                return

    def _follow(self, lists: CondemnedLists) -> bool:
        """Write the next file, and delete that before; False if another collection was first."""
        with self._lock:
            last = self._number
            if not self._blobs.create(_path(last + 1), encode_record(lists)):
                return False
            self._take(last + 1, lists)
        if last:
            # Numbers only grow, so a request that arrives late finds nothing of the name.
            self._blobs.delete(_path(last))
        return True

    def _take(self, number: int, lists: CondemnedLists) -> None:
        self._number, self._lists = number, lists
        self._names = tuple(_decoded(each.names) for each in lists.lists)


def _path(number: int) -> str:
    return f"{FOLDER}/{number:020d}"


def _number_of(path: str) -> int:
    return int.from_bytes(hashlib.sha256(path.encode()).digest()[:8], "big")


def _has(names: array[int], name: int) -> bool:
    at = bisect_left(names, name)
    return at < len(names) and names[at] == name


def _encoded(names: Iterable[int]) -> str:
    found = array("Q", sorted(set(names)))
    if sys.byteorder == "little":
        found.byteswap()
    return base64.b64encode(found.tobytes()).decode()


def _decoded(names: str) -> array[int]:
    found = array("Q", base64.b64decode(names))
    if sys.byteorder == "little":
        found.byteswap()
    return found
