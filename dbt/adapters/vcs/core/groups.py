"""Groups: writers that wait for one branch are landed together by the one whose turn it is.

A writer that waits puts a plan into its ticket: what it would change, relation by relation.
Whoever lands takes the plans behind its own ticket, in that order, makes a commit of each that
fits, and moves the branch once, to the last one. The move names each plan with its commit.

What keeps this safe is the log alone. A plan is settled by the one move that names it: landed,
with a commit, or withdrawn, without one. Nobody lands a plan that an earlier move names, nor their
own work before they looked for its plan; and whoever gives up withdraws first. As a move is
created only if absent, whoever read a plan too early or moves the branch too late loses the race
for the move's number. So a plan lands at most once, however often its ticket is put up, taken
down, or found again.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from functools import partial
from typing import Final, Literal, NamedTuple, Protocol, TypeAlias

import msgspec

from dbt.adapters.vcs.core.branches import Branch, Names
from dbt.adapters.vcs.core.codec import decode_record, encode_record
from dbt.adapters.vcs.core.errors import DamagedError, StorageError, VcsError
from dbt.adapters.vcs.core.ids import Clock, CommitId, Micros, TreeId
from dbt.adapters.vcs.core.model import (
    Absent,
    Entry,
    RelationName,
    Run,
    Segment,
    Snapshot,
    TableEntry,
)
from dbt.adapters.vcs.core.model.tree import AbsentType, Value
from dbt.adapters.vcs.core.store.blobs import Blobs, each, together
from dbt.adapters.vcs.core.store.moves import Ref
from dbt.adapters.vcs.core.store.objects import ObjectStore
from dbt.adapters.vcs.core.store.refs import RefStore
from dbt.adapters.vcs.core.tree_changes import TreeChanges, TreeReader
from dbt.adapters.vcs.core.turns import Turn, attempts, plan_name

WITHDRAWN: Final = ""
"""What a move says in place of a commit about a plan that nobody may land any more."""

FRESH: Final = 10_000_000
"""Microseconds for which others land a plan: who died long ago may have been asked again since."""

WINDOW: Final = 64
"""Moves after which a plan is left to its owner: so many have to be read to know of it."""

LARGEST: Final = 64
"""Plans that are landed with one move."""

# Moves that are read at once to find a plan.
_FEW: Final = 3

# Settled plans are remembered for this many moves.
_REMEMBERED: Final = 1_024

Combine: TypeAlias = Callable[[Entry | None, Entry | None, Entry | None], Entry | None]
"""Returns what a relation becomes, None if that takes more than adding rows.

Takes its entry before a change, the one that it has now, and the one that the change made of the
first."""


class PlannedChange(Value, frozen=True, kw_only=True):
    """What a plan does to a relation.

    Attributes:
        before: What it was where the work began; None if it wasn't there.
        after: What it became; None if it is gone.
        adds: True if rows were added, and nothing else done that depends on the others.
    """

    before: Entry | None = None
    after: Entry | None = None
    adds: bool = False


class LandingPlan(Value, frozen=True, kw_only=True):
    """What a writer that waits would land, as one commit.

    Attributes:
        after: Number of the branch's last move when it was put up.
        at: When it was made, by its owner's clock.
        author: The author of the commit.
        message: Its message.
        run: Its run.
        read: As of a proposal.
        changes: What it changes, by the text of the name.
        snapshots: Versions that it names, for whoever lands it to store; empty if all that it
            needs is stored.
        segments: New segments, likewise. The files that they name are there to last.
    """

    after: int = 0
    at: Micros
    author: str
    message: str
    changes: dict[str, PlannedChange]
    run: Run | None = None
    read: tuple[str, ...] = ()
    snapshots: tuple[Snapshot, ...] = ()
    segments: tuple[Segment, ...] = ()

    @property
    def values(self) -> tuple[Snapshot | Segment, ...]:
        """What it brings along."""
        return (*self.snapshots, *self.segments)

    @property
    def names(self) -> list[tuple[RelationName, PlannedChange]]:
        """The changes by name."""
        return [(RelationName.of(text), change) for text, change in self.changes.items()]


class Landed(NamedTuple):
    """The result of a landing.

    Attributes:
        commit: The commit; the branch's head if none was made. Others may follow in one move.
        moved: False if there was nothing to change, so that no commit was made.
        before: The head that it followed.
        how: `fast_forward` if the head was the commit that the work started from, `merge` if
            others had landed since, `up_to_date` if there was nothing to do.
    """

    commit: CommitId
    moved: bool
    before: CommitId
    how: Literal["up_to_date", "fast_forward", "merge"]


class Settled:
    """What the moves of a branch say about plans; safe to share between threads."""

    def __init__(self, refs: RefStore) -> None:
        self._refs = refs
        self._known: dict[tuple[str, int], Mapping[str, str]] = {}

    def since(self, last: Ref, after: int) -> dict[str, str]:
        """Return the plans that moves later than `after` name, up to the last one.

        Those that landed come with their commit, the others with `WITHDRAWN`.
        """

        def named(seq: int) -> Mapping[str, str]:
            key = (last.name, seq)
            found = self._known.get(key)
            if found is None:
                ref = last if seq == last.seq else self._refs.peek("heads", last.name, seq)
                if ref is None:
                    # Says what is wrong with the log.
                    ref = self._refs.at("heads", last.name, seq)
                found = self._known[key] = ref.move.plans
            return found

        if len(self._known) > _REMEMBERED:
            self._known = {}
        found: dict[str, str] = {}
        for plans in each(named, range(after + 1, last.seq + 1)):
            found.update(plans)
        return found

    def find(self, branch: str, plan: str, after: int) -> str | None:
        """Return what a move later than `after` says about a plan; None if none says anything."""
        # Mostly one move was made since, or two: some at once cost little more than one.
        while True:
            some = range(after + 1, after + 1 + _FEW)
            moves = each(partial(self._refs.peek, "heads", branch), some)
            for ref in moves:
                if ref is None:
                    return None
                if plan in ref.move.plans:
                    return ref.move.plans[plan]
            after += _FEW


def plan_in(ground: Ground, path: str) -> LandingPlan | None:
    """Return the plan in a ticket, and have at hand what it changes.

    None if it can't be read: it has been taken down, a later version wrote it, or the store fails.
    """
    # Its owner lands it in turn, and gets the error.
    with suppress(VcsError):
        plan = decode_record(LandingPlan, ground.blobs.get(path), path)
        for change in plan.changes.values():
            if change.adds and isinstance(change.before, TableEntry):
                ground.objects.snapshot(change.before.snapshot)
        return plan
    return None


def is_current(plan: LandingPlan, last: Ref, now: int) -> bool:
    """Return whether others may land a plan as the move after the last one."""
    # The clock decides only who lands it: its owner does when its turn comes.
    return abs(now - plan.at) <= FRESH and 0 <= last.seq - plan.after <= WINDOW


class Offer:
    """A plan as its owner sees it, who puts it up at most once.

    Attributes:
        name: The plan's name; None while none is up.
        values: What the plan brings along, for whoever lands it to store.
        is_new: True until it was to be put up.
    """

    def __init__(
        self,
        make: Callable[[], LandingPlan | None],
        look: Callable[[str, int, Ref | None], str | None],
        withdraw: Callable[[str, int], str | None],
    ) -> None:
        """Take functions that make the plan, and that look up and settle one, by name and number.

        Both return what a move says about the plan, and `look` None if none says anything. It
        takes the last move, too, or None if that wasn't read.
        """
        self._make = make
        self._look = look
        self._withdraw = withdraw
        self._after, self._at = 0, Micros(0)
        self.values: Collection[Value] = ()
        self.name: str | None = None
        self.is_new = True

    def open(self, name: str) -> bytes | None:
        """Return the plan as it is put up under a name; None if there is none to put up."""
        if not self.is_new:
            return None
        self.is_new = False
        plan = self._make()
        if plan is None:
            return None
        # From here on others may land it, even if the store says that it isn't up.
        self.name, self.values = name, plan.values
        self._after, self._at = plan.after, plan.at
        return encode_record(plan)

    def landed(self, last: Ref | None) -> CommitId | None:
        """Return the commit by which others landed the plan; None if they haven't.

        `last` is the last move to look at; None to look for it.
        """
        if self.name is None:
            return None
        found = self._look(self.name, self._after, last)
        return CommitId(found) if found else None

    def is_young(self, now: Micros) -> bool:
        """Return whether the plan is up, and was made as short a time ago as one others land."""
        return self.name is not None and abs(now - self._at) <= FRESH

    def names(self, commit: CommitId) -> dict[str, str]:
        """Return what a move says that lands the work as a commit: the plan is settled by it."""
        return {} if self.name is None else {self.name: commit}

    def settled(self) -> None:
        """Note that a move names the plan."""
        self.name = None

    def withdraw(self) -> CommitId | None:
        """Make sure that nobody lands the plan any more; return its commit if somebody has.

        Raises:
            StorageError: The store failed, so that it is not known whether others land it.
        """
        if self.name is None:
            return None
        try:
            found = self._withdraw(self.name, self._after)
        except VcsError as error:
            raise StorageError(
                "It is not known whether this landed: others may have landed it together with "
                f"their own work. {error} Read the branch before trying again."
            ) from error
        self.name = None
        return CommitId(found) if found else None


class Ground(Protocol):
    """What groups need of a repository."""

    blobs: Blobs
    objects: ObjectStore
    refs: RefStore
    clock: Clock

    def tree(self, commit: CommitId) -> TreeReader:
        """Return what a commit shows."""

    def edit(self, base: TreeId, changes: TreeChanges) -> TreeId:
        """Apply changes to a tree and store the result."""

    def make_commit(
        self, proposal: LandingPlan, tree: TreeId, parents: tuple[CommitId, ...]
    ) -> CommitId:
        """Store a commit with the author, message and run of a plan."""


class GroupLandings:
    """Lands writers of one branch together; safe to share between threads."""

    def __init__(
        self, ground: Ground, heads: Names, current: Callable[[CommitId], CommitId]
    ) -> None:
        """Take the branches, and what returns the commit that took another one's place."""
        self._ground = ground
        self._heads = heads
        self._current = current
        self._settled = Settled(ground.refs)

    def offer(self, branch: str, plan: Callable[[], LandingPlan | None], turn: Turn) -> Offer:
        """Return what puts up a plan for a branch, for others to land.

        `plan` makes it, but for the number of the last move; None if others can't land it.
        """
        what = f"withdraw a plan for the branch {branch!r}"

        def make() -> LandingPlan | None:
            made: LandingPlan | None
            last: Ref | None
            made, last = together(
                self._ground.blobs, plan, partial(self._ground.refs.read, "heads", branch)
            )
            if made is None or last is None:
                return None
            return msgspec.structs.replace(made, after=last.seq)

        def look(name: str, after: int, last: Ref | None) -> str | None:
            if last is None:
                return self._settled.find(branch, name, after)
            return self._settled.since(last, after).get(name)

        def withdraw(name: str, after: int) -> str:
            turn.take_down(name)
            for _ in attempts(what):
                last = self._ground.refs.read("heads", branch)
                assert last is not None, "there was a move when the plan was made"
                found = self._settled.since(last, after).get(name)
                if found is not None:
                    return found
                if self._heads.repeat(last, {name: WITHDRAWN}):
                    return WITHDRAWN
            raise AssertionError("attempts raises when it ends")

        return Offer(make, look, withdraw)

    def look(self, branch: str, turn: Turn) -> Ref | None:
        """Return the last move of a branch, None if there is none.

        What `follow` needs of those that wait is read at the same time.
        """
        last: Ref | None
        head = partial(self._ground.refs.read, "heads", branch)
        last, *turn.plans = together(self._ground.blobs, head, *self._plan_reads(turn))
        return last

    def _plan_reads(self, turn: Turn) -> list[Callable[[], LandingPlan | None]]:
        return [partial(plan_in, self._ground, path) for path in turn.behind[:LARGEST]]

    def landed_by_others(
        self, offer: Offer, base: CommitId, last: Ref | None = None
    ) -> Landed | None:
        """Return the landing of a plan that began at a commit; None if nobody has landed it.

        `last` is the branch's last move; None to look for the plan alone, with fewer requests.
        """
        commit = offer.landed(last)
        return None if commit is None else self._found(offer, commit, base)

    def land_or_withdraw(self, offer: Offer, base: CommitId, work: Callable[[], Landed]) -> Landed:
        """Do what lands the work of an offer; if that fails, make sure that nobody else does.

        Returns:
            The landing, also if others landed the plan while the work failed.

        Raises:
            StorageError: It is not known whether others land it.
            VcsError: Whatever the work raises.
        """
        try:
            landed = work()
        except BaseException as error:
            commit = offer.withdraw()
            if commit is None or not isinstance(error, VcsError):
                raise
            return self._found(offer, commit, base)
        # Still up if there was nothing to change, so that no move names it.
        commit = offer.withdraw()
        return landed if commit is None else self._found(offer, commit, base)

    def _found(self, offer: Offer, commit: CommitId, base: CommitId) -> Landed:
        offer.settled()
        self._ground.objects.drop(offer.values)
        try:
            before = self._ground.objects.commit(commit).parents[0]
        except DamagedError:
            # A purge has replaced it since.
            commit = self._current(commit)
            before = self._ground.objects.commit(commit).parents[0]
        return Landed(commit, True, before, "fast_forward" if before == base else "merge")

    def follow(
        self, branch: Branch, commit: CommitId, combine: Combine | None, turn: Turn
    ) -> dict[str, CommitId]:
        """Make a commit of each plan behind a writer's turn that fits, one on the other.

        The first of them follows on a commit of the writer's own. Without `combine` none is made.
        Returned are the commits by plan, in their order.
        """
        # Whoever must not land on a protected branch is told so in their own turn.
        if combine is None or not turn.behind or branch.protection is not None:
            return {}
        now = self._ground.clock()
        if turn.plans is None:
            turn.plans = together(self._ground.blobs, *self._plan_reads(turn))
        found = [
            (plan_name(path), plan)
            for path, plan in zip(turn.behind, turn.plans, strict=False)
            if plan is not None and is_current(plan, branch.ref, now)
        ]
        if not found:
            return {}
        settled = self._settled.since(branch.ref, min(plan.after for _, plan in found))
        made: dict[str, CommitId] = {}
        for name, plan in found:
            if name in settled:
                # Its owner is about to take it down, or died.
                turn.landed([name])
                continue
            try:
                next_one = self._follow_plan(plan, commit, combine)
            except VcsError:
                # Its owner does the same in turn, and gets the error.
                continue
            if next_one is not None:
                made[name] = commit = next_one
        return made

    def _follow_plan(self, plan: LandingPlan, head: CommitId, combine: Combine) -> CommitId | None:
        """Make a plan's commit on another one; None if that takes more than adding rows."""
        objects = self._ground.objects
        objects.take_over(plan.values)
        tree = self._ground.tree(head)
        relations: dict[RelationName, Entry | AbsentType] = {}
        needs_values = False
        for name, change in plan.names:
            entry = tree.entry(name)
            if entry == change.before:
                relations[name] = Absent if change.after is None else change.after
                needs_values = True
                continue
            combined = combine(change.before, entry, change.after) if change.adds else None
            if combined is None:
                return None
            relations[name] = combined
        if needs_values:
            # Its owner has stored none of them.
            for value in plan.values:
                objects.put(value)
        edited = self._ground.edit(tree.id, TreeChanges(relations=relations, schemas={}))
        return self._ground.make_commit(plan, edited, (head,))
