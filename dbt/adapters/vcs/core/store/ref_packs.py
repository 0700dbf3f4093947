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
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Final, NamedTuple

import msgspec

from dbt.adapters.vcs.core.codec import decode_record, encode_record, pack, unpack
from dbt.adapters.vcs.core.errors import DamagedError, NotFoundError
from dbt.adapters.vcs.core.model import RefMove
from dbt.adapters.vcs.core.model.tree import Value
from dbt.adapters.vcs.core.store.blobs import BlobInfo, Blobs, FolderEnd, caught, each
from dbt.adapters.vcs.core.store.branch_names import quote
from dbt.adapters.vcs.core.store.moves import (
    Earlier,
    Forwards,
    Ref,
    SeenMove,
    SeenMoves,
    Space,
    check_follows,
    move_of,
    move_path,
    opened,
    path_in_log,
)

EARLIER: Final = 100
"""Moves of a log that are remembered, and packed, besides the last one."""

FEW: Final = 8
"""Refs that are read one by one, as a listing and a pack take as many requests."""

PACKED: Final = "packed"
"""Where packs are: a folder for each space."""

_ENTRIES: Final = 5_000
"""Refs in a file: 20 files for 100,000 refs, and the first names of a list cost only one."""

# Parts that are held at once. Refs are asked for in order of their names, and a part is in that
# of their folders' names: more than one may be in turn.
_HELD: Final = 4


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


class _Shown(NamedTuple):
    """The last move of a log as a listing shows it: its folder's name, file, number, marks."""

    ref: str
    path: str
    seq: int
    mark: str


class ListedRefs:
    """The refs of one space as a listing showed them."""

    def __init__(  # noqa: PLR0913
        self,
        blobs: Blobs,
        space: Space,
        ends: Mapping[str, FolderEnd],
        *,
        seen: SeenMoves,
        forwards: Forwards,
        read: Callable[[str], Ref | None],
        bytes_of: Callable[[str, int], bytes],
        is_checked: bool,
    ) -> None:
        """Take the ends of all logs of a space.

        `read` returns the last move of one ref as the store has it now, and `bytes_of` the file of
        one move. With `is_checked` each move is checked to follow the one before it.
        """
        self._blobs = blobs
        self._space = space
        self._ends = ends
        self._seen = seen
        self._forwards = forwards
        self._read_one = read
        self._bytes_of = bytes_of
        self._is_checked = is_checked
        self._pack = RefPack(blobs, f"{PACKED}/{space}")

    def read(self, names: Sequence[str]) -> list[Ref | DamagedError | None]:
        """Return the last moves of some refs, in the order of the names."""
        found: dict[str, Ref | DamagedError | None] = {}
        waiting: dict[str, tuple[_Shown | None, PackedMove | None]] = {}
        for name in names:
            shown = self._shown(name)
            known = None if shown is None else self._known(name, shown)
            if known is None:
                waiting[name] = shown, None
            else:
                found[name] = known
        if len(waiting) > FEW:
            for name, (shown, _) in list(waiting.items()):
                packed = None if shown is None else self._pack.find(shown.ref)
                if shown and packed and (packed.seq, packed.mark) == (shown.seq, shown.mark):
                    data = bytes(packed.move)
                    seen = SeenMove(packed.seq, data, packed.mark, True, packed.before)
                    self._seen.put(self._space, name, seen)
                    found[name] = _ref(name, seen, shown.path)
                    del waiting[name]
                else:
                    waiting[name] = shown, packed

        def read(name: str) -> Ref | None:
            return self._read(name, *waiting[name])

        found.update(zip(waiting, each(caught(read), waiting), strict=True))
        return [found[name] for name in names]

    def _shown(self, name: str) -> _Shown | None:
        """Return the last move; None if the listing doesn't tell."""
        ref = quote(name)
        end = self._ends.get(ref)
        # A log that isn't numbered from 1 without gaps is damaged: whoever reads it by itself
        # says how.
        if end is None or end.blobs is None:
            return None
        path = path_in_log(f"refs/{self._space}/{ref}", end.blobs)
        return _Shown(ref, path, end.blobs, mark_of(end.last)) if path == end.last.path else None

    def _known(self, name: str, shown: _Shown) -> Ref | None:
        known = self._seen.get(self._space, name)
        if known is None or known.seq < shown.seq:
            return None
        # Without a mark it was read or written when no listing had shown it, and only what is read
        # after a listing can be packed.
        marks = (shown.mark,) if self._is_checked else (shown.mark, "")
        if known.seq == shown.seq and known.mark not in marks:
            return None
        return _ref(name, known, move_path(self._space, name, known.seq))

    def _read(self, name: str, shown: _Shown | None, packed: PackedMove | None) -> Ref | None:
        if shown is None:
            return self._read_one(name)
        seq, path = shown.seq, shown.path
        try:
            data = self._blobs.get(path)
        except NotFoundError:
            # Repairs and collections take files away.
            return self._read_one(name)
        move = move_of(opened(data, path), name, path)
        before, earlier = self._before(name, seq, packed)
        if before:
            behind = move_path(self._space, name, seq - 1)
            check_follows(move, path, before, behind, self._forwards.latest)
            one = decode_record(RefMove, before, behind)
            earlier = ((one.at, one.commit), *earlier)[:EARLIER]
        if before or seq == 1:
            self._seen.put(self._space, name, SeenMove(seq, data, shown.mark, False, earlier))
        return Ref(name, seq, move)

    def _before(self, name: str, seq: int, packed: PackedMove | None) -> tuple[bytes, Earlier]:
        """Return the file of the move before the last, if it is known or has to be read.

        Also what is known of those before it.
        """
        known = self._seen.get(self._space, name)
        if known is not None and known.seq == seq - 1:
            return known.data, known.before
        if packed is not None and packed.seq == seq - 1:
            return bytes(packed.move), packed.before
        if seq == 1 or not self._is_checked:
            return b"", ()
        return self._bytes_of(name, seq - 1), ()


def _ref(name: str, seen: SeenMove, path: str) -> Ref:
    return Ref(name, seen.seq, move_of(decode_record(RefMove, seen.data, path), name, path))
