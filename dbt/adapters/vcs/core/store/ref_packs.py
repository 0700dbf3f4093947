"""Packs: copies of the last moves of many refs in a few files, so that few requests read them.

An entry is a copy of a move's file. It is for one number, size, time and tag, as a listing showed
them before the file was read. Only a listing says which move is the last one of a log, and an
entry whose number or marks differ from what it shows isn't used: that ref is read by itself. So a
pack can be old, partial, lost, damaged, or written by two at once, and never shows a move that
isn't there (decision 52).

Moves hold texts that people wrote, so a purge deletes all packs.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Final, TypeAlias

import msgspec

from dbt.adapters.vcs.core.codec import decode_record, encode_record, pack, unpack
from dbt.adapters.vcs.core.errors import DamagedError, NotFoundError
from dbt.adapters.vcs.core.ids import CommitId, Micros
from dbt.adapters.vcs.core.model.tree import Value
from dbt.adapters.vcs.core.store.blobs import BlobInfo, Blobs

PACKED: Final = "packed"
"""Where packs are: a folder for each space."""

_ENTRIES: Final = 5_000
"""Refs in a file: 20 files for 100,000 refs, and the first names of a list cost only one."""

# Parts that are held at once. Refs are asked for in order of their names, and a part is in that
# of their folders' names: more than one may be in turn.
_HELD: Final = 4


Earlier: TypeAlias = tuple[tuple[Micros, CommitId | None], ...]
"""Time and commit of moves, the latest first."""


class PackedMove(Value, frozen=True, kw_only=True):
    """A copy of a move's file.

    Attributes:
        ref: The folder of the log, without those above it.
        seq: The number of the move.
        mark: What a listing showed of the file, as `mark_of` tells it.
        move: The bytes of the file.
        before: Time and commit of moves before it, the latest first: a collection asks for them.
    """

    ref: str
    seq: int
    mark: str
    move: msgspec.Raw
    before: Earlier = ()


class PackedMoves(Value, frozen=True, kw_only=True):
    """What a file of a pack holds, in order of `ref`."""

    refs: tuple[PackedMove, ...]


def mark_of(info: BlobInfo) -> str:
    """Return what changes when a file of a move is replaced."""
    return f"{info.bytes} {info.modified_at} {info.tag}"


class RefPack:
    """The pack of one space, of which parts are read when they are needed; not for threads."""

    def __init__(self, blobs: Blobs, folder: str) -> None:
        """Take the store and the folder of the pack."""
        self._blobs = blobs
        self._folder = folder
        self._firsts: list[str] | None = None
        self._parts: OrderedDict[str, Mapping[str, PackedMove]] = OrderedDict()

    def find(self, ref: str) -> PackedMove | None:
        """Return the entry of a ref, None if there is none."""
        if self._firsts is None:
            start = len(self._folder) + 1
            # Before all names of folders. Each part is called by the first name in it.
            later = self._blobs.later(f"{self._folder}/!")
            self._firsts = [path[start:] for path in later]
        place = bisect_right(self._firsts, ref)
        return self._part(self._firsts[place - 1]).get(ref) if place else None

    def _part(self, first: str) -> Mapping[str, PackedMove]:
        held = self._parts.get(first)
        if held is None:
            held = {entry.ref: entry for entry in _read(self._blobs, f"{self._folder}/{first}")}
            self._parts[first] = held
            if len(self._parts) > _HELD:
                self._parts.popitem(last=False)
        else:
            self._parts.move_to_end(first)
        return held


def write_pack(blobs: Blobs, folder: str, entries: Iterable[PackedMove]) -> None:
    """Put a pack in the place of the one that is there; `entries` are in order of `ref`."""
    rest = iter(entries)
    written: set[str] = set()
    while some := tuple(islice(rest, _ENTRIES)):
        data = pack(encode_record(PackedMoves(refs=some)))
        path = f"{folder}/{some[0].ref}"
        # Each entry counts by itself, so it doesn't matter that readers see old and new parts.
        blobs.replace_all({path: _digest(data) + b"\n" + data})
        written.add(path)
    for info in list(blobs.walk(folder)):
        if info.path not in written:
            blobs.delete(info.path)


def _read(blobs: Blobs, path: str) -> Iterator[PackedMove]:
    """Yield the entries of a part; none if it is gone or damaged, as all of them are copies."""
    try:
        digest, _, data = blobs.get(path).partition(b"\n")
        if digest == _digest(data):
            yield from decode_record(PackedMoves, unpack(data, path), path).refs
    except (NotFoundError, DamagedError):
        # Each ref is read by itself, and the next collection writes the part again.
        return


def _digest(data: bytes) -> bytes:
    return hashlib.sha256(data).hexdigest().encode()
