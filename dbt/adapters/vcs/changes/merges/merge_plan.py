"""Merge plan: how a commit, or the work of a run, gets onto a branch, relation by relation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from shlex import quote
from typing import Final, Literal, TypeAlias

from dbt.adapters.vcs.changes.diffs.summaries import ChangeSummary, list_changes, summarize
from dbt.adapters.vcs.changes.merges.conflicts.conflict_tables import Decisions
from dbt.adapters.vcs.changes.merges.conflicts.open_merges import Clash
from dbt.adapters.vcs.changes.merges.conflicts.policy import Choice, Mode, Policy
from dbt.adapters.vcs.changes.merges.rowwise.row_outcome import How
from dbt.adapters.vcs.changes.merges.table_merge import Merged, TableMerge, TableMerges, is_rebuilt
from dbt.adapters.vcs.changes.writes.versions import entries_again
from dbt.adapters.vcs.core.branches import Branch
from dbt.adapters.vcs.core.codec import is_same_table
from dbt.adapters.vcs.core.errors import ConflictError, DamagedError, InputError
from dbt.adapters.vcs.core.graph import descends_from
from dbt.adapters.vcs.core.ids import CommitId, SnapshotId
from dbt.adapters.vcs.core.model import Absent, Entry, RelationName, Run, Snapshot, TableEntry
from dbt.adapters.vcs.core.model.tree import AbsentType
from dbt.adapters.vcs.core.origins.lineage import Consumptions, adds_up, has_name, is_at_or_before
from dbt.adapters.vcs.core.plan.schema_merge import Side
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.store.objects import ObjectStore
from dbt.adapters.vcs.core.tree_changes import (
    Change,
    SchemaChange,
    SchemaInfo,
    Sides,
    TreeChanges,
    TreeMerge,
    TreeReader,
    info_of,
    merge_trees,
)
from dbt.adapters.vcs.table.compare.comparison import best_bases, taken_from
from dbt.adapters.vcs.workspace.run_branch import RunBranch

MergeKind: TypeAlias = Literal["up_to_date", "fast_forward", "merge", "conflict"]
Applies: TypeAlias = Literal["revert", "cherry-pick"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What to merge.

    Attributes:
        source: The revision that was given.
        commit: The commit that it names.
        run: The run whose branch it is, or None.
        decisions: Decisions about single conflicts, by relation.
        record: The record of the run; None to use the one of its branch.
        base: The commit to compare both sides with; None for where they parted, or where a run
            began. Of a run it is a commit of the target that it was put on after it began.
        applies: The verb that applies what changed from `base` to `commit`, and no more, so that
            the commit does not become a parent of the result. A revert goes from a commit back to
            its parent. None for a merge, and for a run.
    """

    source: str
    commit: CommitId
    run: RunBranch | None
    policy: Policy = field(default_factory=Policy)
    decisions: Mapping[RelationName, Decisions] = field(default_factory=dict)
    record: Run | None = None
    base: CommitId | None = None
    applies: Applies | None = None

    @property
    def joins(self) -> bool:
        """Whether the commit becomes part of the target's history."""
        return self.run is None and self.applies is None

    @property
    def action(self) -> str:
        """What the branch's log calls it."""
        return self.applies or ("merge" if self.run is None else "publish")


@dataclass(frozen=True, slots=True, kw_only=True)
class MergePlan:
    """How to merge.

    Attributes:
        target: The branch to merge into, as it was when the plan was made.
        base: The commit that both sides are compared with.
        changes: What changes on the target, if `how` is `merge` or `conflict`; with clashes,
            without what they leave open.
        merged: How every relation that the work changed was merged then, by name.
        clashes: What could not be decided, by name, including schemas' comments and properties.
        metadata: What the commit records of how the plan was made, besides that of the terms.
    """

    work: Work
    target: Branch
    how: MergeKind
    base: CommitId
    changes: TreeChanges | None = None
    merged: tuple[Merged, ...] = ()
    clashes: tuple[Clash, ...] = ()
    metadata: Mapping[str, str] = field(default_factory=dict)

    @property
    def conflicts(self) -> tuple[str, ...]:
        """The undecided conflicts, one line each."""
        return tuple(map(str, self.clashes))

    @property
    def conflicts_line(self) -> str:
        """The same as one line; of many only the first are named."""
        more = len(self.clashes) - _SHOWN
        return "; ".join(self.conflicts[:_SHOWN]) + (f"; and {more} more" if more > 0 else "")

    def check_fast_forward(self) -> None:
        """Check that the target can be fast-forwarded.

        Raises:
            ConflictError: The target has commits that the source lacks.
        """
        if self.how not in ("merge", "conflict"):
            return
        source, target = self.work.source, self.target.name
        step = "Build again" if self.work.run else f"Merge {target!r} into {source!r} first"
        raise ConflictError(
            f"{target!r} has commits that {source!r} lacks, so it can't be fast-forwarded. "
            f"Nothing was changed. {step}, or merge without --ff-only."
        )

    def check_values(self) -> None:
        """Check that values chosen by hand have a merge of rows to go into.

        Raises:
            ConflictError: Values were chosen for rows, and the plan merges none.
        """
        chosen = any(item.has_values for item in self.work.decisions.values())
        if self.changes is None and chosen:
            raise ConflictError(
                f"Values were chosen for rows, and by now {self.target.name!r} has all of "
                f"{self.work.source!r}, or nothing else. Nothing was changed. Give the merge up "
                f"(dbt-vcs merge --abort {quote(self.target.name)}), and set the values with an "
                "update."
            )


def plan_merge(
    repository: Repository, work: Work, target: Branch, tables: TableMerges
) -> MergePlan:
    """Plan a merge; nothing that a reader could see is written.

    | base, the nearest common ancestor  | how                                                  |
    |------------------------------------|------------------------------------------------------|
    | is the source                      | `up_to_date`                                         |
    | is the target's head               | `fast_forward`                                       |
    | is neither                         | `merge`, `conflict` if something could not be decided |

    The base of a run is the commit it forked from; a target that has the run's commit is up to
    date. A shared run may go on after it landed: then the base is its commit that the target has.
    The change of one commit is always merged, since a target that has the commit may have undone
    it; it is up to date if nothing changes. Tables that were merged for an earlier plan, and have
    not changed since, are as they were merged then.

    Each relation follows the rule of `core.tree_changes`. A table that both sides changed is
    merged row by row, and its definition attribute by attribute; anything else that both changed
    is decided as a whole by the policy. All conflicts are found before anything is written that a
    reader could see.

    Raises:
        InputError: The two have no common history.
    """
    bases = _bases(repository, work, target)
    base = bases[0]
    if work.applies is None and base == work.commit:
        return MergePlan(work=work, target=target, how="up_to_date", base=base)
    if work.applies is None and base == target.head:
        return MergePlan(work=work, target=target, how="fast_forward", base=base)
    read = repository.objects
    ours, theirs = (read.tree(read.commit(id).tree) for id in (target.head, work.commit))
    # What the common ancestors show is the base, as in git. Versions of a table that both sides
    # have beside it, since one side picked from the other, don't count.
    with tables.common_base() as common_base:
        merge = merge_trees(read.tree(common_base.tree(bases)), ours, theirs, read.relations)
        shown = tuple(map(repository.tree, bases))
        return _Relations(repository, work, merge, tables, shown).plan(target, base)


def planned_changes(repository: Repository, plan: MergePlan) -> tuple[ChangeSummary, ...]:
    """Return how the target would change; for a conflict, what merges cleanly."""
    if plan.how == "up_to_date":
        return ()
    if plan.changes is None:
        return list_changes(repository, plan.target.head, plan.work.commit)
    changes, ours = plan.changes, repository.tree(plan.target.head)
    schemas = []
    for name, info in sorted(changes.schemas.items()):
        before = info_of(ours.schema_ref(name)) if ours.has_schema(name) else Absent
        schemas.append(SchemaChange(name, before, info))
    return summarize(repository, schemas, planned_relations(repository, plan))


def planned_relations(repository: Repository, plan: MergePlan) -> list[Change]:
    """Return the relations of which the target would show something else, by name."""
    if plan.how == "up_to_date":
        return []
    if plan.changes is None:
        return list(repository.diff(plan.target.head, plan.work.commit).relations)
    ours = repository.tree(plan.target.head)
    return [
        Change(name, ours.entry(name) or Absent, entry)
        for name, entry in sorted(plan.changes.relations.items())
    ]


def _bases(repository: Repository, work: Work, target: Branch) -> list[CommitId]:
    if work.base is not None:
        return [work.base]
    if (run := work.run) is not None:
        # A run brings what it did since it forked, whatever its target got from others.
        return [_landed(repository, run, work.commit, target.head) or run.fork]
    found = repository.merge_bases(work.commit, target.head)
    if not found:
        raise InputError(
            f"{work.source!r} and {target.name!r} have no common history, so there is nothing to "
            "compare their changes with."
        )
    return found


def _landed(
    repository: Repository, run: RunBranch, source: CommitId, head: CommitId
) -> CommitId | None:
    """Return the commit of a run up to which a branch has it, recorded or not; None if it hasn't.

    `source` is the run's last commit.
    """
    # Decision 6: a published run is one squashed commit, which has no parent among the run's. So
    # it is recognised by the invocation that it records.
    forked_at = repository.objects.commit(run.fork).committed_at
    for _, commit in repository.log(head):
        # The run began at its fork: an older commit can't be its result.
        if commit.committed_at <= forked_at:
            return None
        if commit.run is not None and commit.run.invocation == run.invocation:
            # Any other run has ended when it lands.
            landed = commit.run.head if run.is_shared else None
            return source if landed is None else repository.maintenance.current(landed)
    return None


_SHOWN: Final = 20
_PREFERRED: Final[Mapping[Choice, Side]] = {Choice.OURS: "ours", Choice.THEIRS: "theirs"}
"""The side whose definition is right, as somebody chose for a table whose columns conflict."""
_OPERATIONS: Final[Mapping[Applies | None, str]] = {"revert": "revert", "cherry-pick": "pick"}
_REBUILT: Final = (
    "both computed it anew, and it has no primary key to tell its rows apart (give the model one: "
    "config primary_key)"
)


@dataclass
class _Relations:
    """Merges what both sides changed, relation by relation.

    Attributes:
        work: What to merge, with its policy and decisions.
        merge: What is left to decide, and what is decided already.
        bases: What the common ancestors show, the newest first.
    """

    repository: Repository
    work: Work
    merge: TreeMerge
    tables: TableMerges
    bases: tuple[TreeReader, ...]
    relations: dict[RelationName, Entry | AbsentType] = field(default_factory=dict)
    schemas: dict[str, SchemaInfo | AbsentType] = field(default_factory=dict)
    merged: list[Merged] = field(default_factory=list)
    clashes: list[Clash] = field(default_factory=list)

    def plan(self, target: Branch, base: CommitId) -> MergePlan:
        self.relations.update(self.merge.relations)
        self.schemas.update(self.merge.schemas)
        # Values given by hand would get lost without a word where nothing is left to merge.
        for name in self.work.decisions.keys() - self.merge.conflicts.keys():
            self._check_no_values(name)
        for name, entry in self.merge.relations.items():
            mode = self.work.policy.mode_of(name, self._snapshot(entry))
            self.merged.append(Merged(name=name, mode=mode, how="fast_forward"))
        for name, triple in self.merge.conflicts.items():
            self._conflict(name, triple)
        for schema, infos in self.merge.schema_conflicts.items():
            self._schema(schema, infos)
        how: MergeKind = "conflict" if self.clashes else "merge"
        if self.work.applies is not None:
            self._make_from_ours(self.repository.tree(target.head))
            if not (self.clashes or self.relations or self.schemas):
                how = "up_to_date"
        changes = TreeChanges(relations=self.relations, schemas=self.schemas)
        return MergePlan(
            work=self.work,
            target=target,
            how=how,
            base=base,
            changes=None if how == "up_to_date" else changes,
            merged=tuple(sorted(self.merged, key=lambda item: item.name)),
            clashes=tuple(sorted(self.clashes, key=lambda item: item.name)),
        )

    def _make_from_ours(self, shown: TreeReader) -> None:
        """Show versions made from ours where a side was taken, and leave out what stays equal."""
        taken = {item.name for item in self.merged if item.how == "fast_forward"}
        changes = [
            Change(name, shown.entry(name) or Absent, entry)
            for name, entry in self.relations.items()
        ]
        again = entries_again(self.repository, [item for item in changes if item.name in taken])
        for name, ours, merged in changes:
            self.relations[name] = again.get(name, merged)
            # Rows that were merged to what they are have a version of their own, too.
            if self.relations[name] == ours or (name not in taken and self._is_same(merged, ours)):
                del self.relations[name]

    def _is_same(self, one: Entry | AbsentType, other: Entry | AbsentType) -> bool:
        left, right = self._snapshot(one), self._snapshot(other)
        return left is not None and right is not None and is_same_table(left, right)

    def _check_no_values(self, name: RelationName) -> None:
        """Check that no values were chosen for rows of a relation that isn't merged by row."""
        decided = self.work.decisions.get(name)
        if decided is not None and decided.has_values:
            raise ConflictError(
                f"Values were chosen for rows of {name}, whose rows are not changed on both sides "
                "any more. Nothing was changed. Give this merge up, merge again, and set the "
                "values with an update."
            )

    def _conflict(self, name: RelationName, triple: Sides[Entry]) -> None:
        ours, theirs = self._snapshot(triple.ours), self._snapshot(triple.theirs)
        mode = self.work.policy.mode_of(name, theirs)
        # Decision 38: a revert or restore makes a version of its own, so entries differ although
        # the tables are the same.
        side = self._unchanged_side(triple)
        if side is not None:
            self._side(name, triple.theirs if side == "ours" else None, mode)
            return
        # The change of one commit is that of rows only if its table was there before.
        is_created = self.work.applies is not None and not isinstance(triple.base, TableEntry)
        if ours is None or theirs is None or is_created:
            self._whole(name, triple, mode)
            return
        assert isinstance(triple.ours, TableEntry)
        assert isinstance(triple.theirs, TableEntry)
        objects, tips = self.repository.objects, (triple.ours.snapshot, triple.theirs.snapshot)
        based_on = self._related(triple, ours, theirs)
        bases = self._bases(name, based_on, tips)
        # Decision 32: rows that each side derived from other changes don't add up. Ours accounts
        # for what its inputs show, and its next build reads what one commit changes in them.
        side = whole_side(objects, bases, *tips)
        if side is not None:
            is_wanted = side == "theirs" and self.work.applies is None
            self._side(name, triple.theirs if is_wanted else None, mode)
            return
        if not theirs.primary_key and self._both_rebuilt(triple):
            # Decision 30: a side that went on from what the other one took is no conflict.
            if self._takes_side_ahead(name, triple.theirs, tips, mode):
                return
            # Decision 12: by counts, the rows of both rebuilds would stay, as if added.
            self._whole(name, triple, mode, _REBUILT)
            return
        self._rows(name, triple, based_on, bases, tips, mode)

    def _rows(
        self,
        name: RelationName,
        triple: Sides[Entry],
        based_on: SnapshotId | None,
        bases: list[SnapshotId],
        tips: tuple[SnapshotId, SnapshotId],
        mode: Mode,
    ) -> None:
        """Merge a table that both sides changed row by row."""
        assert not isinstance(triple.theirs, AbsentType)
        decided = self.work.decisions.get(name, Decisions())
        found = self.tables.merge(
            TableMerge(
                name=name,
                base=bases[0] if bases else None,
                based_on=based_on,
                ours=tips[0],
                theirs=tips[1],
                mode=mode,
                decisions=decided.rows,
                prefer=_PREFERRED.get(decided.whole) if decided.whole else None,
                joins=self.work.applies is None,
                operation=_OPERATIONS.get(self.work.applies, "merge"),
            )
        )
        if isinstance(found, Clash):
            if self._takes_side_ahead(name, triple.theirs, tips, mode):
                return
            # `ours` and `theirs` went into the merge, as the preferred definition. The other two
            # mean the whole table.
            if found.kind == "schema" and decided.whole in (Choice.BASE, Choice.DELETE):
                self._whole(name, triple, mode, found.message)
            else:
                # A mode decided about attributes of the definition, if it could: taking a side as
                # a whole would lose rows that only the other side has.
                self.clashes.append(found)
            return
        version, merged = found
        self.relations[name] = TableEntry(snapshot=version)
        self.merged.append(merged)

    def _unchanged_side(self, triple: Sides[Entry]) -> Literal["ours", "theirs"] | None:
        """Return the side that a restore or revert made equal to the base, or to the other one."""
        # Theirs first: where all are the same, ours stays as it is.
        if self._is_same(triple.theirs, triple.base) or self._is_same(triple.theirs, triple.ours):
            return "theirs"
        return "ours" if self._is_same(triple.ours, triple.base) else None

    def _related(
        self, triple: Sides[Entry], ours: Snapshot, theirs: Snapshot
    ) -> SnapshotId | None:
        """Return the table of the common commit; None if neither side's goes back to it."""
        base = self._snapshot(triple.base)
        if self.work.applies is not None:
            assert isinstance(triple.base, TableEntry)
            return triple.base.snapshot
        # Decision 38: the graph of versions is asked only where the common commit's table is
        # neither side's.
        if base is None or base.table not in (ours.table, theirs.table):
            return None
        assert isinstance(triple.base, TableEntry)
        return triple.base.snapshot

    def _bases(
        self, name: RelationName, based_on: SnapshotId | None, tips: tuple[SnapshotId, SnapshotId]
    ) -> list[SnapshotId]:
        """Return the versions of a table that both sides come from, newest first."""
        # Decision 38: tables that the common commits don't relate, such as two clones of a third,
        # have the bases of their own history.
        shown = [
            entry.snapshot
            for tree in self.bases
            if isinstance(entry := tree.entry(name), TableEntry)
        ]
        if based_on is not None:
            return shown or [based_on]
        return best_bases(self.repository.objects, *tips) or shown

    def _takes_side_ahead(
        self, name: RelationName, theirs: Entry, tips: tuple[SnapshotId, SnapshotId], mode: Mode
    ) -> bool:
        """Take the side that went on from what the other one shows, if one did."""
        # Somebody has seen this conflict, and that choice stands. Of one commit's change, that
        # side has more than is wanted.
        if name in self.work.decisions or self.work.applies is not None:
            return False
        side = _side_ahead(self.repository.objects, *tips)
        if side is not None:
            self._side(name, theirs if side == "theirs" else None, mode)
        return side is not None

    def _side(self, name: RelationName, theirs: Entry | AbsentType | None, mode: Mode) -> None:
        """Take a side of a table as a whole; None to keep ours."""
        self._check_no_values(name)
        if theirs is not None:
            self.relations[name] = theirs
        how: How = "up_to_date" if theirs is None else "fast_forward"
        self.merged.append(Merged(name=name, mode=mode, how=how))

    def _both_rebuilt(self, triple: Sides[Entry]) -> bool:
        """Return whether both sides have rebuilt the whole table since the base."""
        base = triple.base.snapshot if isinstance(triple.base, TableEntry) else None
        # Theirs first: it mostly has fewer versions since the base than what many merge into.
        tips = [
            side.snapshot for side in (triple.theirs, triple.ours) if isinstance(side, TableEntry)
        ]
        return all(is_rebuilt(self.repository.objects, tip, base) for tip in tips)

    def _whole(
        self,
        name: RelationName,
        triple: Sides[Entry],
        mode: Mode,
        message: str | None = None,
    ) -> None:
        """Decide a relation as a whole."""
        self._check_no_values(name)
        choice = self._choice(name, mode)
        if choice is None:
            kind: Literal["relation", "schema"] = "schema" if message else "relation"
            self.clashes.append(Clash(name=name, kind=kind, message=message or _described(triple)))
            return
        chosen: Mapping[Choice, Entry | AbsentType] = {
            Choice.OURS: triple.ours,
            Choice.THEIRS: triple.theirs,
            # The files of a base that several commits were merged for don't last.
            Choice.BASE: self.bases[0].entry(name) or Absent,
            Choice.DELETE: Absent,
        }
        if chosen[choice] != triple.ours:
            self.relations[name] = chosen[choice]
        how: How = "up_to_date" if chosen[choice] == triple.ours else "fast_forward"
        self.merged.append(Merged(name=name, mode=mode, how=how, conflicts=1))

    def _schema(self, schema: str, infos: Sides[SchemaInfo]) -> None:
        """Decide a schema's comment and properties, using the default mode."""
        name = RelationName(schema, "")
        mode = self.work.policy.override or self.work.policy.default
        choice = self._choice(name, mode)
        if choice is None:
            message = f"comment or properties, {_described(infos)}"
            self.clashes.append(Clash(name=name, kind="relation", message=message))
        elif choice is not Choice.OURS:
            self.schemas[schema] = infos.theirs if choice is Choice.THEIRS else infos.base

    def _choice(self, name: RelationName, mode: Mode) -> Choice | None:
        """Return the choice for a relation or schema as a whole, by hand or by the mode."""
        decided = self.work.decisions.get(name, Decisions()).whole
        return decided or (Choice(mode.side) if mode.side else None)

    def _snapshot(self, entry: Entry | AbsentType) -> Snapshot | None:
        if not isinstance(entry, TableEntry):
            return None
        return self.repository.objects.snapshot(entry.snapshot)


def _described(triple: Sides[Entry] | Sides[SchemaInfo]) -> str:
    words = []
    for side, value in (("ours", triple.ours), ("theirs", triple.theirs)):
        if value is Absent:
            words.append(f"{side} dropped it")
        else:
            words.append(f"{side} {'created' if triple.base is Absent else 'changed'} it")
    return ", ".join(words)


def _side_ahead(
    objects: ObjectStore, ours: SnapshotId, theirs: SnapshotId
) -> Literal["ours", "theirs"] | None:
    """Return the side that has had the other one's version, or the one that this was taken from.

    None if neither did.
    """
    # Decision 30: two branches that took one result have versions of the same files. If one of
    # them went on from there, and rows of both can't be merged, its version is the merged one.
    if _has_had(objects, ours, theirs):
        return "ours"
    if _has_had(objects, theirs, ours):
        return "theirs"
    return None


def _has_had(objects: ObjectStore, tip: SnapshotId, other: SnapshotId) -> bool:
    """Return whether a version came from another one, or from what that was taken from."""

    def parents(id: SnapshotId) -> tuple[SnapshotId, ...]:
        try:
            return objects.snapshot(id).parents
        except DamagedError:
            # What is older than that is not looked for.
            return ()

    def age(id: SnapshotId) -> int:
        try:
            return objects.snapshot(id).created_at
        except DamagedError:
            return 0

    taken = taken_from(objects.snapshot(other))
    wanted = (other,) if taken is None else (other, taken)
    return any(descends_from(tip, id, parents, age) for id in wanted)


def whole_side(
    objects: ObjectStore, bases: Sequence[SnapshotId], ours: SnapshotId, theirs: SnapshotId
) -> Side | None:
    """Return the side whose rows to take as a whole; None to merge the rows of both.

    Rows that both sides derived from changes can't be added up: two sums that each gained 10 for
    another order are equal, and a merge would keep one of them. A side as a whole is right, since
    it says which versions of its inputs it accounts for, and the next build reads the rest.

    Rows are merged unless both sides built the table from changes of other versions. Otherwise it
    is the side that was rebuilt since the base, or else theirs if it has consumed all that ours
    has, or else ours.

    Args:
        bases: The versions to compare both with, the newest first; none if they have nothing in
            common, several after criss-cross merges.
        ours: The version that is changed.
        theirs: The version whose changes are wanted.
    """
    our, their = objects.snapshot(ours), objects.snapshot(theirs)
    # Neither side was built from changes, so there is nothing to count twice.
    if our.consumption is None and their.consumption is None:
        return None
    given = {objects.snapshot(id).consumption for id in bases} or {None}
    sides: Consumptions = next(iter(given)), our.consumption, their.consumption
    nearest = bases[0] if bases else None
    rebuilt = is_rebuilt(objects, ours, nearest), is_rebuilt(objects, theirs, nearest)
    is_by_row = has_name(sides) if our.primary_key else adds_up(sides) and not all(rebuilt)
    if is_by_row and len(given) == 1:
        return None
    return _further(objects, sides, rebuilt)


def _further(objects: ObjectStore, sides: Consumptions, rebuilt: tuple[bool, bool]) -> Side:
    _, ours, theirs = sides
    # Decision 32: the side that was rebuilt since the base, or else theirs if it has consumed all
    # that ours has, or else ours. A side without a record yields to one that can go on from its
    # own.
    if ours == theirs or theirs is None:
        return "ours"
    if ours is None:
        return "theirs"
    if rebuilt[0] != rebuilt[1]:
        return "ours" if rebuilt[0] else "theirs"
    return "theirs" if is_at_or_before(objects, ours, theirs) else "ours"
