"""Small changes: a stage counted and applied in process, without the engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dbt.adapters.vcs.changes.writes.stage import Stage
from dbt.adapters.vcs.changes.writes.targets import BlockChoice, RowTarget
from dbt.adapters.vcs.core.model import Field, Tombstone
from dbt.adapters.vcs.core.model.snapshot import FILE_COLUMN, POSITION_COLUMN
from dbt.adapters.vcs.core.store.blobs import Blobs
from dbt.adapters.vcs.sql.staging_sql import ACTION, MATCHED
from dbt.adapters.vcs.table.equality import equal_rows
from dbt.adapters.vcs.table.files.block_reader import Files
from dbt.adapters.vcs.table.files.footers import WrittenFiles
from dbt.adapters.vcs.table.files.parquet import arrow_schema, write_rows, write_tombstone
from dbt.adapters.vcs.table.limits import TooLargeError
from dbt.adapters.vcs.table.python_values import python_value
from dbt.adapters.vcs.table.types import arrow_type

_PLACE = [FILE_COLUMN, POSITION_COLUMN]

MAX_VALUES: Final = 2**30
"""Bytes of a stage's values in memory. At its peak, applying it takes about twice as many."""


class SmallChanges:
    """`Changes` of a stage with types that Arrow supports; it is read whole."""

    def __init__(self, blobs: Blobs, stage: Stage) -> None:
        """Take a stage.

        Raises:
            TooLargeError: Its values take more than `MAX_VALUES` bytes.
        """
        self._blobs = blobs
        self._stage = stage
        self._schema = arrow_schema(stage.table)
        self._rows = _read(blobs, stage)

    def affected(self) -> int:
        """Return how many rows are updated, deleted or inserted."""
        return int(self._updates.num_rows + self._deletes.num_rows + self._inserts.num_rows)

    def repeated(self, places: Sequence[int], limit: int) -> list[tuple[Any, ...]]:
        """Return values of some rows that matched several times."""
        matched = self._rows.filter(pc.fill_null(self._rows.column(MATCHED), False))
        counts = matched.select(_PLACE).group_by(_PLACE).aggregate([([], "count_all")])
        several = counts.filter(pc.greater(counts.column("count_all"), 1))
        if not several.num_rows:
            return []
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
            found.append(tuple(python_value(row.column(self._stage.old[n])[0]) for n in places))
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
        new = [self._renamed(rows, self._stage.new) for rows in self._coming]
        rows = pa.concat_tables([*self._kept(target, choice), *new])
        if target.snapshot.cluster_by:
            rows = rows.sort_by([(id, "ascending") for id in target.snapshot.cluster_by])
        # Arrow encodes a file in one thread. Both are written, or failed, when the block ends.
        with ThreadPoolExecutor(1, "vcs-tombstone") as other:
            tombstones = other.submit(self._tombstones, choice, folder)
            files = write_rows(
                self._blobs, rows, folder=folder, partition_by=target.snapshot.partition_by
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
        rows, pairs = self._updates, self._stage.pairs
        old = [rows.column(name) for name, _, _ in pairs]
        new = [rows.column(name) for _, name, _ in pairs]
        return _filtered(rows, pa.array(~equal_rows(old, new, rows.num_rows)))

    @property
    def _coming(self) -> list[pa.Table]:
        return [self._updates_that_change, self._inserts]

    @property
    def _going(self) -> pa.Table:
        return pa.concat_tables([self._updates_that_change, self._deletes])

    def _of(self, action: str) -> pa.Table:
        is_meant = pc.fill_null(pc.equal(self._rows.column(ACTION), action), False)
        return _filtered(self._rows, is_meant)

    def _renamed(self, rows: pa.Table, names: Sequence[str]) -> pa.Table:
        """Return the values before or after as rows of the table, named by field id."""
        return pa.table(rows.select(names).columns, schema=_nullable(self._schema))

    def _kept(self, target: RowTarget, choice: BlockChoice) -> list[pa.Table]:
        """Return the remaining rows of the blocks that are rewritten."""
        files, going = Files(self._blobs), self._going
        before = files.deletions(target.tombstones, [block.path for block in choice.rewritten])
        fields: Sequence[Field] = target.snapshot.schema.fields
        schema = _nullable(self._schema)
        kept: list[pa.Table] = []
        for block in choice.rewritten:
            rows = going.filter(pc.equal(going.column(FILE_COLUMN), block.path))
            gone = rows.column(POSITION_COLUMN).to_numpy().astype(np.int64)
            gone = np.concatenate([before.get(block.path, gone[:0]), gone])
            batches = files.batches(block, fields, gone)
            kept += [pa.Table.from_batches([batch], schema=schema) for batch in batches]
        return kept

    def _tombstones(self, choice: BlockChoice, folder: str) -> tuple[Tombstone, ...]:
        if not choice.holed:
            return ()
        rows = self._going
        holed = pa.array(sorted(choice.holed))
        rows = _filtered(rows, pc.is_in(rows.column(FILE_COLUMN), holed))
        images = self._renamed(rows, self._stage.old)
        columns = [rows.column(name) for name in _PLACE]
        table = pa.table([*columns, *images.columns], names=[*_PLACE, *images.column_names])
        return (write_tombstone(self._blobs, table, folder=folder),)


def _read(blobs: Blobs, stage: Stage) -> pa.Table:
    schema = pa.schema([pa.field(field.id, arrow_type(field.type)) for field in stage.fields])
    tables = [schema.empty_table()]
    files = Files(blobs)
    size = 0
    for path in stage.files:
        tables.append(files.columns(path, stage.fields).cast(schema))
        size += tables[-1].nbytes
        if size > MAX_VALUES:
            raise TooLargeError(
                f"{stage.rows:,} changed rows take more than {MAX_VALUES:,} bytes in this process."
            )
    return pa.concat_tables(tables)


def _filtered(rows: pa.Table, mask: pa.Array | pa.ChunkedArray) -> pa.Table:
    """Return the rows for which a mask is true; a copy only if some are left out."""
    return rows if pc.all(mask, skip_nulls=False).as_py() else rows.filter(mask)


def _nullable(schema: pa.Schema) -> pa.Schema:
    return pa.schema([field.with_nullable(True) for field in schema])
