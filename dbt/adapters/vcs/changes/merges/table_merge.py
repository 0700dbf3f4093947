"""Table merge: merge the rows of a table that both lines of history changed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from typing import Final

import msgspec
import pyarrow as pa

from dbt.adapters.vcs.changes.diffs.difference import Difference
from dbt.adapters.vcs.changes.merges.by_engine.engine_repair import EngineRepairs
from dbt.adapters.vcs.changes.merges.conflicts.open_merges import Clash
from dbt.adapters.vcs.changes.merges.conflicts.policy import Choice, Mode
from dbt.adapters.vcs.changes.merges.merged_checks import check_merged, is_checked_when_merged
from dbt.adapters.vcs.changes.merges.rowwise.row_merge import SchemaConflictError, merge
from dbt.adapters.vcs.changes.merges.rowwise.row_outcome import How, MergeOutcome
from dbt.adapters.vcs.changes.merges.rowwise.row_policy import Decided, Pick, RowPolicy
from dbt.adapters.vcs.changes.merges.rowwise.side_fitting import MisfitError
from dbt.adapters.vcs.core.errors import InputError, UnsupportedError
from dbt.adapters.vcs.core.graph import ancestors, reaches_alone
from dbt.adapters.vcs.core.ids import CommitId, SnapshotId, TreeId, WriteId, new_write_id
from dbt.adapters.vcs.core.model import (
    Field,
    Origin,
    RelationName,
    Schema,
    Snapshot,
    TableEntry,
    Tree,
)
from dbt.adapters.vcs.core.plan.schema_merge import Side
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.store.objects import ObjectStore
from dbt.adapters.vcs.core.tree_changes import TreeChanges, merge_trees
from dbt.adapters.vcs.engines.port import Rewriters
from dbt.adapters.vcs.table.compare.comparison import best_bases, merge_base, own_graph
from dbt.adapters.vcs.table.limits import MERGE_LIMITS, Limits
from dbt.adapters.vcs.table.types import plain_type_text

_SIDES = ("base", "our", "their")


@dataclass(frozen=True, slots=True, kw_only=True)
class TableMerge:
    """What to merge.

    Attributes:
        name: The table, for messages.
        ours: The version that is changed.
        theirs: The version whose changes are wanted.
        base: The version to use as base if the tables' own history has none.
        based_on: The version to use as base whatever their history says.
        decisions: Choices for single rows.
        only: The rows whose changes are wanted; None for all.
        prefer: The side that is right where both changed the definition differently; None to ask
            the mode.
        joins: Whether the result has theirs as a parent. Rows that are picked or undone don't make
            theirs a part of its history.
        dry_run: Write nothing, and return ours as the merged version.
    """

    name: RelationName
    ours: SnapshotId
    theirs: SnapshotId
    mode: Mode
    base: SnapshotId | None = None
    based_on: SnapshotId | None = None
    decisions: tuple[Decided, ...] = ()
    only: Pick | None = None
    prefer: Side | None = None
    joins: bool = True
    dry_run: bool = False
    operation: str = "merge"
    origin: Origin = field(default_factory=Origin)


@dataclass(frozen=True, slots=True, kw_only=True)
class Merged:
    """How one relation was merged.

    Attributes:
        how: `up_to_date`: theirs has nothing new; `fast_forward`: ours had nothing new, so
            theirs is taken as it is; `graft`: the files of both sides, without reading any;
            `rewrite`: some rows were written; `nothing_picked`: rows were to be picked, and theirs
            changed none of them.
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


def merge_tables(
    repository: Repository,
    work: TableMerge,
    sessions: Rewriters | None,
    *,
    limits: Limits = MERGE_LIMITS,
) -> tuple[SnapshotId, Merged] | Clash:
    """Merge two versions of a table; return the merged one, or undecided conflicts as a clash.

    It is stored, but nothing refers to it yet.

    The base is the nearest common ancestor of the two versions, through clones and earlier merges.
    Several ancestors are merged with each other. If there is none, the given base is used, such as
    the table of a common commit.

    Args:
        sessions: Provides a session of Spark, used only for columns of types that nothing else
            has, or if it is asked for; without it such a merge is refused.
        limits: How many rows are compared column by column; SQL decides on more.

    Raises:
        InputError: Values that were chosen by hand break what the merged definition enforces.
        UnsupportedError: Both changed the same rows, and they have columns that can't be merged.
    """
    read = repository.objects.snapshot
    with common_base_of(repository, sessions, limits=limits) as common_base:
        # Decision 38: a merge of commits brings its own base, and the graph of versions isn't
        # asked.
        base = None if work.based_on else common_base.base(work.ours, work.theirs)
        given = work.based_on or work.base
        if base is None and given:
            base = read(given)
        policy = RowPolicy(
            mode=work.mode,
            decisions=work.decisions,
            only=work.only,
            prefer=work.prefer,
        )
        try:
            outcome = common_base.merge(base, read(work.ours), read(work.theirs), policy)
            if outcome.is_blocked:
                try:
                    return _clash(work.name, outcome)
                finally:
                    # Files may have been written before the conflict was found, to fit a side to
                    # the definition. The rows in conflict are read from them.
                    outcome.forget()
            return _merged(repository, work, outcome, common_base.engine, sessions)
        except MisfitError as error:
            return Clash(name=work.name, kind="schema", message=error.what)
        except SchemaConflictError as error:
            return Clash(
                name=work.name,
                kind="schema",
                message="both declared it differently: " + "; ".join(map(str, error.conflicts)),
            )


@contextmanager
def common_base_of(
    repository: Repository,
    sessions: Rewriters | None,
    *,
    limits: Limits = MERGE_LIMITS,
) -> Iterator[CommonBase]:
    """Yield what merges rows and makes bases; the arguments are those of `merge_tables`.

    What it wrote for bases is deleted at the end.
    """
    with EngineRepairs(blobs=repository.blobs, sessions=sessions) as engine:
        common_base = CommonBase(repository=repository, limits=limits, engine=engine)
        try:
            yield common_base
        finally:
            common_base.forget()


def base_of(repository: Repository, work: TableMerge) -> SnapshotId | None:
    """Return the version to compare both sides with; None if there is none."""
    return work.based_on or merge_base(repository.objects, work.ours, work.theirs) or work.base


def is_rebuilt(objects: ObjectStore, tip: SnapshotId, base: SnapshotId | None) -> bool:
    """Return whether all rows of a version were computed again since another version."""

    def is_new(id: SnapshotId) -> bool:
        return objects.snapshot(id).operation in ("create", "rebuild")

    parents, age = own_graph(objects)
    if base is None:
        return any(map(is_new, ancestors([tip], parents, age)))
    # The base isn't always below the tip: a merge may have taken the other side whole.
    return reaches_alone(tip, base, is_new, parents, age)


def key_of(snapshot: Snapshot) -> tuple[Field, ...]:
    """Return the columns that identify a row: those of the key, or all without one."""
    return snapshot.key or snapshot.schema.fields


def _merged(
    repository: Repository,
    work: TableMerge,
    outcome: MergeOutcome,
    engine: EngineRepairs,
    sessions: Rewriters | None,
) -> tuple[SnapshotId, Merged]:
    # None if an engine has to count them, once they are written.
    counts = outcome.counts
    write = new_write_id()
    if outcome.how in ("up_to_date", "nothing_picked"):
        # Ours as it is stored: the outcome's may have other files for the same rows.
        version = repository.objects.snapshot(work.ours)
    elif outcome.how == "fast_forward":
        version = outcome.theirs
    # Even a dry run has to write rows that an engine counts or that checks read.
    elif work.dry_run and counts is not None and not _is_checked(work, outcome):
        version = outcome.ours
    else:
        parents = (work.ours, work.theirs) if work.joins else (work.ours,)
        version = outcome.put(
            write=write,
            parents=parents,
            created_at=repository.clock(),
            operation=work.operation,
            origin=work.origin,
            is_whole=work.only is None,
        )
        try:
            version = check_merged(
                repository,
                work.name,
                version,
                outcome.ours,
                outcome.theirs,
                verbatim=_is_verbatim(work, outcome),
                sessions=sessions,
            )
        except InputError as error:
            outcome.forget(write)
            if any(item.choice is Choice.CUSTOM for item in work.decisions):
                # Values that somebody chose are corrected where they were chosen.
                raise
            raise MisfitError(str(error)) from error
    if counts is None:
        before = msgspec.structs.replace(outcome.ours, schema=version.schema)
        changed = Difference(repository=repository, before=before, after=version)
        counts = changed.counts_by_engine(engine.session(version.schema.fields))
    if work.dry_run:
        outcome.forget(write)
    stored = work.ours if work.dry_run else SnapshotId(repository.objects.put(version))
    return stored, Merged(
        name=work.name,
        mode=work.mode,
        how=outcome.how,
        added=counts.added,
        removed=counts.removed,
        modified=counts.modified,
        conflicts=len(outcome.conflicts),
    )


def _is_checked(work: TableMerge, outcome: MergeOutcome) -> bool:
    """Return whether rows have to be looked at, which must have been written for it."""
    definition, verbatim = outcome.definition, _is_verbatim(work, outcome)
    version = msgspec.structs.replace(
        outcome.ours,
        schema=definition.schema,
        primary_key=definition.primary_key,
        properties=dict(definition.properties),
    )
    return is_checked_when_merged(outcome.ours, outcome.theirs, version, verbatim=verbatim)


def _is_verbatim(work: TableMerge, outcome: MergeOutcome) -> bool:
    """Return whether every row of a merge is a row of ours or of theirs."""
    # Neither side has checked a row of the base, a row given by hand, or one mixed of columns.
    others = (Choice.BASE, Choice.CUSTOM)
    is_mixed = work.mode.is_by_cell or any(item.choice in others for item in work.decisions)
    return not is_mixed or outcome.repair is None


def _clash(name: RelationName, outcome: MergeOutcome) -> Clash:
    rows, definition = outcome.conflicts.table, outcome.definition
    schema, count = definition.schema, len(outcome.conflicts)
    return Clash(
        name=name,
        kind="rows",
        message="row changed differently" if count == 1 else "rows changed differently",
        rows=rows,
        more=count - rows.num_rows,
        columns=_columns(rows, schema),
        key=tuple(field.name for field in definition.key),
        required=frozenset(field.name for field in schema.fields if not field.nullable),
    )


def _columns(table: pa.Table, schema: Schema) -> tuple[Field, ...]:
    types = {f"{side}_{f.name}": f.type for side in _SIDES for f in schema.fields}
    return tuple(
        Field(
            id="",
            name=column,
            type=types.get(column) or plain_type_text(table.schema.field(column).type) or "string",
        )
        for column in table.column_names
    )


class TableMerges:
    """Merges tables, and keeps the results for the next plan of the same merge.

    A plan that lost its race is made anew on the target's new head. What another writer left
    alone has the same two versions there and the same base, so it gives the same result.
    """

    def __init__(
        self, repository: Repository, sessions: Rewriters | None, *, dry_run: bool = False
    ) -> None:
        """Take what `merge_tables` does; in a dry run no merged version is stored."""
        self._repository = repository
        self._sessions = sessions
        self._dry_run = dry_run
        self._done: dict[
            tuple[SnapshotId, SnapshotId], tuple[TableMerge, tuple[SnapshotId, Merged] | Clash]
        ]
        self._done = {}

    def common_base(self) -> AbstractContextManager[CommonBase]:
        """Return what makes one base out of several, for as long as the context is open."""
        return common_base_of(self._repository, self._sessions)

    def merge(self, work: TableMerge) -> tuple[SnapshotId, Merged] | Clash:
        """Merge two versions of a table as `merge_tables` does, at most once.

        Raises:
            UnsupportedError: Both changed the same rows, and they have columns that can't be
                merged.
        """
        if self._dry_run:
            work = replace(work, dry_run=True)
        key = work.ours, work.theirs
        before, found = self._done.get(key, (None, None))
        if found is not None and before == work:
            # By now a collection may consider the objects of the earlier plan old: they are
            # renewed.
            if not isinstance(found, Clash):
                self._renew(work, found[0])
            return found
        found = merge_tables(self._repository, work, self._sessions)
        self._done[key] = work, found
        return found

    def _renew(self, work: TableMerge, version: SnapshotId) -> None:
        """Store what was stored for an earlier plan again, as a new plan would."""
        objects = self._repository.objects
        old = {
            ref.id for side in (work.ours, work.theirs) for ref in objects.snapshot(side).segments
        }
        merged = objects.snapshot(version)
        for ref in merged.segments:
            # Segments of either side are held by their versions.
            if ref.id not in old:
                objects.put(objects.segment(ref.id))
        objects.put(merged)


# Histories that crossed more often have the newest base from there on.
_DEEPEST: Final = 8


@dataclass(kw_only=True)
class CommonBase:
    """Makes one base out of several; call `forget` to delete what it writes.

    Two lines have several bases where they merged each other. The bases are first merged with each
    other, as in git's recursive merge. A single base lacks what the others hold: an update that
    both sides already have would look like a change by one side, and could overwrite what the
    other side has done since.
    """

    repository: Repository
    limits: Limits
    engine: EngineRepairs
    _made: list[tuple[MergeOutcome, WriteId]] = field(default_factory=list)

    def merge(
        self, base: Snapshot | None, ours: Snapshot, theirs: Snapshot, policy: RowPolicy
    ) -> MergeOutcome:
        """Merge the rows of two versions, as `row_merge.merge` does."""
        return merge(
            self.repository,
            base,
            ours,
            theirs,
            policy=policy,
            limits=self.limits,
            engine=self.engine,
        )

    def base(self, left: SnapshotId, right: SnapshotId, depth: int = 0) -> Snapshot | None:
        """Return the version to compare two versions with; None if they have nothing in common.

        If several bases changed one row differently, the newest wins for that row. A base that
        can't be merged with the newest (different definitions, or too large) is left out.
        """
        read = self.repository.objects.snapshot
        found = best_bases(self.repository.objects, left, right)
        if not found:
            return None
        newest, merged = found[0], read(found[0])
        if depth < _DEEPEST:
            for other in found[1:]:
                base = self.base(newest, other, depth + 1)
                merged = self._merged(base, merged, (newest, other))
        return merged

    def tree(self, bases: Sequence[CommitId], depth: int = 0) -> TreeId:
        """Return what the common ancestors of two commits show: one tree, of several merged ones.

        The newest is the first. Of a relation that they changed in ways that can't be merged, it
        has what the newest shows. The tables that are merged lose their files with `forget`.
        """
        tree = self.repository.objects.commit(bases[0]).tree
        if depth < _DEEPEST:
            for other in bases[1:]:
                tree = self._both(tree, bases[0], other, depth + 1)
        return tree

    def _both(self, ours: TreeId, newest: CommitId, other: CommitId, depth: int) -> TreeId:
        read = self.repository.objects
        theirs = read.commit(other).tree
        bases = self.repository.merge_bases(newest, other)
        old = read.tree(self.tree(bases, depth)) if bases else Tree()
        found = merge_trees(old, read.tree(ours), read.tree(theirs), read.relations)
        relations = dict(found.relations)
        for name, triple in found.conflicts.items():
            if isinstance(triple.ours, TableEntry) and isinstance(triple.theirs, TableEntry):
                one, two = triple.ours.snapshot, triple.theirs.snapshot
                base = (
                    read.snapshot(triple.base.snapshot)
                    if isinstance(triple.base, TableEntry)
                    else self.base(one, two, depth)
                )
                version = self._merged(base, read.snapshot(one), (one, two))
                relations[name] = TableEntry(snapshot=SnapshotId(read.put(version)))
        return self.repository.edit(ours, TreeChanges(relations=relations, schemas=found.schemas))

    def forget(self) -> None:
        """Delete the files that making bases wrote."""
        for outcome, write in self._made:
            outcome.forget(write)

    def _merged(
        self, base: Snapshot | None, ours: Snapshot, parents: tuple[SnapshotId, SnapshotId]
    ) -> Snapshot:
        theirs = self.repository.objects.snapshot(parents[1])
        if ours.consumption != theirs.consumption:
            # Rows that were derived from different inputs don't add up.
            return ours
        try:
            outcome = self.merge(base, ours, theirs, RowPolicy(mode=Mode.SKIP))
        # Bases that don't merge are no reason to refuse a merge of the tips: the newest has to do.
        except (MisfitError, SchemaConflictError, UnsupportedError):
            return ours
        if outcome.how in ("up_to_date", "fast_forward"):
            return ours if outcome.how == "up_to_date" else theirs
        write = new_write_id()
        # Noted before the write, so that `forget` also deletes what a failed one left.
        self._made.append((outcome, write))
        return outcome.put(write=write, parents=parents, created_at=ours.created_at)
