"""The mutable half: a ref is a gapless log of moves, and its last move is its state."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import Final, NamedTuple

import msgspec

from dbt.adapters.vcs.core.codec import decode_record, encode_record
from dbt.adapters.vcs.core.errors import DamagedError, NotFoundError, StorageError
from dbt.adapters.vcs.core.ids import CommitId, Micros
from dbt.adapters.vcs.core.model import RefMove
from dbt.adapters.vcs.core.store.blobs import (
    LATER,
    BlobInfo,
    Blobs,
    caught,
    check_write_once,
    each,
    next_after,
    together,
)
from dbt.adapters.vcs.core.store.branch_names import quote, unquote
from dbt.adapters.vcs.core.store.moves import (
    PURGE,
    Forwards,
    Ref,
    SeenMove,
    SeenMoves,
    Space,
    broken_log,
    check_follows,
    log_folder,
    move_of,
    move_path,
    opened,
    path_in_log,
    sealed,
)
from dbt.adapters.vcs.core.store.opening import HEADER_PATH
from dbt.adapters.vcs.core.store.ref_packs import (
    EARLIER,
    FEW,
    PACKED,
    ListedRefs,
    PackedMove,
    mark_of,
    write_pack,
)

_AT_ONCE: Final = 1_000
"""Refs that are read together, once the first are there."""

_FIRST: Final = 64
"""Refs that are read first."""

# Factor of the gallop: short logs, the usual ones, take few probes.
_STRIDE = 4


class RefPosition(NamedTuple):
    """The number of a move, its time, and where the ref was after it; None if it was deleted."""

    seq: int
    at: Micros
    commit: CommitId | None


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
        self._seen = SeenMoves()
        self._checked_by = 0
        self._forwards = Forwards(blobs)
        self._forwarded: dict[tuple[Space, str], int] = {}

    def read(self, space: Space, name: str) -> Ref | None:
        """Return the last move, even a deletion; None if the ref never existed.

        Raises:
            DamagedError: The last moves are not those that were written, or one is missing.
        """
        # Looked for from the one that this process knows.
        known = self._seen.get(space, name)
        start = known.seq if known else 0
        last, found = self._end(log_folder(space, name), start)
        if known is not None and last == start:
            # Its digest was checked before it was remembered.
            return Ref(
                name, last, decode_record(RefMove, known.data, move_path(space, name, last))
            )
        if last == 0:
            return None
        path = move_path(space, name, last)
        data = found.get(last) or self._bytes_of(space, name, last)
        move = move_of(opened(data, path), name, path)
        if last > 1:
            before = found.get(last - 1) or self._bytes_of(space, name, last - 1)
            check_follows(
                move, path, before, move_path(space, name, last - 1), self._forwards.latest
            )
        if move.commit is not None:
            self._seen.put(space, name, SeenMove(last, data))
        return Ref(name, last, move)

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
        path = move_path(space, name, seq)
        data = self._found(path)
        return None if data is None else Ref(name, seq, move_of(opened(data, path), name, path))

    def written_at(self, space: Space, ref: Ref) -> Micros:
        """Return when the store wrote a move, by its own time.

        Raises:
            DamagedError: The move's file is missing.
        """
        path = move_path(space, ref.name, ref.seq)
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
        for info in self._blobs.walk(top[:-1] if name is None else log_folder(space, name)):
            folder, is_inside, _ = info.path[len(top) :].partition("/")
            if is_inside:
                logs.setdefault(folder, []).append(info)
        names = sorted(map(unquote, logs))
        for problem in each(lambda name: self._problem(space, name, logs[quote(name)]), names):
            if problem is not None:
                yield problem

    def _problem(self, space: Space, name: str, files: list[BlobInfo]) -> str | None:
        folder = log_folder(space, name)
        before: tuple[str, bytes] | None = None
        found = sorted(files)
        for number, (path, *_) in enumerate(found, 1):
            # Logs have no gaps, so the n-th file has to be move n.
            if path != path_in_log(folder, number):
                return broken_log(folder, number, path)
            try:
                data = self._blobs.get(path)
                move = move_of(opened(data, path), name, path)
                if before is not None:
                    check_follows(move, path, before[1], before[0], self._forwards.latest)
            except (DamagedError, NotFoundError) as error:
                return str(error)
            before = path, data
        if before is not None:
            self._seen.put(space, name, SeenMove(len(found), before[1], mark_of(found[-1])))
        return None

    def before(self, space: Space, name: str, moment: Micros) -> Ref | None:
        """Return the last move made at a moment or before it; None if there is none.

        Relies on moves' times never decreasing, which every writer ensures.
        """
        last = self.read(space, name)
        low, high = 0, last.seq if last else 0
        while low < high:
            middle = (low + high + 1) // 2
            if self.at(space, name, middle).move.at <= moment:
                low = middle
            else:
                high = middle - 1
        return self.at(space, name, low) if low else None

    def check_end(self, space: Space, name: str, after: int) -> None:
        """Check that no move is lost between move `after` and a later one.

        Raises:
            DamagedError: The log continues behind a gap.
        """
        folder = log_folder(space, name)
        # A file after a gap is a lost move, which writing in the gap would hide.
        # It is asked for first: the other order sees a gap if others make both in between.
        if self._exists(folder, after + 2) and not self._exists(folder, after + 1):
            raise DamagedError(broken_log(folder, after + 1, path_in_log(folder, after + 2)))

    def advance(
        self, space: Space, move: RefMove, *, after: int, is_end_checked: bool = False
    ) -> RefMove | None:
        """Make the move that follows move `after`, 0 being the start of the log.

        With `is_end_checked` the caller has called `check_end`.

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
        path, data = move_path(space, move.name, after + 1), encode_record(new)
        if not is_end_checked:
            self.check_end(space, move.name, after)
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
            self._seen.forget(space, new.name)
            self._forwarded.pop((space, new.name), None)
        else:
            self._seen.put(space, new.name, SeenMove(after + 1, data))
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
        last = self.read(space, name)
        later: RefMove | None = None
        for seq in range(last.seq if last else 0, 0, -1):
            move, data = self._opened(space, name, seq)
            if later is not None:
                after, here = move_path(space, name, seq + 1), move_path(space, name, seq)
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
            lambda some: each(caught(lambda name: self.read(space, name)), some),
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
        if wanted is not None and len(wanted) <= FEW:
            yield from self.read_each(space, on_damage, wanted)
            return
        ends = {end.folder: end for end in self._blobs.ends(f"refs/{space}")}
        if wanted is None:
            wanted = sorted(map(unquote, ends))
        if is_checked:
            # After the listing, so it has the forwards of all that the listing shows.
            self._forwards.load()
        listed = ListedRefs(
            self._blobs,
            space,
            ends,
            seen=self._seen,
            forwards=self._forwards,
            read=partial(self.read, space),
            bytes_of=partial(self._bytes_of, space),
            is_checked=is_checked,
        )
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
        known = self._seen.get(space, last.name)
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
        if known is not None and is_known and len(before) < len(found) - 1 <= EARLIER:
            earlier = tuple((at, commit) for _, at, commit in found[1:])
            self._seen.put(space, last.name, known._replace(before=earlier, is_packed=False))
        return found

    def pack(self, space: Space) -> None:
        """Write down the last moves that `read_listed` and `check` have read, for all readers."""
        seen = {quote(name): found for name, found in self._seen.of(space).items() if found.mark}
        # Also for a single one: a purge may have replaced the file that a late entry is a copy of.
        if len(seen) <= FEW or all(found.is_packed for found in seen.values()):
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

    def _end(self, folder: str, known: int) -> tuple[int, dict[int, bytes]]:
        """Return the number of the last move, at or after a known one, and moves read on the way.

        Requests that don't need each other's answers are made at once.

        Raises:
            DamagedError: A file is behind the end: a move is missing, or the file is no move.
        """
        found: dict[int, bytes] = {}
        if known and not self._look(folder, known + 1, found):
            return known, found
        start = known + len(found)
        listed = self._listed(folder, start, found)
        low = shown = max([_unbroken(folder, listed, start), *found])
        if shown > start:
            low = self._probed(folder, shown, known, found)
        # Whoever comes to a log, or finds that it grew, looks behind its end.
        if low == shown and len(listed) < LATER:
            behind = next((path for path in listed if path > path_in_log(folder, low)), None)
        else:
            behind = next_after(self._blobs, path_in_log(folder, low))
        while behind is not None:
            # Others may have moved the ref meanwhile; only a gap is damage.
            if not self._exists(folder, low + 1):
                raise DamagedError(broken_log(folder, low + 1, behind))
            low = self._bisected(folder, low)
            behind = next_after(self._blobs, path_in_log(folder, low))
        return low, found

    def _listed(self, folder: str, start: int, found: dict[int, bytes]) -> list[str]:
        """Return what a listing shows after a move, and read the one after it."""
        # One request shows most logs as a whole. It may show them as they were a moment ago, so
        # the store is asked for the next move in any case: of a name that isn't there, at once.
        listing = partial(self._blobs.later, path_in_log(folder, start))
        next_one = partial(self._look, folder, start + 1, found)
        listed: list[str] = together(self._blobs, listing, next_one)[0]
        return listed

    def _probed(self, folder: str, shown: int, known: int, found: dict[int, bytes]) -> int:
        """Return the last move at or after one that is there, and read that and the one before."""
        wanted = [n for n in (shown - 1, shown) if n > known and n not in found]
        is_more, *_ = together(
            self._blobs,
            partial(self._exists, folder, shown + 1),
            *(partial(self._look, folder, number, found) for number in wanted),
        )
        return self._bisected(folder, shown + 1) if is_more else shown

    def _look(self, folder: str, seq: int, found: dict[int, bytes]) -> bool:
        """Read a move if it is there, and return whether it is."""
        data = self._found(path_in_log(folder, seq))
        if data is not None:
            found[seq] = data
        return data is not None

    def _found(self, path: str) -> bytes | None:
        try:
            return self._blobs.get(path)
        except NotFoundError:
            return None

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
        return self._blobs.exists(path_in_log(folder, seq))

    def rewritten(self, start: str) -> str | None:
        """Return the commit that took the place of the one whose id starts so, None if none did.

        Nothing is returned for the start of several.
        """
        self._forwards.load()
        found = [id for id in self._forwards.old_commits() if id.startswith(start)]
        return self._forwards.of(found[0]) if len(found) == 1 else None

    def _forward(self, space: Space, seq: int, move: RefMove) -> RefMove:
        """Return an earlier move with the new ids of what was rewritten since."""
        known = self._seen.get(space, move.name)
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
        path = move_path(space, name, seq)
        return move_of(opened(data, path), name, path), data

    def _bytes_of(self, space: Space, name: str, seq: int) -> bytes:
        known = self._seen.get(space, name)
        if known is not None and known.seq == seq:
            return known.data
        path = move_path(space, name, seq)
        try:
            return self._blobs.get(path)
        except NotFoundError as error:
            raise DamagedError(
                f"Move {seq} of {name!r} is missing from {self._blobs.uri} (expected the file "
                f"{path}). Restore it from a backup of the repository."
            ) from error


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


def _unbroken(folder: str, listed: Iterable[str], known: int) -> int:
    """Return the last of the moves that a listing shows without a gap after a known one."""
    last = known
    for path in listed:
        last += path == path_in_log(folder, last + 1)
    return last
