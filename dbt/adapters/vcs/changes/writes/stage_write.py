"""Stage writes: apply a stage to a table's blocks, as tombstones and new blocks."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dbt.adapters.vcs.changes.writes.checks import refuse_null
from dbt.adapters.vcs.changes.writes.stage import (
    ACTION,
    MATCHED,
    BlockChoice,
    RowTarget,
    Stage,
    in_files,
)
from dbt.adapters.vcs.changes.writes.tombstone_ranges import tombstone_folder, write_tombstones
from dbt.adapters.vcs.core.errors import InputError, VcsError
from dbt.adapters.vcs.core.model import Block, Field, Replacement, SegmentRef, Snapshot, Tombstone
from dbt.adapters.vcs.core.model.snapshot import FILE_COLUMN, PLACE, POSITION_COLUMN
from dbt.adapters.vcs.core.origins.results import RowCounts
from dbt.adapters.vcs.core.store.blobs import Blobs, delete_below
from dbt.adapters.vcs.engines.port import Destination, Rewriter, TableMount, told_rows
from dbt.adapters.vcs.sql.syntax.conditions import where_clause
from dbt.adapters.vcs.table.equality import differs, equal_rows
from dbt.adapters.vcs.table.files.block_reader import Files
from dbt.adapters.vcs.table.files.footers import WrittenFiles, read_blocks
from dbt.adapters.vcs.table.files.parquet import (
    arrow_schema,
    can_write,
    write_rows,
    write_tombstone,
)
from dbt.adapters.vcs.table.manifests import folder_of, put_segments, without_blocks
from dbt.adapters.vcs.table.python_values import python_value, shown
from dbt.adapters.vcs.table.quoting import literal, quoted
from dbt.adapters.vcs.table.types import arrow_type
from dbt.adapters.vcs.workspace.statement_scope import Scope

# Decision 11: when a block is written again instead of getting a tombstone.
MAX_DELETED: Final = 0.3
"""A block that has lost more of its rows than this is written again without them."""

MIN_BYTES: Final = 1024 * 1024
"""A block smaller than this is written again rather than given a tombstone."""

MAX_ROWS_IN_PROCESS: Final = 1_000_000
MAX_BYTES_IN_PROCESS: Final = 256 * 1024 * 1024
"""Of blocks that are written again, in files, and of rows that somebody gave."""

MAX_STAGED_IN_PROCESS: Final = 2_000_000
"""Rows of a stage that is applied in process."""

WRITE_MODE: Final = "vcs.write_mode"
"""Table property: how changed rows are stored: `auto`, `merge_on_read` or `copy_on_write`."""

MODES: Final = ("auto", "merge_on_read", "copy_on_write")
_SHOWN: Final = 5


class Rewritten(NamedTuple):
    """The result of applying a stage.

    Attributes:
        segments: The table's new segments; its present ones if nothing changed.
        counts: Rows affected by the statement, as Spark counts them.
        is_changed: False if no row's values changed.
    """

    segments: tuple[SegmentRef, ...]
    counts: RowCounts
    is_changed: bool


def write_mode(snapshot: Snapshot) -> str:
    """Return how a table's blocks lose rows.

    Raises:
        InputError: The table property has an invalid value.
    """
    mode = snapshot.properties.get(WRITE_MODE, "auto").lower()
    if mode not in MODES:
        raise InputError(
            f"The table property {WRITE_MODE} is '{mode}'; expected one of {', '.join(MODES)}. "
            f"Set it: alter table ... set tblproperties ('{WRITE_MODE}' = 'auto')."
        )
    return mode


def chosen(
    blocks: Iterable[Block],
    deleted: Mapping[str, int],
    before: Mapping[str, int],
    mode: str,
) -> BlockChoice:
    """Decide what happens to each block that loses rows.

    Args:
        deleted: Rows that each loses now, by path; blocks that lose none are left out.
        before: Rows that tombstones already delete from each.
        mode: As `write_mode` returns it.
    """
    gone: list[str] = []
    rewritten: list[Block] = []
    holed: list[str] = []
    for block in blocks:
        if block.path not in deleted:
            continue
        lost = deleted[block.path] + before.get(block.path, 0)
        small = block.bytes < MIN_BYTES or lost > block.rows * MAX_DELETED
        # Whatever the mode says: nothing of the block is left to write or to mark.
        if lost >= block.rows:
            gone.append(block.path)
        elif mode == "copy_on_write" or (mode == "auto" and small):
            rewritten.append(block)
        else:
            holed.append(block.path)
    return BlockChoice(frozenset(gone), tuple(rewritten), frozenset(holed))


def rewritten(
    scope: Scope,
    target: RowTarget,
    stage: Stage,
    *,
    key: Sequence[int] | None = None,
    updates_only: Collection[str] = (),
    occurs_once: bool = False,
) -> Rewritten:
    """Apply a stage: write its files, and return the table's new segments.

    Readers see no change yet. Blocks are written first, then manifests; if something fails, the
    new files are deleted.

    Args:
        key: Given if no row may match several times: the columns, by position, that errors show.
        updates_only: Given if every row of the stage is an update of its own row of the table:
            the columns that may get other values, by field id.
        occurs_once: True if no row of the table can be in the stage twice.

    Raises:
        InputError: A row matched several times, or a NOT NULL column would get a NULL.
    """
    repository, snapshot = scope.overlay.repository, target.snapshot
    blobs = repository.blobs
    with ExitStack() as stages:

        def by_engine() -> LargeChanges:
            there = stages.enter_context(in_files(blobs, stage, folder_of(snapshot.table)))
            return LargeChanges(blobs, scope.session, there, occurs_once)

        changes: SmallChanges | LargeChanges = _small(blobs, snapshot, stage) or by_engine()
        if key is not None:
            _refuse_repeated(target, changes, key)
        counts, deleted, inserted = changes.counts(), changes.deletions(), changes.inserted()
        # History shows changes only, though Spark counts rows that were set to what they were.
        if not deleted and not inserted:
            return Rewritten(snapshot.segments, counts, False)
        choice = chosen(target.blocks, deleted, target.deleted, write_mode(snapshot))
        # Few changed rows may lie in large blocks. Their remaining rows are then the engine's
        # work.
        if isinstance(changes, SmallChanges) and not _fits(choice.rewritten):
            changes = by_engine()
        folder = folder_of(snapshot.table)
        try:
            files, tombstones = changes.write(target, choice, folder)
            schema, by = snapshot.schema, snapshot.partition_by
            blocks = read_blocks(blobs, files, schema, by, files)
            refuse_null(blobs, blocks, schema)
        # Also on Ctrl-C: nothing refers to these files.
        except BaseException:
            _discard(scope, folder)
            raise
    leaving = choice.gone | {block.path for block in choice.rewritten}
    kept = without_blocks(repository.objects, snapshot.segments, leaving)
    replaced: tuple[Replacement, ...] = ()
    # A block that is written again holds other rows, too, so it isn't a list of changes.
    if updates_only and not leaving:
        # Decision 29: a later diff pairs these rows without comparing them.
        replaced = (_replacement(blocks, tombstones, updates_only),)
    added = put_segments(repository.objects, blocks, tombstones, replacements=replaced)
    return Rewritten((*kept, *added), counts, True)


def _replacement(
    blocks: Sequence[Block], tombstones: Sequence[Tombstone], columns: Iterable[str]
) -> Replacement:
    return Replacement(
        blocks=tuple(block.path for block in blocks),
        tombstones=tuple(tombstone.path for tombstone in tombstones),
        rows=sum(block.rows for block in blocks),
        columns=tuple(sorted(columns)),
    )


def _small(blobs: Blobs, snapshot: Snapshot, stage: Stage) -> SmallChanges | None:
    """Return the changes of a stage that can be applied in this process, else None."""
    small = stage.rows <= MAX_STAGED_IN_PROCESS and stage.bytes <= MAX_BYTES_IN_PROCESS
    if not small or not can_write(snapshot.schema, snapshot.partition_by):
        return None
    # Values may take far more memory than their compressed files.
    rows = _read(blobs, stage)
    return None if rows is None else SmallChanges(blobs, stage, rows)


def _fits(blocks: Sequence[Block]) -> bool:
    return (
        sum(block.rows for block in blocks) <= MAX_ROWS_IN_PROCESS
        and sum(block.bytes for block in blocks) <= MAX_BYTES_IN_PROCESS
    )


def _refuse_repeated(
    target: RowTarget, changes: SmallChanges | LargeChanges, key: Sequence[int]
) -> None:
    rows = changes.repeated(key, _SHOWN)
    if not rows:
        return
    fields = target.snapshot.schema.fields
    listed = "; ".join(
        ", ".join(
            f"{fields[place].name} = {shown(value)}" for place, value in zip(key, row, strict=True)
        )
        for row in rows
    )
    raise InputError(
        f"MERGE: some rows of {target.name} match several rows of the source, so their new "
        f"values are ambiguous: {listed}. Nothing was changed; leave one row of the source for "
        "each, for instance by `group by` or `row_number()`."
    )


def _discard(scope: Scope, folder: str) -> None:
    """Delete what a failed write left behind; collection finds anything this misses."""
    # Report the error of the write, not of the cleanup.
    with suppress(VcsError):
        delete_below(scope.overlay.repository.blobs, folder, tombstone_folder(folder))


_PLACE = [FILE_COLUMN, POSITION_COLUMN]

MAX_VALUES: Final = 2**30
"""Bytes of a stage's values in memory. At its peak, applying it takes about twice as many."""


@dataclass(frozen=True)
class SmallChanges:
    """The rows of a stage, ready to be counted and written; Arrow supports their types."""

    blobs: Blobs
    stage: Stage
    rows: pa.Table

    def counts(self) -> RowCounts:
        """Return how many rows are inserted, updated and deleted, unchanged ones included."""
        changes = self._inserts, self._updates, self._deletes
        return RowCounts(*(rows.num_rows for rows in changes))

    def repeated(self, places: Sequence[int], limit: int) -> list[tuple[Any, ...]]:
        """Return values of some rows that matched several times; `places` are columns."""
        matched = self.rows.filter(pc.fill_null(self.rows.column(MATCHED), False))
        counts = matched.select(_PLACE).group_by(_PLACE).aggregate([([], "count_all")])
        several = counts.filter(pc.greater(counts.column("count_all"), 1))
        if not several.num_rows:
            return []
        # Sorted, so that the same rows are named however often the statement is run.
        some = several.sort_by([(name, "ascending") for name in _PLACE]).slice(0, limit)
        found = []
        for file, position in zip(
            *(some.column(name).to_pylist() for name in _PLACE), strict=True
        ):
            is_row = pc.and_(
                pc.equal(matched.column(FILE_COLUMN), file),
                pc.equal(matched.column(POSITION_COLUMN), position),
            )
            row = matched.filter(is_row).slice(0, 1)
            found.append(tuple(python_value(row.column(self.stage.old[n])[0]) for n in places))
        return found

    def inserted(self) -> int:
        """Return how many new rows are to be written, updated ones included."""
        return int(self._updates_that_change.num_rows + self._inserts.num_rows)

    def deletions(self) -> Mapping[str, int]:
        """Return how many rows each block loses, by its path."""
        counts = pc.value_counts(self._going.column(FILE_COLUMN)).to_pylist()
        return {item["values"]: item["counts"] for item in counts}

    def write(
        self, target: RowTarget, choice: BlockChoice, folder: str
    ) -> tuple[WrittenFiles, tuple[Tombstone, ...]]:
        """Write the new blocks and the tombstone."""
        coming = [self._updates_that_change, self._inserts]
        new = [self._renamed(rows, self.stage.new) for rows in coming]
        rows = pa.concat_tables([*self._kept(target, choice), *new])
        if target.snapshot.cluster_by:
            rows = rows.sort_by([(id, "ascending") for id in target.snapshot.cluster_by])
        # Arrow encodes a file in one thread. Both are written, or failed, when the block ends.
        with ThreadPoolExecutor(1, "vcs-tombstone") as other:
            tombstones = other.submit(self._tombstones, choice, folder)
            files = write_rows(
                self.blobs,
                rows,
                folder=folder,
                partition_by=target.snapshot.partition_by,
                names=target.snapshot.schema.names_by_id,
            )
            return files, tombstones.result()

    @cached_property
    def _updates(self) -> pa.Table:
        return self._of("update")

    @cached_property
    def _inserts(self) -> pa.Table:
        return self._of("insert")

    @cached_property
    def _deletes(self) -> pa.Table:
        """The rows to delete, each once, however often it matched."""
        rows = self._of("delete")
        if not rows.num_rows:
            return rows
        numbered = rows.select(_PLACE).append_column("n", pa.array(range(rows.num_rows)))
        first = numbered.group_by(_PLACE).aggregate([("n", "min")]).column("n_min")
        return rows if len(first) == rows.num_rows else rows.take(pc.sort_indices(first))

    @cached_property
    def _updates_that_change(self) -> pa.Table:
        rows, pairs = self._updates, self.stage.pairs
        old = [rows.column(name) for name, _, _ in pairs]
        new = [rows.column(name) for _, name, _ in pairs]
        return _filtered(rows, pa.array(~equal_rows(old, new, rows.num_rows)))

    @property
    def _going(self) -> pa.Table:
        return pa.concat_tables([self._updates_that_change, self._deletes])

    def _of(self, action: str) -> pa.Table:
        # A MERGE also stages rows to which no clause applies, to find those that matched several
        # times. Their action is NULL.
        is_meant = pc.fill_null(pc.equal(self.rows.column(ACTION), action), False)
        return _filtered(self.rows, is_meant)

    @property
    def _schema(self) -> pa.Schema:
        return pa.schema([field.with_nullable(True) for field in arrow_schema(self.stage.table)])

    def _renamed(self, rows: pa.Table, names: Sequence[str]) -> pa.Table:
        """Return the values before or after as rows of the table, named by field id."""
        return pa.table(rows.select(names).columns, schema=self._schema)

    def _kept(self, target: RowTarget, choice: BlockChoice) -> list[pa.Table]:
        """Return the remaining rows of the blocks that are rewritten."""
        files, going = Files(self.blobs), self._going
        before = files.deletions(target.tombstones, [block.path for block in choice.rewritten])
        fields: Sequence[Field] = target.snapshot.schema.fields
        schema = self._schema
        kept: list[pa.Table] = []
        for block in choice.rewritten:
            rows = going.filter(pc.equal(going.column(FILE_COLUMN), block.path))
            gone = rows.column(POSITION_COLUMN).to_numpy().astype(np.int64)
            # Rows that tombstones deleted earlier don't come back in the new block.
            gone = np.concatenate([before.get(block.path, gone[:0]), gone])
            batches = files.batches(block, fields, gone)
            kept += [pa.Table.from_batches([batch], schema=schema) for batch in batches]
        return kept

    def _tombstones(self, choice: BlockChoice, folder: str) -> tuple[Tombstone, ...]:
        if not choice.holed:
            return ()
        rows = self._going
        # Decision 9: a tombstone names only blocks that stay in the table.
        holed = pa.array(sorted(choice.holed))
        rows = _filtered(rows, pc.is_in(rows.column(FILE_COLUMN), holed))
        images = self._renamed(rows, self.stage.old)
        columns = [rows.column(name) for name in _PLACE]
        table = pa.table([*columns, *images.columns], names=[*_PLACE, *images.column_names])
        return (write_tombstone(self.blobs, table, folder=folder),)


def _read(blobs: Blobs, stage: Stage) -> pa.Table | None:
    """Return the rows of a stage; None if their values take more than `MAX_VALUES` bytes."""
    schema = pa.schema([pa.field(field.id, arrow_type(field.type)) for field in stage.fields])
    tables = [schema.empty_table()]
    files = Files(blobs)
    size = 0
    read = (files.columns(path, stage.fields) for path in stage.files)
    for rows in read if stage.here is None else [stage.here]:
        tables.append(rows.cast(schema))
        size += tables[-1].nbytes
        if size > MAX_VALUES:
            return None
    return pa.concat_tables(tables)


def _filtered(rows: pa.Table, mask: pa.Array | pa.ChunkedArray) -> pa.Table:
    """Return the rows for which a mask is true; a copy only if some are left out."""
    return rows if pc.all(mask, skip_nulls=False).as_py() else rows.filter(mask)


class _Counts(NamedTuple):
    """What a stage holds: rows affected and coming, and rows going by the path of their block."""

    affected: RowCounts
    coming: int
    going: dict[str, int]


@dataclass(frozen=True)
class LargeChanges:
    """What `SmallChanges` does, for a stage of any size and types: its methods run queries.

    Attributes:
        occurs_once: True if the stage has no row of the table twice, as that of a merge may.
    """

    blobs: Blobs
    session: Rewriter
    stage: Stage
    occurs_once: bool

    def counts(self) -> RowCounts:
        """Return how many rows are inserted, updated and deleted, unchanged ones included."""
        return self._counts.affected

    def repeated(self, places: Sequence[int], limit: int) -> list[tuple[Any, ...]]:
        """Return values of some rows that matched several times; `places` are columns."""
        columns = ", ".join(f"first({self.stage.old[place]}) c{place}" for place in places)
        rows = self.session.query(
            f"select {columns} from {self._table} {where_clause(MATCHED)} "
            f"group by {PLACE} having count(*) > 1 order by {PLACE} limit {limit}"
        )
        return told_rows(rows)

    def inserted(self) -> int:
        """Return how many new rows are to be written, updated ones included."""
        return self._counts.coming

    def deletions(self) -> Mapping[str, int]:
        """Return how many rows each block loses, by its path."""
        return self._counts.going

    def write(
        self, target: RowTarget, choice: BlockChoice, folder: str
    ) -> tuple[WrittenFiles, tuple[Tombstone, ...]]:
        """Write the new blocks and the tombstones."""
        names = {field.id: field.name for field in self.stage.table.fields}
        ids = list(names)
        query = f"{self._renamed(self.stage.new, ids)} {where_clause(self._comes)}"
        if choice.rewritten:
            query = f"{self._kept(target, choice, ids)} union all {query}"
        written = self.session.write(
            query,
            Destination(
                folder=folder,
                partition_by=target.snapshot.partition_by,
                cluster_by=target.snapshot.cluster_by,
                names=names,
            ),
        )
        files = {path: written.footers.get(path) for path in written.files}
        return files, self._tombstones(choice, tombstone_folder(folder), ids)

    @cached_property
    def _table(self) -> str:
        """The stage, as a relation."""
        folder = self.stage.files[0].rpartition("/")[0] if self.stage.files else "none"
        # A stage without rows has no folder; its id then comes from its columns.
        told = folder if self.stage.files else repr(self.stage.fields)
        return self.session.mount_physical(
            TableMount(
                id="st_" + hashlib.sha256(told.encode()).hexdigest()[:32],
                folder=folder,
                files=self.stage.files,
                fields=self.stage.fields,
            )
        )

    @cached_property
    def _counts(self) -> _Counts:
        def going(condition: str) -> str:
            if self.occurs_once:
                return f"count_if({condition})"
            # A row that matched several times is deleted once.
            return f"count(distinct if({condition}, {POSITION_COLUMN}, null))"

        deleted = going(f"{ACTION} = 'delete'")
        found = self.session.query(
            f"select {FILE_COLUMN}, count_if({self._comes}), {going(self._goes)}, "
            f"count_if({ACTION} = 'insert'), count_if({ACTION} = 'update'), {deleted} "
            f"from {self._table} group by {FILE_COLUMN}"
        ).fetch()
        return _Counts(
            affected=RowCounts(*(sum(row[n] for row in found) for n in (3, 4, 5))),
            coming=sum(row[1] for row in found),
            going={file: goes for file, _, goes, *_ in found if goes},
        )

    @property
    def _comes(self) -> str:
        return f"({ACTION} = 'insert' or {self._changes})"

    @property
    def _goes(self) -> str:
        return f"({ACTION} = 'delete' or {self._changes})"

    @property
    def _changes(self) -> str:
        """SQL: the row is updated, and some value changes."""
        changed = " or ".join(
            differs(old, new, field.type) for old, new, field in self.stage.pairs
        )
        return f"({ACTION} = 'update' and ({changed or 'false'}))"

    def _renamed(self, names: Sequence[str], ids: Sequence[str]) -> str:
        columns = ", ".join(f"{name} as {quoted(id)}" for name, id in zip(names, ids, strict=True))
        return f"select {columns} from {self._table}"

    def _kept(self, target: RowTarget, choice: BlockChoice, ids: Sequence[str]) -> str:
        """Return the query for the remaining rows of the blocks that are rewritten."""
        located = self.session.mount_located(target.mount(choice.rewritten))
        return (
            f"select {', '.join(map(quoted, ids))} from {located} kept left anti join "
            f"(select {PLACE} from {self._table} {where_clause(self._goes)}) gone "
            f"on kept.{POSITION_COLUMN} = gone.{POSITION_COLUMN} "
            f"and kept.{FILE_COLUMN} = gone.{FILE_COLUMN}"
        )

    def _tombstones(
        self, choice: BlockChoice, folder: str, ids: Sequence[str]
    ) -> tuple[Tombstone, ...]:
        # A tombstone has a place once. Grouping costs a shuffle, so it is left out where it can
        # be.
        image, once = ("{}", "") if self.occurs_once else ("first({})", f" group by {PLACE}")
        images = ", ".join(
            f"{image.format(name)} as {quoted(id)}"
            for name, id in zip(self.stage.old, ids, strict=True)
        )
        holed = ", ".join(map(literal, sorted(choice.holed)))
        rows = (
            f"select {PLACE}, {images} from {self._table} {where_clause(self._goes)} "
            f"and {FILE_COLUMN} in ({holed}){once}"
        )
        counts = {file: self._counts.going[file] for file in choice.holed}
        return write_tombstones(self.blobs, self.session, rows, counts, folder=folder)
