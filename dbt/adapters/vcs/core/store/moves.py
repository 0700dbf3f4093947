"""Moves: the files of a ref's log, how each seals the one before it, and forwards.

Chain: each move is sealed with its own digest and that of the move before. So a move that was
edited, taken away or put in between is noticed by whoever reads it or the next one. Where a purge
redacted the free text of a move, its old digest leads to the new one. Logs that earlier versions
began have moves without digests, up to the first one that has one.

Forwards: a purge changes the ids of commits, and earlier moves of logs go on naming the old ones.
Files in `rewritten/` tell the new ids, and hold nothing but ids. They are written before any ref
moves, so whoever completes a purge that died uses the same ids. A forward counts once the old
object is gone, so those of a purge that was undone change nothing.
"""

from __future__ import annotations

import hashlib
import re
import threading
import uuid
from collections.abc import Callable, Collection
from typing import Final, NamedTuple, TypeAlias

import msgspec

from dbt.adapters.vcs.core.codec import decode_record, encode_record, pack, unpack
from dbt.adapters.vcs.core.errors import DamagedError
from dbt.adapters.vcs.core.ids import OBJECT_ID, CommitId, Micros
from dbt.adapters.vcs.core.model import Forwarding, RefMove
from dbt.adapters.vcs.core.store.blobs import Blobs
from dbt.adapters.vcs.core.store.branch_names import quote
from dbt.adapters.vcs.core.store.objects import has_object

Space: TypeAlias = str
"""Folders below `refs/`: `heads`, `tags`, or `snapshots/<schema>/<identifier>`."""

PURGE: Final = "purge"
"""The action of a move to the same history without some rows."""


class Ref(NamedTuple):
    """One move of a ref's log, `seq` counting from 1."""

    name: str
    seq: int
    move: RefMove


Earlier: TypeAlias = tuple[tuple[Micros, CommitId | None], ...]
"""Time and commit of moves, the latest first."""


class SeenMove(NamedTuple):
    """The number of the last move that this process has seen, and the bytes of its file.

    `mark` is what a listing showed of the file before it was read, empty if none did. `before` is
    what is known of the moves before it.
    """

    seq: int
    # Not the move, which takes three times the memory. The next one carries their digest.
    data: bytes
    mark: str = ""
    is_packed: bool = False
    before: Earlier = ()


class SeenMoves:
    """The last moves that this process has seen, by space and name; safe to share."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seen: dict[tuple[Space, str], SeenMove] = {}

    def get(self, space: Space, name: str) -> SeenMove | None:
        """Return what is known of a ref; None if nothing is."""
        with self._lock:
            return self._seen.get((space, name))

    def of(self, space: Space) -> dict[str, SeenMove]:
        """Return what is known of the refs of a space, by name."""
        with self._lock:
            return {name: found for (above, name), found in self._seen.items() if above == space}

    def forget(self, space: Space, name: str) -> None:
        """Forget a deleted ref: who makes a branch for each job would know ever more of them."""
        with self._lock:
            self._seen.pop((space, name), None)

    def put(self, space: Space, name: str, seen: SeenMove) -> None:
        """Remember what was seen of a ref."""
        with self._lock:
            old = self._seen.get((space, name))
            # Threads end in any order, and what is known of a log never goes back. A file that
            # was replaced has another mark.
            if old is None or old.seq < seen.seq or (old.seq == seen.seq and seen.mark):
                self._seen[space, name] = seen


def move_of(move: RefMove, name: str, path: str) -> RefMove:
    """Return the move of a file if it is of the ref.

    Raises:
        DamagedError: It is of another one.
    """
    if move.name != name:
        raise DamagedError(
            f"The file {path} belongs to the ref {move.name!r}; expected {name!r}. "
            "Restore it from a backup of the repository."
        )
    return move


def broken_log(folder: str, seq: int, found: str) -> str:
    """Return what to say of a log in which another file comes where a move should."""
    return (
        f"The log {folder} is broken: the file {found} comes where move {seq} should. If moves "
        "are missing, restore them from a backup of the repository; a file that is none of the "
        "repository's can be moved away."
    )


def move_path(space: Space, name: str, seq: int) -> str:
    """Return the file of a move of a ref."""
    return path_in_log(log_folder(space, name), seq)


def log_folder(space: Space, name: str) -> str:
    """Return the folder of a ref's log."""
    return f"refs/{space}/{quote(name)}"


def path_in_log(folder: str, seq: int) -> str:
    """Return the file of a move in a log's folder."""
    # Padded, since `later` relies on names being in the order of the numbers.
    return f"{folder}/{seq:020d}"


# Keys are sorted, without white space, and some always come after this one.
_SEAL: Final = re.compile(rb'"digest":"([0-9a-f]{64})",')


def sealed(move: RefMove, before: bytes | None) -> RefMove:
    """Return a move with its digests; `before` is the file of the move before it."""
    previous = "" if before is None else digest_of(before)
    return _with_digest(msgspec.structs.replace(move, previous=previous))


def redacted(move: RefMove, change: Callable[[str], str]) -> RefMove:
    """Return a move with other free text, which follows the same move; itself if it has none."""
    state = {key: change(value) for key, value in move.state.items()}
    new = msgspec.structs.replace(move, note=change(move.note), state=state)
    if new == move:
        return move
    # A seal on a move of an earlier version would break the chain: its successor names none.
    return _with_digest(new) if move.digest else new


def digest_of(data: bytes) -> str:
    """Return the digest by which the next move knows the file of a move."""
    return hashlib.sha256(data).hexdigest()


def _with_digest(move: RefMove) -> RefMove:
    # A field at its default isn't encoded, so `opened` gets the same bytes by cutting it out.
    bare = msgspec.structs.replace(move, digest="")
    return msgspec.structs.replace(bare, digest=digest_of(encode_record(bare)))


def opened(data: bytes, path: str) -> RefMove:
    """Return the move that a file holds.

    Raises:
        DamagedError: It doesn't parse, or its bytes are not those that were written.
    """
    move = decode_record(RefMove, data, path)
    if move.digest:
        # Of the bytes, not of the value: a later version's keys count, too.
        bare, count = _SEAL.subn(b"", data)
        if count != 1 or digest_of(bare) != move.digest:
            raise DamagedError(
                f"The file {path} was changed after it was written: its digest is another one. "
                "Restore it from a backup of the repository."
            )
    return move


def check_follows(
    move: RefMove, path: str, before: bytes, before_path: str, now: Callable[[str], str]
) -> None:
    """Check that a move was written after the move in another file, which is a whole one.

    Args:
        move: The move.
        path: Its file.
        before: The bytes of the other file.
        before_path: That file.
        now: Returns the digest of the file that took the place of the one with a digest.

    Raises:
        DamagedError: It wasn't: one of the two was replaced.
    """
    # Only moves of earlier versions lack a digest, and none of them comes after a sealed one.
    earlier = opened(before, before_path)
    is_first_sealed = not earlier.digest
    if not move.digest and is_first_sealed:
        return
    if not is_same_file(move.previous, digest_of(before), now):
        raise DamagedError(
            f"The file {path} doesn't follow {before_path}: it was written after another one. One "
            "of them was replaced. Restore both from a backup of the repository."
        )


def is_same_file(one: str, other: str, now: Callable[[str], str]) -> bool:
    """Return whether two digests are those of a move's file, before it was redacted or after."""
    # Equality first: `now` lists the store.
    return one == other or now(one) == now(other)


FORWARDS: Final = "rewritten"
"""Where the files are."""


class Forwards:
    """All forwards of a repository, as far as they were loaded; safe to share between threads."""

    def __init__(self, blobs: Blobs) -> None:
        self._blobs = blobs
        self._lock = threading.Lock()
        self._read: set[str] = set()
        self._next: dict[str, str] = {}
        self._commits: set[str] = set()

    def load(self) -> None:
        """Read the files that are new.

        Raises:
            DamagedError: One of them doesn't parse.
        """
        for info in list(self._blobs.walk(FORWARDS)):
            if info.path not in self._read:
                data = unpack(self._blobs.get(info.path), info.path)
                self._add(info.path, decode_record(Forwarding, data, info.path))

    def put(self, rewritten: Forwarding) -> str:
        """Store forwards, and return their file; the new objects must be stored already."""
        path = f"{FORWARDS}/{uuid.uuid4().hex}"
        self._blobs.create(path, pack(encode_record(rewritten)))
        self._add(path, rewritten)
        return path

    def of(self, id: str) -> str:
        """Return what took an object's place at last; itself if nothing did."""
        # Several purges may have rewritten it, one after the other.
        while id in self._next:
            id = self._next[id]
        return id

    def latest(self, id: str) -> str:
        """Return what took an object's place at last, as far as the store tells now."""
        self.load()
        return self.of(id)

    def old_commits(self) -> Collection[str]:
        """Return the ids of the commits that were replaced."""
        return frozenset(self._commits)

    def applied(self, move: RefMove) -> RefMove:
        """Return a move with the new ids of what it names and what is gone."""
        if not self._next:
            return move
        commit = None if move.commit is None else CommitId(self.current(move.commit))
        state = {
            key: OBJECT_ID.sub(lambda found: self.current(found[0]), value)
            for key, value in move.state.items()
        }
        plans = {name: self.current(id) for name, id in move.plans.items()}
        return msgspec.structs.replace(move, commit=commit, state=state, plans=plans)

    def current(self, id: str) -> str:
        """Return what took an object's place, once the old object is gone; else itself."""
        if id not in self._next:
            return id
        # While the old object is there, the purge may still be undone.
        is_there = any(has_object(self._blobs, kind, id) for kind in ("commit", "snapshot"))
        return id if is_there else self.of(id)

    def _add(self, path: str, rewritten: Forwarding) -> None:
        with self._lock:
            self._read.add(path)
            self._commits.update(rewritten.commits)
            for ids in msgspec.structs.astuple(rewritten):
                self._next.update(ids)
