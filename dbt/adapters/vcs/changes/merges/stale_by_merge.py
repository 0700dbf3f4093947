"""Stale by a merge: tables that follow from what each side shows, and not from both together.

The read set check holds the runs that are published to it, by `on_stale`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from shlex import quote
from typing import Final, NamedTuple, TypeAlias

from dbt.adapters.vcs.changes.merges.conflicts.policy import OnStale
from dbt.adapters.vcs.changes.merges.merge_plan import MergePlan, planned_relations
from dbt.adapters.vcs.core.errors import ConflictError, DamagedError, listed
from dbt.adapters.vcs.core.ids import CommitId, SnapshotId
from dbt.adapters.vcs.core.model import Absent, Entry, RelationName, TableEntry
from dbt.adapters.vcs.core.origins.staleness import Meeting, NewlyMoved, newly_moved, stale_among
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.store.relations import Streamed
from dbt.adapters.vcs.core.tree_changes import TreeEntries

MAX_UNCHANGED: Final = 500
"""Most unchanged tables that are looked at to report what a merge makes stale."""

_SHOWN: Final = 10


def skewed_by(repository: Repository, plan: MergePlan) -> list[NewlyMoved]:
    """Return the tables that a plan makes stale because its two sides meet, by name.

    There are none unless both sides have moved. What a side shows stale by itself is left out. An
    undecided relation counts as the source shows it, and as the target does for what was made from
    it.
    """
    if plan.changes is None:
        return []
    target, source = plan.target.head, plan.work.commit
    by_theirs = {item.name for item in repository.diff(plan.base, source).relations}
    by_ours = changed_by_target(repository, plan)
    ours = repository.tree(target)

    def merged(name: RelationName) -> Entry | None:
        return entry_after(plan, name, ours.entry(name))

    return newly_moved(
        repository,
        Meeting(
            base=repository.tree(plan.base),
            ours=ours,
            theirs=repository.tree(source),
            merged=merged,
            by_ours=by_ours - by_theirs,
            by_theirs=by_theirs,
            undecided={clash.name for clash in plan.clashes},
        ),
    )


class NewlyStale(NamedTuple):
    """What a change of a branch makes stale there.

    Attributes:
        tables: The tables, `schema.identifier`, each after those that it was made from. One that
            was stale before, in the same version, is left out.
        unknown: How many tables were not looked at, or can't be read; of very many, views are
            counted, too.
    """

    tables: tuple[str, ...] = ()
    unknown: int = 0


def stale_after(
    repository: Repository, plan: MergePlan, *, most: int | None = MAX_UNCHANGED
) -> NewlyStale:
    """Return the tables that a plan makes stale; see `newly_stale`."""
    if plan.how == "up_to_date":
        return NewlyStale()
    before = TreeEntries(repository.tree(plan.target.head))
    after = (
        TreeEntries(repository.tree(plan.work.commit))
        if plan.changes is None
        else _EntriesAfter(before, plan)
    )
    changed = [change.name for change in planned_relations(repository, plan)]
    also = changed_by_target(repository, plan)
    return newly_stale(repository, Both(before, after, changed), also, most=most)


class _EntriesAfter(Streamed[RelationName]):
    """What the target of a plan will show."""

    def __init__(self, before: Mapping[RelationName, Entry], plan: MergePlan) -> None:
        assert plan.changes is not None
        self._before, self._plan = before, plan
        self._changed = plan.changes.relations

    def __getitem__(self, name: RelationName) -> Entry:
        entry = entry_after(self._plan, name, self._before.get(name))
        if entry is None:
            raise KeyError(name)
        return entry

    def __len__(self) -> int:
        return len(self._before) + sum(
            (name in self) - (name in self._before) for name in self._changed
        )

    def pairs(self) -> Iterator[tuple[RelationName, Entry]]:
        for name in sorted({*self._before, *self._changed}):
            if name in self:
                yield name, self[name]


def changed_by_target(repository: Repository, plan: MergePlan) -> set[RelationName]:
    """Return the relations that the target of a plan changed since the base."""
    return {item.name for item in repository.diff(plan.base, plan.target.head).relations}


class Both(NamedTuple):
    """What a branch shows before and after a change.

    Attributes:
        before: By name.
        after: By name.
        changed: The names that may differ.
    """

    before: Mapping[RelationName, Entry]
    after: Mapping[RelationName, Entry]
    changed: Collection[RelationName]

    @classmethod
    def of(cls, repository: Repository, before: CommitId, after: CommitId) -> Both:
        """Return what two commits show."""
        old, new = (TreeEntries(repository.tree(commit)) for commit in (before, after))
        changed = [change.name for change in repository.diff(before, after).relations]
        return cls(old, new, changed)


def newly_stale(
    repository: Repository,
    both: Both,
    also: Collection[RelationName] = (),
    *,
    most: int | None = MAX_UNCHANGED,
) -> NewlyStale:
    """Return the tables that are stale after a change and were not before.

    Other tables may have read what changed, which only their own versions tell. If there are more
    than `most` of them (None: however many), only those in `also` are looked at: the answer must
    cost what changed and not what exists. Damage of one table hides no other.
    """
    before, after, changed = both
    if not changed:
        return NewlyStale()
    among = {*changed, *also}
    left_out = _count_others(after, among, most)
    if not left_out:
        among = {*before, *after}
    damaged: set[RelationName] = set()

    def note(name: RelationName, error: DamagedError) -> None:
        damaged.add(name)

    found = stale_among(repository, after, among, on_damage=note)
    known: set[tuple[RelationName, SnapshotId]] = set()
    # Only a table that is unchanged can have been stale before in the same version, so the state
    # before is seldom read.
    if any(before.get(item.relation) == after[item.relation] for item in found):
        old = stale_among(repository, before, among, on_damage=note)
        known = {(item.relation, item.snapshot) for item in old}
    return NewlyStale(
        tuple(str(i.relation) for i in found if (i.relation, i.snapshot) not in known),
        len(damaged & after.keys()) + left_out,
    )


def _count_others(
    after: Mapping[RelationName, Entry], among: Collection[RelationName], most: int | None
) -> int:
    """Return how many tables besides some are too many to be looked at; 0 if they aren't."""
    others = len(after) - sum(name in after for name in among)
    # Of very many names it is not asked which are views.
    if most is not None and others <= 10 * most:
        others = sum(
            isinstance(entry, TableEntry) and name not in among for name, entry in after.items()
        )
    return others if most is not None and others > most else 0


def check_fresh(repository: Repository, plan: MergePlan) -> None:
    """Check that a plan makes no table stale.

    Raises:
        ConflictError: It does; the message names the tables and what to do.
    """
    # A requirement has to be certain, so no table is left out.
    stale = stale_after(repository, plan, most=None).tables
    if not stale:
        return
    source, target = plan.work.source, plan.target.name
    step = (
        f"Run dbt build again on what {target!r} has now, with the models of `dbt-vcs stale "
        f"{quote(source)} --select`, then promote that run."
        if plan.work.run is not None
        else f"Merge {target!r} into {source!r}, build there the models of `dbt-vcs stale "
        f"{quote(source)} --select`, and promote again."
    )
    raise ConflictError(
        f"{target!r} requires fresh tables, and these would be stale there: {joined(stale)}. "
        f"Nothing was changed. {step}"
    )


def moved_text(item: NewlyMoved) -> str:
    """Return a table and the inputs that moved, as `table (input, input)`."""
    return f"{item.relation} ({', '.join(sorted({str(moved.relation) for moved in item.moved}))})"


def joined(items: Iterable[str]) -> str:
    """Return items as one text; of many only the first are named."""
    return listed(items, _SHOWN)


def entry_after(plan: MergePlan, name: RelationName, ours: Entry | None) -> Entry | None:
    """Return what the target of a merge will show under a name; an undecided one as in `ours`."""
    assert plan.changes is not None
    changes = plan.changes
    entry = changes.relations.get(name)
    if entry is Absent or (entry is None and changes.schemas.get(name.schema) is Absent):
        return None
    return ours if entry is None else entry


EARLIER: Final = "healed_later_runs"
"""Metadata of a commit whose run counts as earlier than others: their tables, computed again."""


Validator: TypeAlias = Callable[[MergePlan], MergePlan]
"""Returns the plan that may land in place of one, with the metadata that its commit records.

Called before a plan lands or its conflicts are kept; raises if it must not land.
"""


class Healed(NamedTuple):
    """A plan whose stale tables were computed again.

    Attributes:
        plan: The plan, with what was computed.
        tables: The relations of the run that were computed again, in order.
        earlier: The tables of other runs that were, as if this run had come before them.
        notes: Why others were not, a sentence each.
    """

    plan: MergePlan
    tables: tuple[str, ...] = ()
    earlier: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


Healer: TypeAlias = Callable[[MergePlan], Healed]
"""Computes what a plan makes stale again; raises a `ConflictError` where that can't be done."""


class ReadSetCheck:
    """Judges the plans of a run that is published, by `on_stale`.

    A run is as good as one that began now if its tables follow from what the target will show. It
    is checked only if the target has moved since the run began. Tables of others that become stale
    by the run are reported: they are what they would be if the run had begun now.

    Attributes:
        lines: What to say about the last plan, once it has landed.
        stale: The tables that this names as stale, `schema.identifier`.
    """

    def __init__(
        self, repository: Repository, on_stale: OnStale, healer: Healer | None = None
    ) -> None:
        """Without a healer, `heal` refuses what `fail` refuses."""
        self.lines: tuple[str, ...] = ()
        self.stale: frozenset[str] = frozenset()
        self._repository = repository
        self._on_stale = on_stale
        self._healer = healer if on_stale is OnStale.HEAL else None

    def __call__(self, plan: MergePlan) -> MergePlan:
        """Return what may land.

        Raises:
            ConflictError: Tables of the run are stale, and `on_stale` doesn't let them land.
        """
        # Decision 31: runs that overlap may come out as if one had come after the other.
        healed = Healed(plan) if self._healer is None else self._healer(plan)
        again = {*healed.tables, *healed.earlier}
        found = skewed_by(self._repository, healed.plan)
        stale = [item for item in found if str(item.relation) not in again]
        # Decision 31: tables of others that become stale are only reported, as after a run that
        # came last.
        own = [item for item in stale if item.is_theirs]
        if own and self._on_stale is not OnStale.WARN:
            raise ConflictError(refusal(healed.plan, own, self._on_stale))
        self.lines = (*_lines(healed, stale), *healed.notes)
        self.stale = frozenset(str(item.relation) for item in stale)
        told = {}
        if healed.tables:
            told["healed"] = ", ".join(healed.tables)
        if healed.earlier:
            told[EARLIER] = ", ".join(healed.earlier)
        if stale:
            told["stale"] = ", ".join(map(moved_text, stale))
        return replace(healed.plan, metadata=told)


def refusal(plan: MergePlan, own: Sequence[NewlyMoved], on_stale: OnStale) -> str:
    """Return the text of an error about tables of a run that are stale."""
    target = plan.target.name
    return (
        f"{target!r} has moved since the run began, and the run made these tables from versions "
        f"that {target!r} does not show any more: {joined(map(moved_text, own))} (on_stale: "
        f"{on_stale}). Run the dbt command again: it builds on {target!r} as it is now, and takes "
        "what is not stale from what was computed before."
    )


def _lines(healed: Healed, stale: Sequence[NewlyMoved]) -> list[str]:
    target = healed.plan.target.name
    lines = []
    again = (*healed.tables, *healed.earlier)
    if again:
        lines.append(f"Computed again on what {target} shows now: {joined(again)}.")
    if stale:
        lines.append(
            f"Stale on {target}, since others changed what was read: "
            f"{joined(map(moved_text, stale))}. See dbt-vcs stale {quote(target)}."
        )
    return lines
