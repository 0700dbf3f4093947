"""Three-way merge of two versions of a table, row by row, in this process.

| what the sides did                                   | how                                     |
|------------------------------------------------------|-----------------------------------------|
| theirs changed nothing                               | `up_to_date`                            |
| ours changed nothing                                 | `fast_forward`                          |
| bounds of keys show: never the same row              | `graft`, nothing is read                |
| keys show: never the same row                        | `graft`, keys are read                  |
| both changed some rows                               | `rewrite` of those rows                 |

More rows than fit in this process are decided by SQL (`by_engine`).

The further steps are in `core/plan/states.py` (graft), `decide.py` (which row stands),
`repair.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

import msgspec

from dbt.adapters.vcs.changes.diffs.difference import Difference
from dbt.adapters.vcs.changes.merges.by_engine.engine_repair import EngineRepair, EngineRepairs
from dbt.adapters.vcs.changes.merges.rowwise.decide import Conflicts
from dbt.adapters.vcs.changes.merges.rowwise.repair import (
    Question,
    Repair,
    needs_values,
    overlaps,
    repair,
    without,
)
from dbt.adapters.vcs.changes.merges.rowwise.row_outcome import How, MergeOutcome
from dbt.adapters.vcs.changes.merges.rowwise.row_policy import RowPolicy
from dbt.adapters.vcs.changes.merges.rowwise.side_fitting import Fitting, entries_of_blocks
from dbt.adapters.vcs.core.errors import ConflictError
from dbt.adapters.vcs.core.ids import WriteId, new_write_id
from dbt.adapters.vcs.core.model import Field, Snapshot
from dbt.adapters.vcs.core.plan.delta import Piece
from dbt.adapters.vcs.core.plan.schema_merge import (
    Definition,
    SchemaConflict,
    Side,
    merge_definitions,
)
from dbt.adapters.vcs.core.plan.states import (
    State,
    Triple,
    compare,
    graft,
    meeting,
    shared_targets,
    touched_pieces,
)
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.engines.port import RowSession
from dbt.adapters.vcs.table.compare.comparison import Counts
from dbt.adapters.vcs.table.files.block_reader import Files, is_readable
from dbt.adapters.vcs.table.limits import MERGE_LIMITS, Limits
from dbt.adapters.vcs.table.python_values import shown
from dbt.adapters.vcs.table.quoting import quoted

_FAIL: Final = RowPolicy()


class SchemaConflictError(ConflictError):
    """Both sides changed a table's definition differently."""

    def __init__(self, conflicts: Sequence[SchemaConflict]) -> None:
        self.conflicts = tuple(conflicts)
        super().__init__(
            "Both sides changed the table's definition differently: "
            f"{'; '.join(map(str, conflicts))}. Nothing was changed. Make the definitions agree "
            "on one side, then merge again."
        )


def merge(
    repository: Repository,
    base: Snapshot | None,
    ours: Snapshot,
    theirs: Snapshot,
    *,
    policy: RowPolicy = _FAIL,
    limits: Limits = MERGE_LIMITS,
    engine: EngineRepairs,
) -> MergeOutcome:
    """Merge what theirs changed since base into ours; nothing is written before `put`.

    Args:
        base: The version that both come from. Without one, the rows that both have serve as the
            base: equal rows agree, nothing is deleted, and different rows with the same key
                conflict.
        ours: The version that is changed.
        theirs: The version whose changes are wanted.
        policy: What to do about conflicts (`fail` reports them, `skip` keeps ours, `accept` takes
            theirs), and which rows are wanted. If only some are, the definition of ours is kept.
            A conflict of definitions is decided attribute by attribute, never which rows exist.
        limits: The most rows to compare column by column.
        engine: Decides on more, on types that Arrow lacks, and where somebody decided on single
            rows or picked some.

    Raises:
        SchemaConflictError: The definitions don't merge.
        MisfitError: The mode decided about the definition, and some rows don't fit it.
        UnsupportedError: Both changed rows, and Arrow can't read a column: VARIANT, intervals.
        ConflictError: A decision gives values of a row that was not changed on both sides.
        InputError: A decision or a picked key doesn't fit the key's columns, or a value given by
            hand is NULL where none may be.
    """
    prefer = policy.prefer or policy.mode.side
    if policy.only is not None:
        _check_picked(base, ours, theirs)
        definition = Definition.of(ours)
    else:
        edited = edited_columns(repository, base, ours, theirs, prefer=prefer, engine=engine)
        merged = merge_definitions(base, ours, theirs, prefer=prefer, edited=edited)
        if merged.conflicts:
            raise SchemaConflictError(merged.conflicts)
        definition = merged.definition
    policy.check(definition.key)
    merging = _Merging(
        repository=repository,
        base=base,
        ours=ours,
        theirs=theirs,
        policy=policy,
        limits=limits,
        definition=definition,
        triple=compare(base, ours, theirs, repository.objects.segments),
    )
    return merging.outcome_at_once() or merging.fitted(engine).outcome_of_rows(engine)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Merging:
    """One merge of rows, its definition already agreed on."""

    repository: Repository
    base: Snapshot | None
    ours: Snapshot
    theirs: Snapshot
    policy: RowPolicy
    limits: Limits
    definition: Definition
    triple: Triple
    fits: tuple[WriteId, ...] = ()

    @property
    def takes_all(self) -> bool:
        """Whether all changes of theirs are wanted, not only those of picked rows."""
        return self.policy.only is None

    def outcome_at_once(self) -> MergeOutcome | None:
        """Return the outcome if one side changed nothing; None if both may have."""
        triple = self.triple
        # The definition as well: theirs may have changed columns and no row.
        if triple.theirs == triple.base and self.definition == Definition.of(self.ours):
            return self._outcome("up_to_date" if self.takes_all else "nothing_picked", triple.ours)
        if self.base is not None and self.takes_all and _is_same(self.base, self.ours):
            return self._outcome("fast_forward", graft(triple))
        return None

    def fitted(self, engine: EngineRepairs) -> _Merging:
        """Return the merge of sides whose files the merged definition reads as theirs did."""
        ours, theirs = new_write_id(), new_write_id()
        fitting = Fitting(
            repository=self.repository,
            base=self.base,
            side=self.ours,
            other=self.theirs,
            name="ours",
            definition=self.definition,
            engine=engine,
        )
        other = replace(fitting, side=self.theirs, other=self.ours, name="theirs")
        # Rows that are picked are only read, and written as ours has them.
        our = fitting.fitted(ours) if self.takes_all else self.ours
        their = other.fitted(theirs, reads_only=not self.takes_all)
        if (our, their) == (self.ours, self.theirs):
            return self
        triple = compare(self.base, our, their, self.repository.objects.segments)
        return replace(self, ours=our, theirs=their, triple=triple, fits=(ours, theirs))

    def outcome_of_rows(self, engine: EngineRepairs) -> MergeOutcome:
        """Return the outcome if rows may have to be examined."""
        triple, fields = self.triple, self.definition.schema.fields
        state = graft(triple) if self.takes_all else triple.ours.copy()
        _check_layout(self.definition, triple, state)
        key = self.definition.key
        by = key or fields
        pieces = _to_read(self.repository, self.ours, triple, by, everything=not self.takes_all)
        if not pieces:
            return self._outcome(self._without_new_rows(), state)
        question = Question(
            files=Files(self.repository.blobs, triple.tombstones.values()),
            pieces=pieces,
            triple=triple,
            fields=fields,
            key=key,
            policy=self.policy,
        )
        folder, is_small = f"data/{self.ours.table}", self.limits.allow(pieces)
        if not (is_small and self._is_by_column(question)):
            return self._repaired(engine(question, state, folder, is_small=is_small))
        # A row must not be deleted twice, or manifests would count it twice: that tombstone goes,
        # and the repair deletes what it alone deleted.
        less = without(state, (), overlaps(question.files, triple, state))
        # A type that Arrow can't read is no obstacle where no row has to be looked at.
        if not all(map(is_readable, fields)) and needs_values(question, less):
            return self._repaired(engine(question, state, folder))
        return self._repaired(repair(question, less))

    def _repaired(self, found: Repair | EngineRepair) -> MergeOutcome:
        how = "rewrite" if found.is_needed else self._without_new_rows(found)
        return self._outcome(how, found.state, found)

    def _without_new_rows(self, found: Repair | EngineRepair | None = None) -> How:
        if self.takes_all:
            return "graft"
        has_changes = isinstance(found, EngineRepair) and found.has_changes
        return "up_to_date" if has_changes else "nothing_picked"

    def _is_by_column(self, question: Question) -> bool:
        """Return whether few rows are compared column by column.

        They are if keys are of types that Arrow has, and no row was picked or decided on.
        """
        is_plain = self.takes_all and not self.policy.decisions
        return is_plain and all(map(is_readable, question.by))

    def _outcome(
        self, how: How, state: State, found: Repair | EngineRepair | None = None
    ) -> MergeOutcome:
        _check_given(self.policy, found)
        conflicts = (
            Conflicts.none(self.definition.schema.fields, keyed=bool(self.definition.primary_key))
            if found is None
            else found.conflicts
        )
        return MergeOutcome(
            repository=self.repository,
            base=self.base,
            ours=self.ours,
            theirs=self.theirs,
            how=how,
            definition=self.definition,
            conflicts=conflicts,
            is_blocked=bool(self.policy.mode.side is None and conflicts),
            triple=self.triple,
            state=state,
            repair=found if found is not None and found.is_needed else None,
            limits=self.limits,
            fits=self.fits,
        )


def _check_given(policy: RowPolicy, found: Repair | EngineRepair | None) -> None:
    """Check that all values given by hand will be in the result."""
    lost = policy.given - (found.given if isinstance(found, EngineRepair) else 0)
    if lost:
        rows = "a row that is" if lost == 1 else f"{lost} rows that are"
        raise ConflictError(
            f"Values were chosen for {rows} not changed on both sides any more. Nothing was "
            "changed. Give this merge up, merge again, and set the values with an update."
        )


def _check_picked(base: Snapshot | None, ours: Snapshot, theirs: Snapshot) -> None:
    """Refuse to pick rows from a version that dropped a column: they have no value for it."""
    lost = [field for field in ours.schema.fields if theirs.schema.by_id(field.id) is None]
    # Only a column that theirs once had. One that ours added since is NULL in the rows of theirs.
    known = set(theirs.schema.retired)
    if base is not None:
        known |= {field.id for field in base.schema.fields}
    conflicts = [
        SchemaConflict("drop", field.name, field.name, field.name, None)
        for field in lost
        if field.id in known
    ]
    if conflicts:
        raise SchemaConflictError(conflicts)


def _is_same(base: Snapshot, ours: Snapshot) -> bool:
    # Versions may differ in their history alone, as after a restore.
    return ours.segments == base.segments and Definition.of(ours) == Definition.of(base)


def _to_read(
    repository: Repository,
    ours: Snapshot,
    triple: Triple,
    by: Sequence[Field],
    *,
    everything: bool,
) -> tuple[Piece, ...]:
    """Return files that may hold rows both sides touched; with `everything`, any touched rows."""
    infos = entries_of_blocks(repository, ours, shared_targets(triple))
    touched = touched_pieces(triple, infos)
    if everything:
        return tuple(item.piece for item in touched)
    return meeting(touched, by)


def _check_layout(definition: Definition, triple: Triple, state: State) -> None:
    """Refuse files that don't fit the merged table's definition.

    Raises:
        SchemaConflictError: The base has files of another partitioning.
    """
    added = [block for path, block in state.blocks.items() if path not in triple.base.blocks]
    wanted = set(definition.partition_by)
    if any(set(block.partition) != wanted for block in added):
        names = [field.name for field in definition.schema.fields if field.id in wanted]
        raise SchemaConflictError(
            [SchemaConflict("partition_by", "", None, ", ".join(names) or None, None)]
        )


_NAMED: Final = 3
"""Rows that a conflict names."""


def edited_columns(
    repository: Repository,
    base: Snapshot | None,
    ours: Snapshot,
    theirs: Snapshot,
    *,
    prefer: Side | None,
    engine: EngineRepairs,
) -> dict[str, str]:
    """Return the columns that one side dropped and in which the other changed values.

    By id, with the rows in words: how many, and the keys of the first ones if there is a key. An
    update of a column that is gone would vanish without a word. With a key, which may be one that
    only one side declares, a value is changed if a row with the same key has another one. Without
    a key an update can't be told from a deletion beside an insertion, unless all that it changed
    is the column: then fewer rows differ without the column than with it.

    If the side that dropped a column has another one of its name, as after a rebuild with another
    type, new rows count as well: they would be NULL there, although they were given a value.

    Reads the rows that a side changed, and only if the other dropped a column that it has. Nothing
    is asked of a column that the preferred side dropped: it is dropped, edited or not.

    Raises:
        UnsupportedError: Arrow can't read a column, and there is no engine.
    """
    found: dict[str, str] = {}
    decided = {"ours": ours, "theirs": theirs, None: None}[prefer]
    for side, other in ((ours, theirs), (theirs, ours)):
        # The preferred side's drop holds, edited or not; and a side with the base's segments
        # changed no row.
        if base is None or other is decided or side.segments == base.segments:
            continue
        edits = _Edits(repository, engine)
        for field in base.schema.fields:
            kept = side.schema.by_id(field.id)
            if kept is None or other.schema.by_id(field.id) is not None:
                continue
            new = other.schema.find(kept.name)
            # Decision 1: a column that comes back under its name has another id.
            is_replaced = new is not None and base.schema.by_id(new.id) is None
            keys = [version.primary_key for version in (side, other, base)]
            # A side may have declared its key since the fork, and any of the keys pairs the rows.
            key = next(filter(None, keys), ())
            before, after = _by(key, base), _by(key, side)
            rows = (is_replaced and edits.new(base, side)) or edits.of(before, after, kept)
            if rows:
                found[field.id] = rows
    return found


def _by(key: tuple[str, ...], version: Snapshot) -> Snapshot:
    """Return a version whose rows are paired by a key, if it has its columns."""
    has_all = all(version.schema.by_id(id) for id in key)
    return msgspec.structs.replace(version, primary_key=key if has_all else ())


class _Edits(NamedTuple):
    """Looks for edited rows, and names them; '' stands for none."""

    repository: Repository
    engine: EngineRepairs

    def new(self, base: Snapshot, side: Snapshot) -> str:
        """Return which rows a side added."""
        compared = Difference(repository=self.repository, before=base, after=side)
        return self._told(compared, self._counts(compared).added, "insert")

    def of(self, base: Snapshot, side: Snapshot, column: Field) -> str:
        """Return which rows a side gave another value of a column."""

        def compared(*names: str) -> Difference:
            return Difference(repository=self.repository, before=base, after=side, columns=names)

        if side.primary_key and side.primary_key == base.primary_key:
            # A row with another key is another row: nothing was updated.
            if column.id in side.primary_key:
                return ""
            changes = compared(column.name)
            rows = self._told(changes, self._counts(changes).modified, "update_postimage")
            if rows:
                return rows
        # Rows whose key is not unique aren't paired by it.
        side, base = _by((), side), _by((), base)
        rest = [field.name for field in side.schema.fields if field.id != column.id]
        if not rest:
            return ""
        # An update of nothing but this column is missing in the second difference. All other
        # changes are in both, and cancel.
        changes, others = compared(), compared(*rest)
        return self._told(changes, self._counts(changes).added - self._counts(others).added, "")

    def _told(self, compared: Difference, count: int, kind: str) -> str:
        """Return a number of rows, with the keys of the first ones of a kind of change."""
        if count <= 0:
            return ""
        side = compared.after
        rows = f"{count} row{'s'[: count > 1]}"
        if side is None or not side.primary_key or not kind:
            return rows
        names = [field.name for field in side.schema.fields if field.id in side.primary_key]
        session, listed = self._session(compared), ", ".join(map(quoted, names))
        changes = replace(compared, shape="changes").by_engine(session)
        text = (
            f"select {listed} from ({changes}) "
            f"where _change_type = '{kind}' order by {listed} limit {_NAMED}"
        )
        keys = session.query(text).fetch()
        told = [
            ", ".join(f"{name} = {shown(value)}" for name, value in zip(names, key, strict=True))
            for key in keys
        ]
        more = [f"and {count - len(told)} more"] if count > len(told) else []
        return f"{rows}: {'; '.join([*told, *more])}"

    def _counts(self, compared: Difference) -> Counts:
        return compared.counts_by_engine(self._session(compared))

    def _session(self, compared: Difference) -> RowSession:
        return self.engine.session(compared.comparison.fields)
