"""Combining: merge two trees relation by relation, and tables row by row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from dbt.adapters.vcs.changes.merges.conflicts.decisions import Decisions
from dbt.adapters.vcs.changes.merges.conflicts.policy import Mode, Policy
from dbt.adapters.vcs.changes.merges.conflicts.stored_conflicts import Clash
from dbt.adapters.vcs.changes.merges.consumed_sides import whole_side
from dbt.adapters.vcs.changes.merges.rowwise.choice import Choice
from dbt.adapters.vcs.changes.merges.table_merge import TableMerge, is_rebuilt
from dbt.adapters.vcs.changes.merges.table_merges import TableMerges
from dbt.adapters.vcs.core.codec import is_same_table
from dbt.adapters.vcs.core.errors import ConflictError, DamagedError
from dbt.adapters.vcs.core.graph import ancestors
from dbt.adapters.vcs.core.ids import CommitId, SnapshotId
from dbt.adapters.vcs.core.model import Absent, Entry, RelationName, Snapshot, TableEntry
from dbt.adapters.vcs.core.model.tree import AbsentType
from dbt.adapters.vcs.core.plan.schema_merge import Side
from dbt.adapters.vcs.core.plan.tree_merge import SchemaInfo, Sides, TreeMerge, merge_trees
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.store.objects import ObjectStore
from dbt.adapters.vcs.core.treereader import TreeChanges, TreeReader
from dbt.adapters.vcs.table.compare.comparison import best_bases, taken_from

_SHOWN: Final = 20
_WHOLE: Final[Mapping[Mode, Choice]] = {
    Mode.SKIP: Choice.OURS,
    Mode.CELL_SKIP: Choice.OURS,
    Mode.ACCEPT: Choice.THEIRS,
    Mode.CELL_ACCEPT: Choice.THEIRS,
}
_PREFERRED: Final[Mapping[Choice, Side]] = {Choice.OURS: "ours", Choice.THEIRS: "theirs"}
"""The side whose definition is right, as somebody chose for a table whose columns conflict."""
_REBUILT: Final = (
    "both computed it anew, and it has no primary key to tell its rows apart (give the model one: "
    "config primary_key)"
)

How: TypeAlias = Literal["up_to_date", "fast_forward", "graft", "rewrite"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Merged:
    """How one relation was merged.

    Attributes:
        name: The relation.
        mode: The conflict mode.
        how: `up_to_date`: theirs has nothing new; `fast_forward`: ours had nothing new, so
            theirs is taken as it is; `graft`: the files of both sides, without reading any;
            `rewrite`: some rows were written.
        added: Rows that ours gains; `removed`: loses; `modified`: gains with other values. Not
            counted here if theirs is taken as it is: a summary of the changes has them.
        is_exact: False if these are upper bounds.
        conflicts: Rows that both sides changed in different ways, decided by the mode or by hand.
    """

    name: RelationName
    mode: Mode
    how: How
    added: int = 0
    removed: int = 0
    modified: int = 0
    is_exact: bool = True
    conflicts: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Combination:
    """The changes to ours, and the undecided conflicts.

    Attributes:
        changes: Changes to the tree of ours; complete only if there are no clashes.
        merged: Every relation that theirs changed, by name.
        clashes: Undecided conflicts by name, including schemas' comments and properties.
    """

    changes: TreeChanges
    merged: tuple[Merged, ...]
    clashes: tuple[Clash, ...]

    def told(self) -> str:
        """Return the clashes as one line; of many only the first are named."""
        more = f"; and {len(self.clashes) - _SHOWN} more" if len(self.clashes) > _SHOWN else ""
        return "; ".join(map(str, self.clashes[:_SHOWN])) + more


def combine(
    repository: Repository,
    *,
    bases: Sequence[CommitId],
    ours: CommitId,
    theirs: CommitId,
    policy: Policy,
    decisions: Mapping[RelationName, Decisions] | None = None,
    tables: TableMerges,
) -> Combination:
    """Merge the tree of one commit into that of another, both seen from their common ancestors.

    The ancestors are the nearest ones, newest first; several are merged with each other. What they
    show is the base, as in git: versions of a table that both sides have beside it, since one side
    picked from the other, don't count.

    Each relation follows the rule of `core.plan.tree_merge`. A table that both sides changed is
    merged row by row, and its definition attribute by attribute; anything else that both changed
    is decided as a whole by the policy. All conflicts are found before anything is written that a
    reader could see.
    """
    read = repository.objects
    our, their = (read.tree(read.commit(id).tree) for id in (ours, theirs))
    with tables.crossing() as crossing:
        merge = merge_trees(read.tree(crossing.tree(bases)), our, their, read.schema_tree)
        shown = tuple(map(repository.tree, bases))
        now = repository.tree(ours)
        return _Work(repository, merge, shown, now, policy, decisions or {}, tables).run()


@dataclass
class _Work:
    """One call of `combine`."""

    repository: Repository
    merge: TreeMerge
    bases: tuple[TreeReader, ...]
    ours: TreeReader
    policy: Policy
    decisions: Mapping[RelationName, Decisions]
    tables: TableMerges
    relations: dict[RelationName, Entry | AbsentType] = field(default_factory=dict)
    schemas: dict[str, SchemaInfo | AbsentType] = field(default_factory=dict)
    merged: list[Merged] = field(default_factory=list)
    clashes: list[Clash] = field(default_factory=list)

    def run(self) -> Combination:
        self.relations.update(self.merge.relations)
        self.schemas.update(self.merge.schemas)
        self._check_values()
        for name, entry in self.merge.relations.items():
            self.merged.append(self._taken(name, entry))
        for name, triple in self.merge.conflicts.items():
            self._conflict(name, triple)
        for schema, infos in self.merge.schema_conflicts.items():
            self._schema(schema, infos)
        return Combination(
            changes=TreeChanges(relations=self.relations, schemas=self.schemas),
            merged=tuple(sorted(self.merged, key=lambda item: item.name)),
            clashes=tuple(sorted(self.clashes, key=lambda item: item.name)),
        )

    def _check_values(self) -> None:
        """Check that values chosen by hand are only for tables that are merged row by row.

        Raises:
            ConflictError: Values were chosen for rows of a table that is not.
        """
        for name in self.decisions.keys() - self.merge.conflicts.keys():
            self._check_no_values(name)

    def _check_no_values(self, name: RelationName) -> None:
        decided = self.decisions.get(name)
        if decided is not None and decided.has_values:
            raise ConflictError(
                f"Values were chosen for rows of {name}, whose rows are not changed on both sides "
                "any more. Nothing was changed. Begin again (dbt-vcs merge --abort, then merge), "
                "and set the values with an update."
            )

    def _taken(self, name: RelationName, entry: Entry | AbsentType) -> Merged:
        """Return the entry for a relation that only theirs changed."""
        mode = self.policy.mode_of(name, self._snapshot(entry))
        return Merged(name=name, mode=mode, how="fast_forward")

    def _conflict(self, name: RelationName, triple: Sides[Entry]) -> None:
        ours, theirs = self._snapshot(triple.ours), self._snapshot(triple.theirs)
        mode = self.policy.mode_of(name, theirs)
        side = self._unchanged_side(triple)
        if side is not None:
            self._side(name, triple.theirs if side == "ours" else None, mode)
            return
        if ours is None or theirs is None:
            self._whole(name, triple, mode)
            return
        assert isinstance(triple.ours, TableEntry)
        assert isinstance(triple.theirs, TableEntry)
        objects, tips = self.repository.objects, (triple.ours.snapshot, triple.theirs.snapshot)
        based_on = self._related(triple, ours, theirs)
        bases = self._bases(name, based_on, tips)
        side = whole_side(objects, bases, *tips)
        if side is not None:
            self._side(name, triple.theirs if side == "theirs" else None, mode)
            return
        if not theirs.primary_key and self._both_rebuilt(triple):
            if self._takes_side_ahead(name, triple.theirs, tips, mode):
                return
            # A row-wise merge would keep all rows of both rebuilds, as rows that each side added.
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
        decided = self.decisions.get(name, Decisions())
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
            )
        )
        if isinstance(found, Clash):
            if self._takes_side_ahead(name, triple.theirs, tips, mode):
                return
            if found.kind == "schema" and decided.whole in (Choice.BASE, Choice.DELETE):
                self._whole(name, triple, mode, found.message)
            else:
                # A mode decided about attributes of the definition, if it could: taking a side as
                # a whole would lose rows that only the other side has.
                self.clashes.append(found)
            return
        self.relations[name] = TableEntry(snapshot=found.snapshot)
        self.merged.append(
            Merged(
                name=name,
                mode=mode,
                how=found.how,
                added=found.added,
                removed=found.removed,
                modified=found.modified,
                conflicts=found.conflicts,
            )
        )

    def _unchanged_side(self, triple: Sides[Entry]) -> Literal["ours", "theirs"] | None:
        """Return the side that a restore or revert made equal to the base, or to the other one."""

        def is_same(one: Entry | AbsentType, other: Entry | AbsentType) -> bool:
            left, right = self._snapshot(one), self._snapshot(other)
            return left is not None and right is not None and is_same_table(left, right)

        if is_same(triple.theirs, triple.base) or is_same(triple.theirs, triple.ours):
            return "theirs"
        return "ours" if is_same(triple.ours, triple.base) else None

    def _related(
        self, triple: Sides[Entry], ours: Snapshot, theirs: Snapshot
    ) -> SnapshotId | None:
        """Return the table of the common commit; None if neither side's goes back to it."""
        base = self._snapshot(triple.base)
        if base is None or base.table not in (ours.table, theirs.table):
            return None
        assert isinstance(triple.base, TableEntry)
        return triple.base.snapshot

    def _bases(
        self, name: RelationName, based_on: SnapshotId | None, tips: tuple[SnapshotId, SnapshotId]
    ) -> list[SnapshotId]:
        """Return the versions of a table that both sides come from, newest first.

        Tables that the common commits don't relate, such as two clones of a third, have those of
        their own history.
        """
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
        if name in self.decisions:
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
        tips = [
            side.snapshot for side in (triple.ours, triple.theirs) if isinstance(side, TableEntry)
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
        mode = self.policy.override or self.policy.default
        choice = self._choice(name, mode)
        if choice is None:
            message = f"comment or properties, {_described(infos)}"
            self.clashes.append(Clash(name=name, kind="relation", message=message))
        elif choice is not Choice.OURS:
            self.schemas[schema] = infos.theirs if choice is Choice.THEIRS else infos.base

    def _choice(self, name: RelationName, mode: Mode) -> Choice | None:
        """Return the choice for a relation or schema as a whole, by hand or by the mode."""
        decided = self.decisions.get(name, Decisions()).whole
        return decided or _WHOLE.get(mode)

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

    Two branches that took one result have versions of the same files. If one of them went on from
    there, and rows of both can't be merged, its version is the merged one. None if neither did.
    """
    if not _with_source(objects, theirs).isdisjoint(_past(objects, ours)):
        return "ours"
    if not _with_source(objects, ours).isdisjoint(_past(objects, theirs)):
        return "theirs"
    return None


def _with_source(objects: ObjectStore, id: SnapshotId) -> set[SnapshotId]:
    taken = taken_from(objects.snapshot(id))
    return {id} if taken is None else {id, taken}


def _past(objects: ObjectStore, tip: SnapshotId) -> Iterator[SnapshotId]:
    """Return a version and all that it came from, what was taken included."""

    def parents(id: SnapshotId) -> tuple[SnapshotId, ...]:
        try:
            return objects.snapshot(id).parents
        except DamagedError:
            # What is older than that is not looked for.
            return ()

    return ancestors([tip], parents)
