"""The mutable half: a ref is a gapless log of moves, and its last move is its state."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple, TypeAlias

from dbt.adapters.vcs.core.codec import decode_record, encode_record
from dbt.adapters.vcs.core.errors import DamagedError, NotFoundError, StorageError
from dbt.adapters.vcs.core.ids import Micros
from dbt.adapters.vcs.core.model import RefMove
from dbt.adapters.vcs.core.store.blobs import Blobs
from dbt.adapters.vcs.core.store.branch_names import quote, unquote

Space: TypeAlias = str
"""Folders below `refs/`: `heads`, `tags`, or `snapshots/<schema>/<identifier>`."""

_STRIDE = 4
"""Factor of the gallop: short logs, the usual ones, take few probes."""


_MANY = 8
_READERS = 16


class Ref(NamedTuple):
    """One move of a ref's log, `seq` counting from 1."""

    name: str
    seq: int
    move: RefMove


class RefStore:
    """Refs in a blob store; safe to share between threads.

    Move n is the file `refs/<space>/<quoted name>/<n, 20 digits>`. A move is created only if
    absent and only after the one before it, and none is ever deleted: so "the file exists" is
    true up to the last move and false after it, and the last move is found by bisection.
    """

    def __init__(self, blobs: Blobs) -> None:
        self._blobs = blobs
        self._lock = threading.Lock()
        self._seen: dict[tuple[Space, str], int] = {}

    def read(self, space: Space, name: str) -> Ref | None:
        """Return the last move, even a deletion; None if the ref never existed."""
        last = self._last(space, name)
        return self.at(space, name, last) if last else None

    def at(self, space: Space, name: str, seq: int) -> Ref:
        """Return one move.

        Raises:
            DamagedError: There is no such move, or its file is damaged.
        """
        path = _path(space, name, seq)
        try:
            data = self._blobs.get(path)
        except NotFoundError as error:
            raise DamagedError(
                f"Move {seq} of {name!r} is missing from {self._blobs.uri} (expected the file "
                f"{path}). Restore it from a backup of the repository."
            ) from error
        move = decode_record(RefMove, data, path)
        if move.name != name:
            raise DamagedError(
                f"The file {path} belongs to the ref {move.name!r}; expected {name!r}. "
                "Restore it from a backup of the repository."
            )
        return Ref(name, seq, move)

    def before(self, space: Space, name: str, moment: Micros) -> Ref | None:
        """Return the last move made at a moment or before it; None if there is none.

        Relies on moves' times never decreasing, which every writer ensures.
        """
        low, high = 0, self._last(space, name)
        while low < high:
            middle = (low + high + 1) // 2
            if self.at(space, name, middle).move.at <= moment:
                low = middle
            else:
                high = middle - 1
        return self.at(space, name, low) if low else None

    def advance(self, space: Space, move: RefMove, *, after: int) -> bool:
        """Make the move that follows move `after`, 0 being the start of the log.

        Returns True if the move is in the log now, even if the store reported otherwise because a
        request was repeated on the way; False if another move took the place.

        Raises:
            StorageError: The store failed, and the move is not in the log as far as can be seen.
            DamagedError: There is no move `after`.
        """
        if after and self._remembered(space, move.name) < after:
            self.at(space, move.name, after)
        path = _path(space, move.name, after + 1)
        data = encode_record(move)
        try:
            created = self._blobs.create(path, data)
        except StorageError as error:
            created = self._landed_anyway(path, data, move.name, error)
        else:
            created = created or self._blobs.get(path) == data
        if created:
            self._remember(space, move.name, after + 1)
        return created

    def log(self, space: Space, name: str) -> list[Ref]:
        """Return every move, newest first; empty if the ref never existed."""
        return [self.at(space, name, seq) for seq in range(self._last(space, name), 0, -1)]

    def read_all(self, space: Space) -> list[Ref]:
        """Return the last move of every ref that ever existed, sorted by name."""
        names = self.names(space)
        if len(names) < _MANY:
            found = [self.read(space, name) for name in names]
        else:
            # Mostly waiting, on an object store: many at once take as long as one.
            with ThreadPoolExecutor(_READERS) as pool:
                found = list(pool.map(lambda name: self.read(space, name), names))
        return [ref for ref in found if ref is not None]

    def spaces(self, above: Space) -> list[Space]:
        """Return the spaces two levels below one, sorted: one for each relation."""
        return [
            f"{above}/{schema}/{identifier}"
            for schema in self._blobs.folders(f"refs/{above}")
            for identifier in self._blobs.folders(f"refs/{above}/{schema}")
        ]

    def names(self, space: Space) -> list[str]:
        """Return the names of all refs that ever existed, sorted, including deleted ones.

        This may include one whose creation was not finished: it has no move yet.
        """
        return sorted(unquote(folder) for folder in self._blobs.folders(f"refs/{space}"))

    def _landed_anyway(self, path: str, data: bytes, name: str, error: StorageError) -> bool:
        """Return whether a failed put landed after all; False if another move is there."""
        try:
            return self._blobs.get(path) == data
        except NotFoundError:
            raise error from None
        except StorageError as second:
            raise StorageError(
                f"It is not known whether the move of {name!r} landed: {error} Reading it back "
                f"failed too: {second} Read the branch before trying again."
            ) from error

    def _last(self, space: Space, name: str) -> int:
        known = self._remembered(space, name)
        low, step = known, 1
        folder = _folder(space, name)
        while self._exists(folder, low + step):
            low, step = low + step, step * _STRIDE
        high = low + step
        while high - low > 1:
            middle = (low + high) // 2
            if self._exists(folder, middle):
                low = middle
            else:
                high = middle
        self._remember(space, name, low)
        return low

    def _exists(self, folder: str, seq: int) -> bool:
        return self._blobs.exists(_move(folder, seq))

    def _remembered(self, space: Space, name: str) -> int:
        with self._lock:
            return self._seen.get((space, name), 0)

    def _remember(self, space: Space, name: str, seq: int) -> None:
        with self._lock:
            self._seen[space, name] = max(seq, self._seen.get((space, name), 0))


def _path(space: Space, name: str, seq: int) -> str:
    return _move(_folder(space, name), seq)


def _folder(space: Space, name: str) -> str:
    return f"refs/{space}/{quote(name)}"


def _move(folder: str, seq: int) -> str:
    return f"{folder}/{seq:020d}"
