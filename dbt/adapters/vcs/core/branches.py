"""Branches, tags and named snapshots: names of commits and of versions, each with a log."""

from __future__ import annotations

import difflib
import os
import shlex
import socket
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Final, NamedTuple, Protocol

import msgspec

from dbt.adapters.vcs.__version__ import version
from dbt.adapters.vcs.core.errors import (
    DamagedError,
    InputError,
    NotFoundError,
    ProtectedError,
    RetryError,
)
from dbt.adapters.vcs.core.ids import Clock, CommitId, Micros, SnapshotId, datetime_of
from dbt.adapters.vcs.core.model import RefMove, RelationName
from dbt.adapters.vcs.core.store.branch_names import check_new_name, quote
from dbt.adapters.vcs.core.store.moves import Ref, Space
from dbt.adapters.vcs.core.store.objects import ObjectStore
from dbt.adapters.vcs.core.store.refs import RefStore
from dbt.adapters.vcs.core.turns import attempts

NO_FACTS: Final[Mapping[str, str]] = {}
DEMANDS: Final = ("tests", "fresh", "approval")
"""What a protected branch can require."""

RENAMED: Final = "renamed to "
"""How the note of a deletion begins that ended a renaming; the new name follows."""

_HOST: Final = socket.gethostname()
_PROTECTED: Final = "protected"
_REQUIRE: Final = "require"
_NEAR: Final = 3
_SHOWN: Final = 10
_WORD: Final[dict[Space, str]] = {"heads": "branch", "tags": "tag"}


class Protection(NamedTuple):
    """The requirements of a protected branch.

    Attributes:
        require: `tests`: every changed version was read by tests that passed. `fresh`: no table
            becomes stale. `approval`: somebody approved exactly what is published.
    """

    require: tuple[str, ...] = ()


class Branch(NamedTuple):
    """An existing branch: its name, its head, and the last move of its log."""

    name: str
    head: CommitId
    ref: Ref

    @property
    def state(self) -> Mapping[str, str]:
        """The facts that the branch carries, such as a run's status."""
        return self.ref.move.state

    @property
    def protection(self) -> Protection | None:
        """Its requirements; None if it is not protected."""
        if not is_protected(self.ref):
            return None
        return Protection(tuple(self.state.get(_REQUIRE, "").split()))

    def assuming(self, protection: Protection | None) -> Branch:
        """Return the branch as it will be once it has these requirements; None leaves it as is."""
        if protection is None:
            return self
        move = msgspec.structs.replace(
            self.ref.move, state=protected_state(self.state, protection)
        )
        return self._replace(ref=self.ref._replace(move=move))

    def check_open(self, *, promotes: bool) -> None:
        """Check that the branch accepts this kind of change.

        Raises:
            ProtectedError: The branch only takes promotions, and this is not one.
        """
        if self.protection is not None and not promotes:
            raise ProtectedError(
                f"The branch {self.name!r} is protected: it takes changes by promotion alone. "
                f"Nothing was changed. Make the change on another branch, and promote that: "
                f"dbt-vcs promote BRANCH {shlex.quote(self.name)}"
            )


def protected_state(state: Mapping[str, str], protection: Protection | None) -> Mapping[str, str]:
    """Return a branch's state with another protection, or with none."""
    # The state of a branch also holds facts of its run, which protection leaves alone.
    kept = {key: value for key, value in state.items() if key not in (_PROTECTED, _REQUIRE)}
    if protection is None:
        return kept
    return {**kept, _PROTECTED: "yes", _REQUIRE: " ".join(protection.require)}


def is_protected(ref: Ref) -> bool:
    """Return whether a ref is protected: such a ref can't be deleted or renamed."""
    return ref.move.state.get(_PROTECTED) == "yes"


class Tag(NamedTuple):
    """An existing tag: its name, its commit, and the last move of its log."""

    name: str
    commit: CommitId
    ref: Ref


# A port: `maintenance` imports this module, since a purge moves names itself.
class RefGate(Protocol):
    """Lets moves of names pass unless a purge is running."""

    def move(
        self,
        space: Space,
        name: str,
        last: Ref | None,
        commit: CommitId | None,
        state: Mapping[str, str],
        before: Sequence[Callable[[], None]],
    ) -> AbstractContextManager[None]:
        """Return what to make a move within, which calls what is to be done `before` it."""


class Names:
    """The refs of one space, by name.

    All moves are made here, so times in a log never decrease, and no ref names an object that is
    not stored, and with a `gate` a move waits for a purge to end. Messages call a ref `word` and
    say what it is `of`, if anything.
    """

    def __init__(
        self,
        objects: ObjectStore,
        refs: RefStore,
        clock: Clock,
        space: Space,
        *,
        word: str = "",
        of: str = "",
        gate: RefGate | None = None,
    ) -> None:
        self._objects = objects
        self._refs = refs
        self._clock = clock
        self._space = space
        self._word = word or _WORD[space]
        self._parent = (of,) if of else ()
        self._of = f" of {of}" if of else ""
        self._gate = gate

    def each(
        self,
        on_damage: Callable[[DamagedError], None] = lambda _: None,
        names: Iterable[str] | None = None,
        *,
        takes_few: bool = False,
    ) -> Iterator[tuple[CommitId, Ref]]:
        """Yield all existing refs, or those of some names, whose log is whole, sorted by name.

        `on_damage` is told of the others. `takes_few` if only the first ones are to be taken.
        """
        read = self._refs.read_each if takes_few else self._refs.read_listed
        for ref in read(self._space, on_damage, names):
            if ref.move.commit is not None:
                yield ref.move.commit, ref

    def find(self, name: str) -> tuple[CommitId, Ref] | None:
        """Return where a name points, None if it doesn't exist or was deleted."""
        ref = self._refs.read(self._space, name)
        return None if ref is None or ref.move.commit is None else (ref.move.commit, ref)

    def get(self, name: str) -> tuple[CommitId, Ref]:
        """Return where a name points.

        Raises:
            NotFoundError: It doesn't exist; the message names near matches.
        """
        return self.shown(name, self._refs.read(self._space, name))

    def shown(self, name: str, last: Ref | None) -> tuple[CommitId, Ref]:
        """Return where a name points by its last move, None if there is none.

        Raises:
            NotFoundError: It doesn't exist; the message names near matches.
        """
        if last is None or last.move.commit is None:
            raise NotFoundError(self.unknown(name))
        return last.move.commit, last

    def check_new(self, name: str) -> None:
        """Check that a name is allowed for a new ref.

        Raises:
            InputError: It is not a valid name, or reads as a revision.
        """
        # First what can't be stored at all, then git's rules for new names.
        quote(name)
        check_new_name(name, self._word)

    def create(
        self,
        name: str,
        at: CommitId,
        *,
        author: str,
        note: str,
        state: Mapping[str, str],
        check: bool = True,
    ) -> Ref:
        """Create a ref to a commit; `check` is False for names that people neither give nor read.

        Raises:
            InputError: The name already exists, or is not allowed.
        """
        if check:
            self.check_new(name)
        for _ in attempts(f"create the {self._word} {name!r}"):
            last = self._refs.read(self._space, name)
            if last is not None and last.move.commit is not None:
                raise InputError(
                    f"There is already a {self._word} {name!r}{self._of}, at "
                    f"{last.move.commit[:12]}. "
                    "Give another name, or delete it first."
                )
            # The log of a deleted name goes on, so that its moves can still be named.
            move = self.follow(
                last, name, at, author=author, action="create", note=note, state=state
            )
            if move is not None:
                return move
        raise AssertionError("attempts raises when it ends")

    def rename(self, name: str, new: str, *, author: str) -> None:
        """Create a ref with another name and the same commit and state, then delete the old one.

        The new one is created first, so the commit always has a name.

        Raises:
            NotFoundError: The old name doesn't exist.
            InputError: The new name already exists, or is not allowed.
            RetryError: Others wrote under both names meanwhile; the old one still exists.
            ProtectedError: It is protected. If that came meanwhile, both names exist.
        """
        commit, last = self.get(name)
        self._check_removable(last, "renamed")
        state = last.move.state
        note = f"renamed from {name}"
        made = self.create(new, commit, author=author, note=note, state=state)
        for _ in attempts(f"rename the {self._word} {name!r}"):
            if self.follow(
                last, name, None, author=author, action="delete", note=f"{RENAMED}{new}"
            ):
                return
            # Somebody moved the old name. The new one follows it, so that no work is lost.
            commit, last = self.get(name)
            self._check_removable(last, f"renamed; {new!r} was created beside it")
            moved = self.follow(
                made,
                new,
                commit,
                author=author,
                action="rename",
                note=note,
                state=last.move.state,
            )
            if moved is None:
                raise RetryError(
                    f"While {name!r} was renamed to {new!r}, others wrote under both names. Both "
                    "are there: merge one into the other, then delete it."
                )
            made = moved

    def delete(self, name: str, *, author: str, note: str = "") -> None:
        """Delete a name, whatever others do meanwhile.

        Raises:
            NotFoundError: It doesn't exist.
            ProtectedError: It is protected.
        """
        for _ in attempts(f"delete the {self._word} {name!r}"):
            _, last = self.get(name)
            if self.remove(last, author=author, note=note):
                return

    def remove(self, last: Ref, *, author: str, note: str = "") -> bool:
        """Delete a name by the move after the given one; return False if another came first.

        Raises:
            ProtectedError: It is protected.
        """
        self._check_removable(last, "deleted")
        gone = self.follow(
            last,
            last.name,
            None,
            author=author,
            action="delete",
            note=note,
            state=last.move.state,
        )
        return gone is not None

    def protect(
        self, name: str, protection: Protection | None, *, author: str
    ) -> tuple[CommitId, Ref]:
        """Protect a name, or remove its protection; return where it points.

        Raises:
            NotFoundError: It doesn't exist.
        """
        verb = "protect" if protection else "unprotect"
        change = partial(protected_state, protection=protection)
        return self.change_state(name, change, author=author, verb=verb, note=verb)

    def change_state(
        self,
        name: str,
        change: Callable[[Mapping[str, str]], Mapping[str, str]],
        *,
        author: str,
        verb: str = "change",
        note: str = "",
    ) -> tuple[CommitId, Ref]:
        """Change a name's state, whatever others do meanwhile; return where it points.

        Raises:
            NotFoundError: It doesn't exist.
        """
        for _ in attempts(f"{verb} the {self._word} {name!r}"):
            commit, last = self.get(name)
            state = change(last.move.state)
            move = self.follow(
                last, name, commit, author=author, action="state", note=note, state=state
            )
            if move is not None:
                return commit, move
        raise AssertionError("attempts raises when it ends")

    def follow(  # noqa: PLR0913
        self,
        last: Ref | None,
        name: str,
        commit: CommitId | None,
        *,
        author: str,
        action: str,
        note: str = "",
        state: Mapping[str, str] = NO_FACTS,
        plans: Mapping[str, str] = NO_FACTS,
    ) -> Ref | None:
        """Make the move after the given one; None if another move came first.

        `plans` are those that it settles; the other commits of a group are among them.
        """
        seq, earliest = (last.seq, last.move.at) if last else (0, Micros(0))
        move = RefMove(
            name=name,
            commit=commit,
            # A clock that was set back must not show: `RefStore.before` searches a log by time.
            at=max(self._clock(), earliest),
            by=author,
            action=action,
            note=note,
            state=dict(state),
            host=_HOST,
            pid=os.getpid(),
            version=version,
            plans=dict(plans),
        )
        # Blocks, manifests, then the ref: a ref never names what a crash could lose.
        before = self._objects.flush, partial(self._refs.check_end, self._space, name, seq)
        gate = self._gate
        if gate is None:
            for step in before:
                step()
        # Decision 36: a purge may be about to replace what the move names.
        with gate.move(self._space, name, last, commit, state, before) if gate else nullcontext():
            made = self._refs.advance(self._space, move, after=seq, is_end_checked=True)
        if made is None:
            return None
        for landed in {commit, *plans.values()} - {None, ""}:
            self._objects.note_landed(CommitId(str(landed)))
        return Ref(name, seq + 1, made)

    def repeat(self, last: Ref, plans: Mapping[str, str]) -> Ref | None:
        """Make a move that says the same as the given one and settles plans.

        None if another move came first.
        """
        move = last.move
        gone = move.commit is None
        return self.follow(
            last,
            last.name,
            move.commit,
            author=move.by,
            # Why a name is gone is told by its last move.
            action=move.action if gone else "state",
            note=move.note,
            state=move.state,
            plans=plans,
        )

    def unknown(self, name: str) -> str:
        """Return the message for a name that doesn't exist, with the next step."""
        last = self._refs.read(self._space, name)
        if last is not None:
            when = f"{datetime_of(last.move.at):%Y-%m-%d %H:%M} UTC"
            gone = f"The {self._word} {name!r}{self._of} was deleted on {when} by {last.move.by}."
            # Only branches can be undeleted.
            if self._space != "heads":
                return gone
            if last.move.note.startswith(RENAMED):
                return f"{gone[:-1]}, {last.move.note}."
            return f"{gone} To have it back, type dbt-vcs branch undelete {shlex.quote(name)}."
        if near := self._near_names(name):
            hint = f"Did you mean {' or '.join(map(repr, near))}?"
        # One more than is shown, to tell whether there are others.
        elif names := self._first_names(_SHOWN + 1):
            more = " and others" if len(names) > _SHOWN else ""
            hint = f"There is: {', '.join(names[:_SHOWN])}{more}."
        else:
            hint = f"There is no {self._word}{self._of} at all."
        return f"There is no {self._word} {name!r}{self._of}. {hint}"

    def _check_removable(self, ref: Ref, what: str) -> None:
        # Each attempt asks, as the protection may just have come.
        if is_protected(ref):
            named = " ".join(shlex.quote(part) for part in (*self._parent, ref.name))
            raise ProtectedError(
                f"The {self._word} {ref.name!r}{self._of} is protected and can't be {what}. Lift "
                f"the protection first: dbt-vcs {self._word} unprotect {named}"
            )

    def _near_names(self, name: str) -> list[str]:
        known = self._refs.names(self._space)
        # Twice as many: names that were deleted are known, too, and drop out below.
        found = difflib.get_close_matches(name, known, n=2 * _NEAR)
        return [near for near in found if self._is_there(near)][:_NEAR]

    def _first_names(self, count: int) -> list[str]:
        there = (name for name in self._refs.names(self._space) if self._is_there(name))
        return list(islice(there, count))

    def _is_there(self, name: str) -> bool:
        try:
            return self.find(name) is not None
        except DamagedError:
            # Its log is damaged, but there is such a name.
            return True


ROOT: Final = "snapshots"
"""The space that holds a space for each relation."""

_SNAPSHOT: Final = "snapshot"


class NamedSnapshot(NamedTuple):
    """A named version of a table.

    Attributes:
        relation: The table's name at that time; two relations may use the same snapshot name.
        name: Its own name.
        commit: A commit of the branch where it was named.
        ref: The last move of its log.
    """

    relation: RelationName
    name: str
    snapshot: SnapshotId
    commit: CommitId
    ref: Ref


@dataclass(frozen=True, slots=True)
class SnapshotNames:
    """The named snapshots of a repository.

    A name is unique for its relation's name (MatrixOne paper, section 4.1) across branches. It
    keeps its version and everything that the version needs, even if no commit shows it.
    """

    _objects: ObjectStore
    _refs: RefStore
    _clock: Clock
    _gate: RefGate | None = None

    def all(self) -> list[NamedSnapshot]:
        """Return every named snapshot, sorted by relation, then name."""
        found: list[NamedSnapshot] = []
        for space in self._refs.spaces(ROOT):
            _, schema, identifier = space.split("/")
            found += self.of(RelationName(schema, identifier))
        return sorted(found, key=lambda item: (item.relation, item.name))

    def of(self, relation: RelationName) -> list[NamedSnapshot]:
        """Return the named snapshots of a relation, sorted by name."""
        return [_named_snapshot(relation, *found) for found in self._names(relation).each()]

    def find(self, relation: RelationName, name: str) -> NamedSnapshot | None:
        """Return a named snapshot, None if it doesn't exist."""
        found = self._names(relation).find(name)
        return None if found is None else _named_snapshot(relation, *found)

    def create(
        self,
        relation: RelationName,
        name: str,
        snapshot: SnapshotId,
        *,
        at: CommitId,
        author: str,
        note: str = "",
    ) -> NamedSnapshot:
        """Name a version of a relation; nothing is copied.

        Raises:
            InputError: The relation already has a snapshot of that name, or the name is not
                allowed.
            DamagedError: There is no such snapshot or commit.
        """
        # Read for the error alone: no ref may name what isn't stored.
        self._objects.snapshot(snapshot)
        self._objects.commit(at)
        # A move points to a commit, so the version is in its state.
        ref = self._names(relation).create(
            name, at, author=author, note=note, state={_SNAPSHOT: snapshot}
        )
        return _named_snapshot(relation, at, ref)

    def delete(self, relation: RelationName, name: str, *, author: str) -> NamedSnapshot:
        """Delete a name and return the named snapshot.

        Raises:
            NotFoundError: It doesn't exist; the message names near matches.
            ProtectedError: It is protected.
        """
        names = self._names(relation)
        found = _named_snapshot(relation, *names.get(name))
        names.delete(name, author=author)
        return found

    def protect(
        self, relation: RelationName, name: str, is_protected: bool, *, author: str
    ) -> NamedSnapshot:
        """Protect a named snapshot, so that it can't be deleted, or remove its protection.

        Raises:
            NotFoundError: It doesn't exist; the message names near matches.
        """
        protection = Protection() if is_protected else None
        found = self._names(relation).protect(name, protection, author=author)
        return _named_snapshot(relation, *found)

    def made(self, item: NamedSnapshot) -> RefMove:
        """Return the move that created a named snapshot."""
        return self._refs.created(_space(item.relation), item.ref).move

    def _names(self, relation: RelationName) -> Names:
        space = _space(relation)
        return Names(
            self._objects,
            self._refs,
            self._clock,
            space,
            word="snapshot",
            of=str(relation),
            gate=self._gate,
        )


def snapshot_of(ref: Ref) -> SnapshotId:
    """Return the version recorded in a move of a named snapshot's log.

    Raises:
        DamagedError: The move records none.
    """
    found = ref.move.state.get(_SNAPSHOT)
    if found is None:
        raise DamagedError(
            f"Move {ref.seq} of the snapshot {ref.name!r} names no version. "
            "Restore it from a backup of the repository."
        )
    return SnapshotId(found)


def _space(relation: RelationName) -> str:
    # Not quoted: names of relations are `[a-z0-9_]+`.
    return f"{ROOT}/{relation.schema}/{relation.identifier}"


def _named_snapshot(relation: RelationName, commit: CommitId, ref: Ref) -> NamedSnapshot:
    return NamedSnapshot(relation, ref.name, snapshot_of(ref), commit, ref)
