"""The mutable half: a ref is a gapless log of moves, and its last move is its state.

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
import os
import re
import threading
import uuid
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Final, NamedTuple, TypeAlias

import msgspec

from dbt.adapters.vcs.core.codec import decode_record, encode_record, pack, unpack
from dbt.adapters.vcs.core.errors import DamagedError, NotFoundError, StorageError
from dbt.adapters.vcs.core.ids import OBJECT_ID, CommitId, Micros
from dbt.adapters.vcs.core.model import Forwarding, RefMove
from dbt.adapters.vcs.core.store.blobs import (
    LATER,
    BlobInfo,
    Blobs,
    FolderEnd,
    check_write_once,
    each,
    next_after,
)
from dbt.adapters.vcs.core.store.branch_names import quote, unquote
from dbt.adapters.vcs.core.store.objects import has_object
from dbt.adapters.vcs.core.store.opening import HEADER_PATH
from dbt.adapters.vcs.core.store.ref_packs import (
    PACKED,
    Earlier,
    PackedMove,
    RefPack,
    mark_of,
    write_pack,
)

Space: TypeAlias = str
"""Folders below `refs/`: `heads`, `tags`, or `snapshots/<schema>/<identifier>`."""

PURGE: Final = "purge"
"""The action of a move to the same history without some rows."""

_AT_ONCE: Final = 1_000
"""Refs that are read together, once the first are there."""

_FIRST: Final = 64
"""Refs that are read first."""

_EARLIER: Final = 100
"""Moves of a log that are remembered, and packed, besides the last one."""

_FEW: Final = 8
"""Refs that are read one by one, as a listing and a pack take as many requests."""

# Factor of the gallop: short logs, the usual ones, take few probes.
_STRIDE = 4


class Ref(NamedTuple):
    """One move of a ref's log, `seq` counting from 1."""

    name: str
    seq: int
    move: RefMove


class RefPosition(NamedTuple):
    """The number of a move, its time, and where the ref was after it; None if it was deleted."""

    seq: int
    at: Micros
    commit: CommitId | None


class _Seen(NamedTuple):
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


class RefStore:
    """Refs in a blob store; safe to share between threads.

    Move n is the file `refs/<space>/<quoted name>/<n, 20 digits>`. A move is created only if
    absent and only after the one before it, and none is ever deleted: so "the file exists" is
    true up to the last move and false after it. The last move is found by one listing, and in a
    long log by bisection. What contradicts that is damage: a file after the end of a log, and a
    move that doesn't follow the one before it.
    """

    def __init__(self, blobs: Blobs) -> None:
        self._blobs = blobs
        self._lock = threading.Lock()
        self._seen: dict[tuple[Space, str], _Seen] = {}
        self._checked_by = 0
        self._forwards = Forwards(blobs)
        self._forwarded: dict[tuple[Space, str], int] = {}

    def read(self, space: Space, name: str) -> Ref | None:
        """Return the last move, even a deletion; None if the ref never existed.

        Raises:
            DamagedError: The last moves are not those that were written, or one is missing.
        """
        return self._last(space, name)

    def at(self, space: Space, name: str, seq: int) -> Ref:
        """Return one move; an earlier one than the last names what a purge replaced by its new id.

        Raises:
            DamagedError: There is no such move, or its file is damaged.
        """
        return Ref(name, seq, self._forward(space, seq, self._opened(space, name, seq)[0]))

    def peek(self, space: Space, name: str, seq: int) -> Ref | None:
        """Return one move, with one request; None if it hasn't been made.

        Raises:
            DamagedError: Its file is damaged.
        """
        path = _path(space, name, seq)
        try:
            data = self._blobs.get(path)
        except NotFoundError:
            return None
        return Ref(name, seq, _move_of(opened(data, path), name, path))

    def written_at(self, space: Space, ref: Ref) -> Micros:
        """Return when the store wrote a move, by its own time.

        Raises:
            DamagedError: The move's file is missing.
        """
        path = _path(space, ref.name, ref.seq)
        found = self._blobs.modified_at(path)
        if found is None:
            raise DamagedError(
                f"The file {path} is missing from {self._blobs.uri}. Restore it from a backup of "
                "the repository."
            )
        return found

    def check(self, space: Space, name: str | None = None) -> Iterator[str]:
        """Yield what is wrong with the logs of a space, or with one, a sentence each, by name.

        Each is read from the first file to the last. Nothing that this process remembers counts,
        and the last moves of those that are whole are remembered.
        """
        top = f"refs/{space}/"
        # One listing of all logs. It shows every stray file, where the bisection of a reader meets
        # only some.
        logs: dict[str, list[BlobInfo]] = {}
        for info in self._blobs.walk(top[:-1] if name is None else _folder(space, name)):
            folder, is_inside, _ = info.path[len(top) :].partition("/")
            if is_inside:
                logs.setdefault(folder, []).append(info)
        names = sorted(map(unquote, logs))
        for problem in each(lambda name: self._problem(space, name, logs[quote(name)]), names):
            if problem is not None:
                yield problem

    def _problem(self, space: Space, name: str, files: list[BlobInfo]) -> str | None:
        folder = _folder(space, name)
        before: tuple[str, bytes] | None = None
        found = sorted(files)
        for number, (path, *_) in enumerate(found, 1):
            # Logs have no gaps, so the n-th file has to be move n.
            if path != _move(folder, number):
                return _broken_log(folder, number, path)
            try:
                data = self._blobs.get(path)
                move = _move_of(opened(data, path), name, path)
                if before is not None:
                    check_follows(move, path, before[1], before[0], self._forwards.latest)
            except (DamagedError, NotFoundError) as error:
                return str(error)
            before = path, data
        if before is not None:
            self._remember(space, name, _Seen(len(found), before[1], mark_of(found[-1])))
        return None

    def before(self, space: Space, name: str, moment: Micros) -> Ref | None:
        """Return the last move made at a moment or before it; None if there is none.

        Relies on moves' times never decreasing, which every writer ensures.
        """
        last = self._last(space, name)
        low, high = 0, last.seq if last else 0
        while low < high:
            middle = (low + high + 1) // 2
            if self.at(space, name, middle).move.at <= moment:
                low = middle
            else:
                high = middle - 1
        return self.at(space, name, low) if low else None

    def advance(self, space: Space, move: RefMove, *, after: int) -> RefMove | None:
        """Make the move that follows move `after`, 0 being the start of the log.

        Returns the move as it is in the log now, sealed, even if the store reported otherwise
        because a request was repeated on the way; None if another move took the place.

        Raises:
            StorageError: The store failed, and the move is not in the log as far as can be seen;
                or it would write over the moves of others.
            DamagedError: There is no move `after`, or the log continues behind a gap.
        """
        self._check_store()
        # Checked against its digest: the new move carries that of these bytes for ever.
        before = self._opened(space, move.name, after)[1] if after else None
        new = sealed(move, before)
        folder = _folder(space, move.name)
        path, beyond = _move(folder, after + 1), _move(folder, after + 2)
        data = encode_record(new)
        # A file after a gap is a lost move, which writing in the gap would hide.
        # `beyond` is asked for first: the other order sees a gap if others make both in between.
        if self._blobs.exists(beyond) and not self._blobs.exists(path):
            raise DamagedError(_broken_log(folder, after + 1, beyond))
        try:
            created = self._blobs.create(path, data)
        except StorageError as error:
            created = self._landed_anyway(path, data, move.name, error)
        else:
            # A client that repeats a request finds the file that it wrote itself.
            created = created or self._blobs.get(path) == data
        if not created:
            return None
        if new.commit is None:
            self._forget(space, new.name)
        else:
            self._remember(space, new.name, _Seen(after + 1, data))
        return new

    def created(self, space: Space, ref: Ref) -> Ref:
        """Return the move that gave a ref its commit.

        Those after it only changed its state, or were a purge's.
        """
        while ref.move.action in ("state", PURGE) and ref.seq > 1:
            ref = self.at(space, ref.name, ref.seq - 1)
        return ref

    def log(self, space: Space, name: str) -> list[Ref]:
        """Return every move, newest first; empty if the ref never existed."""
        return list(self.moves(space, name))

    def moves(self, space: Space, name: str) -> Iterator[Ref]:
        """Yield every move, newest first, each read when it is yielded.

        Raises:
            DamagedError: A move is missing, was edited, or doesn't follow the one before it.
        """
        last = self._last(space, name)
        later: RefMove | None = None
        for seq in range(last.seq if last else 0, 0, -1):
            move, data = self._opened(space, name, seq)
            if later is not None:
                after, here = _path(space, name, seq + 1), _path(space, name, seq)
                check_follows(later, after, data, here, self._forwards.latest)
            later = move
            yield Ref(name, seq, self._forward(space, seq, move))

    def read_all(self, space: Space) -> list[Ref]:
        """Return the last move of every ref that ever existed, as `read_each` yields them."""
        return list(self.read_each(space))

    def read_each(
        self,
        space: Space,
        on_damage: Callable[[DamagedError], None] | None = None,
        names: Iterable[str] | None = None,
    ) -> Iterator[Ref]:
        """Yield the last move of every ref that ever existed, sorted by name.

        With `on_damage`, refs whose log is damaged are reported to it and skipped. With `names`,
        these refs are read, and nothing is listed.

        Raises:
            DamagedError: A log is damaged, and there is no `on_damage`.
        """
        wanted = self.names(space) if names is None else sorted(names)
        yield from _read_in_lots(
            wanted,
            lambda some: each(_caught(lambda name: self.read(space, name)), some),
            on_damage,
        )

    def read_listed(
        self,
        space: Space,
        on_damage: Callable[[DamagedError], None] | None = None,
        names: Iterable[str] | None = None,
        *,
        is_checked: bool = False,
    ) -> Iterator[Ref]:
        """Yield what `read_each` does, as one listing shows it, with few requests for many refs.

        A listing may be a moment old, and so may these moves, but for what this process has seen.

        Args:
            space: The space.
            on_damage: Called with what is damaged.
            names: The refs to read, if not all; those that the listing lacks are asked for.
            is_checked: Whether to check of each move that it follows the one before it, which
                takes another request if it is in no pack.

        Raises:
            DamagedError: A log is damaged, and there is no `on_damage`.
        """
        wanted = None if names is None else sorted(names)
        if wanted is not None and len(wanted) <= _FEW:
            yield from self.read_each(space, on_damage, wanted)
            return
        ends = {end.folder: end for end in self._blobs.ends(f"refs/{space}")}
        if wanted is None:
            wanted = sorted(map(unquote, ends))
        if is_checked:
            # After the listing, so it has the forwards of all that the listing shows.
            self._forwards.load()
        listed = _ListedRefs(self, space, ends, is_checked=is_checked)
        for ref in _read_in_lots(wanted, listed.read, on_damage):
            end = ends.get(quote(ref.name)) if is_checked else None
            if end is not None and end.blobs == ref.seq:
                self._forwarded[space, ref.name] = ref.seq
            yield ref

    def positions(
        self,
        space: Space,
        last: Ref,
        goes_on: Callable[[RefPosition], bool],
        on_damage: Callable[[DamagedError], None] | None = None,
    ) -> list[RefPosition]:
        """Return where a ref was, the latest first, up to where `goes_on` is false.

        With `on_damage`, a damaged move is reported to it and ends them.

        Raises:
            DamagedError: A move is damaged, and there is no `on_damage`.
        """
        known = self._remembered(space, last.name)
        is_known = known is not None and known.seq == last.seq
        before = known.before if known is not None and is_known else ()
        found = [RefPosition(last.seq, last.move.at, last.move.commit)]
        while found[-1].seq > 1 and goes_on(found[-1]):
            seq = found[-1].seq - 1
            if len(found) <= len(before):
                at, commit = before[len(found) - 1]
                found.append(
                    RefPosition(seq, at, commit and CommitId(self._forwards.current(commit)))
                )
                continue
            try:
                move = self.at(space, last.name, seq).move
            except DamagedError as error:
                if on_damage is None:
                    raise
                on_damage(error)
                break
            found.append(RefPosition(seq, move.at, move.commit))
        if known is not None and is_known and len(before) < len(found) - 1 <= _EARLIER:
            earlier = tuple((at, commit) for _, at, commit in found[1:])
            self._remember(space, last.name, known._replace(before=earlier, is_packed=False))
        return found

    def pack(self, space: Space) -> None:
        """Write down the last moves that `read_listed` and `check` have read, for all readers."""
        with self._lock:
            seen = {
                quote(name): found
                for (above, name), found in self._seen.items()
                if above == space and found.mark
            }
        # Also for a single one: a purge may have replaced the file that a late entry is a copy of.
        if len(seen) <= _FEW or all(found.is_packed for found in seen.values()):
            return
        entries = (
            PackedMove(
                ref=ref,
                seq=found.seq,
                mark=found.mark,
                move=msgspec.Raw(found.data),
                before=found.before,
            )
            for ref, found in sorted(seen.items())
        )
        write_pack(self._blobs, f"{PACKED}/{space}", entries)

    def spaces(self, above: Space) -> list[Space]:
        """Return the spaces two levels below one, sorted: one for each relation."""
        return [
            # Not unquoted: names of relations are `[a-z0-9_]+` (`tree_changes.check_name`).
            f"{above}/{schema}/{identifier}"
            for schema in self._blobs.folders(f"refs/{above}")
            for identifier in self._blobs.folders(f"refs/{above}/{schema}")
        ]

    def names(self, space: Space, prefix: str = "") -> list[str]:
        """Return the names of all refs that ever existed, sorted, including deleted ones.

        With a prefix, those that begin so. This may include one whose creation was not finished:
        it has no move yet.
        """
        folders = self._blobs.folders(f"refs/{space}")
        if prefix:
            # Before they are unquoted, which takes longer than the listing. With a letter behind
            # it, since dots by themselves are escaped, as are names that consist of them.
            starts = quote(f"{prefix}x")[:-1], quote(".")
            folders = [folder for folder in folders if folder.startswith(starts)]
        return sorted(name for name in map(unquote, folders) if name.startswith(prefix))

    def count(self, space: Space) -> int:
        """Return how many refs ever existed, as `names` lists them."""
        return len(self._blobs.folders(f"refs/{space}"))

    def _check_store(self) -> None:
        # Before the first move of each process, and not once for ever: an upgrade can change it.
        # A process id, not a flag: a fork copies this object, and each process has to ask.
        if self._checked_by == os.getpid():
            return
        # It never changes, so a store that writes over it does no harm.
        # A repository that is being created has no header yet, and probes in its own way.
        with suppress(NotFoundError):
            check_write_once(self._blobs, HEADER_PATH, self._blobs.get(HEADER_PATH))
            self._checked_by = os.getpid()

    def _landed_anyway(self, path: str, data: bytes, name: str, error: StorageError) -> bool:
        """Return whether a failed put landed after all; False if another move is there."""
        try:
            return self._blobs.get(path) == data
        except NotFoundError:
            # The request may still arrive. What lands then is a whole commit, so no harm is done.
            raise error from None
        except StorageError as second:
            raise StorageError(
                f"It is not known whether the move of {name!r} landed: {error} Reading it back "
                f"failed too: {second} Read the branch before trying again."
            ) from error

    def _last(self, space: Space, name: str) -> Ref | None:
        """Return the last move, looked for from the one that this process knows."""
        known = self._remembered(space, name)
        start = known.seq if known else 0
        last = self._end(_folder(space, name), start)
        if known is not None and last == start:
            # Its digest was checked before it was remembered.
            return Ref(name, last, decode_record(RefMove, known.data, _path(space, name, last)))
        if last == 0:
            return None
        move, data = self._opened(space, name, last)
        if last > 1:
            # A log that grew by one, the usual case, needs no second read.
            is_next = known is not None and last == start + 1
            before = known.data if known and is_next else self._bytes_of(space, name, last - 1)
            paths = _path(space, name, last), _path(space, name, last - 1)
            check_follows(move, paths[0], before, paths[1], self._forwards.latest)
        if move.commit is not None:
            self._remember(space, name, _Seen(last, data))
        return Ref(name, last, move)

    def _end(self, folder: str, known: int) -> int:
        """Return the number of the last move, at or after a known one.

        Raises:
            DamagedError: A file is behind the end: a move is missing, or the file is no move.
        """
        # One request shows most logs as a whole. It may show them as they were a moment ago, so
        # the store is asked for the next move in any case.
        listed = [] if known else self._blobs.later(f"{folder}/0")
        shown = known or _unbroken(folder, listed)
        low = self._bisected(folder, shown)
        if known and low == known:
            return low
        # Whoever comes to a log looks behind its end once; after that it grows by one.
        if not known and low == shown and len(listed) < LATER:
            behind = next((path for path in listed if path > _move(folder, low)), None)
        else:
            behind = next_after(self._blobs, _move(folder, low))
        while behind is not None:
            # Others may have moved the ref meanwhile; only a gap is damage.
            if not self._exists(folder, low + 1):
                raise DamagedError(_broken_log(folder, low + 1, behind))
            low = self._bisected(folder, low)
            behind = next_after(self._blobs, _move(folder, low))
        return low

    def _bisected(self, folder: str, known: int) -> int:
        # Gallop to a number that isn't there, then halve. Both rely on logs without gaps.
        low, step = known, 1
        while self._exists(folder, low + step):
            low, step = low + step, step * _STRIDE
        high = low + step
        while high - low > 1:
            middle = (low + high) // 2
            if self._exists(folder, middle):
                low = middle
            else:
                high = middle
        return low

    def _exists(self, folder: str, seq: int) -> bool:
        return self._blobs.exists(_move(folder, seq))

    def rewritten(self, start: str) -> str | None:
        """Return the commit that took the place of the one whose id starts so, None if none did.

        Nothing is returned for the start of several.
        """
        self._forwards.load()
        found = [id for id in self._forwards.old("commit") if id.startswith(start)]
        return self._forwards.of(found[0]) if len(found) == 1 else None

    def _forward(self, space: Space, seq: int, move: RefMove) -> RefMove:
        """Return an earlier move with the new ids of what was rewritten since."""
        known = self._remembered(space, move.name)
        last = known.seq if known else 0
        if seq == last:
            return move
        # A purge moves what it rewrites, so only a longer log can have other forwards.
        if self._forwarded.get((space, move.name)) != last:
            self._forwards.load()
            self._forwarded[space, move.name] = last
        return self._forwards.applied(move)

    def _opened(self, space: Space, name: str, seq: int) -> tuple[RefMove, bytes]:
        data = self._bytes_of(space, name, seq)
        path = _path(space, name, seq)
        return _move_of(opened(data, path), name, path), data

    def _bytes_of(self, space: Space, name: str, seq: int) -> bytes:
        known = self._remembered(space, name)
        if known is not None and known.seq == seq:
            return known.data
        path = _path(space, name, seq)
        try:
            return self._blobs.get(path)
        except NotFoundError as error:
            raise DamagedError(
                f"Move {seq} of {name!r} is missing from {self._blobs.uri} (expected the file "
                f"{path}). Restore it from a backup of the repository."
            ) from error

    def _remembered(self, space: Space, name: str) -> _Seen | None:
        with self._lock:
            return self._seen.get((space, name))

    def _forget(self, space: Space, name: str) -> None:
        """Forget a deleted ref: who makes a branch for each job would know ever more of them."""
        with self._lock:
            self._seen.pop((space, name), None)
            self._forwarded.pop((space, name), None)

    def _remember(self, space: Space, name: str, seen: _Seen) -> None:
        with self._lock:
            old = self._seen.get((space, name))
            # Threads end in any order, and what is known of a log never goes back. A file that
            # was replaced has another mark.
            if old is None or old.seq < seen.seq or (old.seq == seen.seq and seen.mark):
                self._seen[space, name] = seen


class _Shown(NamedTuple):
    """The last move of a log as a listing shows it: its folder's name, file, number, marks."""

    ref: str
    path: str
    seq: int
    mark: str


class _ListedRefs:
    """The refs of one space as a listing showed them."""

    def __init__(
        self, refs: RefStore, space: Space, ends: Mapping[str, FolderEnd], *, is_checked: bool
    ) -> None:
        self._refs = refs
        self._space = space
        self._ends = ends
        self._is_checked = is_checked
        self._pack = RefPack(refs._blobs, f"{PACKED}/{space}")

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
        if len(waiting) > _FEW:
            for name, (shown, _) in list(waiting.items()):
                packed = None if shown is None else self._pack.find(shown.ref)
                if shown and packed and (packed.seq, packed.mark) == (shown.seq, shown.mark):
                    data = bytes(packed.move)
                    seen = _Seen(packed.seq, data, packed.mark, True, packed.before)
                    self._refs._remember(self._space, name, seen)
                    found[name] = _ref(name, seen, shown.path)
                    del waiting[name]
                else:
                    waiting[name] = shown, packed
        read = _caught(lambda name: self._read(name, *waiting[name]))
        found.update(zip(waiting, each(read, waiting), strict=True))
        return [found[name] for name in names]

    def _shown(self, name: str) -> _Shown | None:
        """Return the last move; None if the listing doesn't tell."""
        ref = quote(name)
        end = self._ends.get(ref)
        # A log that isn't numbered from 1 without gaps is damaged: whoever reads it by itself
        # says how.
        if end is None or end.blobs is None:
            return None
        path = _move(f"refs/{self._space}/{ref}", end.blobs)
        return _Shown(ref, path, end.blobs, mark_of(end.last)) if path == end.last.path else None

    def _known(self, name: str, shown: _Shown) -> Ref | None:
        known = self._refs._remembered(self._space, name)
        if known is None or known.seq < shown.seq:
            return None
        # Without a mark it was read or written when no listing had shown it, and only what is read
        # after a listing can be packed.
        marks = (shown.mark,) if self._is_checked else (shown.mark, "")
        if known.seq == shown.seq and known.mark not in marks:
            return None
        return _ref(name, known, _path(self._space, name, known.seq))

    def _read(self, name: str, shown: _Shown | None, packed: PackedMove | None) -> Ref | None:
        if shown is None:
            return self._refs.read(self._space, name)
        seq, path = shown.seq, shown.path
        try:
            data = self._refs._blobs.get(path)
        except NotFoundError:
            # Repairs and collections take files away.
            return self._refs.read(self._space, name)
        move = _move_of(opened(data, path), name, path)
        before, earlier = self._before(name, seq, packed)
        if before:
            behind = _path(self._space, name, seq - 1)
            check_follows(move, path, before, behind, self._refs._forwards.latest)
            one = decode_record(RefMove, before, behind)
            earlier = ((one.at, one.commit), *earlier)[:_EARLIER]
        if before or seq == 1:
            self._refs._remember(self._space, name, _Seen(seq, data, shown.mark, False, earlier))
        return Ref(name, seq, move)

    def _before(self, name: str, seq: int, packed: PackedMove | None) -> tuple[bytes, Earlier]:
        """Return the file of the move before the last, if it is known or has to be read.

        Also what is known of those before it.
        """
        known = self._refs._remembered(self._space, name)
        if known is not None and known.seq == seq - 1:
            return known.data, known.before
        if packed is not None and packed.seq == seq - 1:
            return bytes(packed.move), packed.before
        if seq == 1 or not self._is_checked:
            return b"", ()
        return self._refs._bytes_of(self._space, name, seq - 1), ()


def _ref(name: str, seen: _Seen, path: str) -> Ref:
    return Ref(name, seen.seq, _move_of(decode_record(RefMove, seen.data, path), name, path))


def _caught(
    read: Callable[[str], Ref | None],
) -> Callable[[str], Ref | DamagedError | None]:
    """Return errors: `each` would raise the first one and drop all other logs."""

    def call(name: str) -> Ref | DamagedError | None:
        try:
            return read(name)
        except DamagedError as error:
            return error

    return call


def _read_in_lots(
    names: Sequence[str],
    read: Callable[[Sequence[str]], Iterable[Ref | DamagedError | None]],
    on_damage: Callable[[DamagedError], None] | None,
) -> Iterator[Ref]:
    # Whoever wants little of each of many refs needs little memory, and the first are there early.
    start, size = 0, _FIRST
    while start < len(names):
        for ref in read(names[start : start + size]):
            if isinstance(ref, DamagedError):
                if on_damage is None:
                    raise ref
                on_damage(ref)
            elif ref is not None:
                yield ref
        start, size = start + size, min(2 * size, _AT_ONCE)


def _move_of(move: RefMove, name: str, path: str) -> RefMove:
    if move.name != name:
        raise DamagedError(
            f"The file {path} belongs to the ref {move.name!r}; expected {name!r}. "
            "Restore it from a backup of the repository."
        )
    return move


def _broken_log(folder: str, seq: int, found: str) -> str:
    """Return what to say of a log in which another file comes where a move should."""
    return (
        f"The log {folder} is broken: the file {found} comes where move {seq} should. If moves "
        "are missing, restore them from a backup of the repository; a file that is none of the "
        "repository's can be moved away."
    )


def _unbroken(folder: str, listed: Iterable[str]) -> int:
    """Return how many moves a listing shows without a gap, from the first one."""
    count = 0
    for path in listed:
        count += path == _move(folder, count + 1)
    return count


def _path(space: Space, name: str, seq: int) -> str:
    return _move(_folder(space, name), seq)


def _folder(space: Space, name: str) -> str:
    return f"refs/{space}/{quote(name)}"


def _move(folder: str, seq: int) -> str:
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
        self._kinds: dict[str, set[str]] = {}

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

    def old(self, kind: str) -> Collection[str]:
        """Return the ids of one kind that were replaced: `commit`, `tree`, ..., `move`."""
        return frozenset(self._kinds.get(kind, ()))

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
        kinds = {
            "commit": rewritten.commits,
            "tree": rewritten.trees,
            "snapshot": rewritten.snapshots,
            "segment": rewritten.segments,
            "move": rewritten.moves,
        }
        with self._lock:
            self._read.add(path)
            for kind, ids in kinds.items():
                self._next.update(ids)
                self._kinds.setdefault(kind, set()).update(ids)
