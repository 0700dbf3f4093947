"""Write rows: a frame's rows appended to a table, in its place, or merged into it by key."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from dbt.adapters.vcs.changes.writes import pruning
from dbt.adapters.vcs.changes.writes.stage import (
    ACTION,
    MATCHED,
    RowTarget,
    Stage,
    stage_fields,
    target_of,
)
from dbt.adapters.vcs.changes.writes.stage_write import (
    MAX_BYTES_IN_PROCESS,
    MAX_ROWS_IN_PROCESS,
    Rewritten,
    rewritten,
)
from dbt.adapters.vcs.changes.writes.versions import arrow_blocks, changed, check_writable
from dbt.adapters.vcs.client.frames import FrameRows
from dbt.adapters.vcs.core.errors import InputError, UnsupportedError
from dbt.adapters.vcs.core.ids import CommitId
from dbt.adapters.vcs.core.model import Block, Field, RelationName, Schema, Snapshot
from dbt.adapters.vcs.core.model.data_type import type_of
from dbt.adapters.vcs.core.model.snapshot import FILE_COLUMN, POSITION_COLUMN
from dbt.adapters.vcs.sql.create_table import CreateTable
from dbt.adapters.vcs.sql.syntax.clauses import ColumnDef
from dbt.adapters.vcs.sql.syntax.names import Name, Target
from dbt.adapters.vcs.table.equality import group_ids, plain
from dbt.adapters.vcs.table.exact_values import fitted_rows
from dbt.adapters.vcs.table.files.block_reader import Files
from dbt.adapters.vcs.table.files.parquet import arrow_schema
from dbt.adapters.vcs.table.manifests import put_segments
from dbt.adapters.vcs.table.python_values import python_rows, python_value, shown
from dbt.adapters.vcs.table.types import declared_type
from dbt.adapters.vcs.workspace.statement_scope import Scope, handler_of

WriteMode = Literal["append", "overwrite", "merge"]
WRITE_MODES: Final[tuple[WriteMode, ...]] = ("append", "overwrite", "merge")


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteReport:
    """What a write did.

    Attributes:
        relation: The table, `schema.identifier`.
        rows: Number of rows that were written; of a merge, of those that were updated or added.
        commit: The branch's head after it.
        moved: False if there was nothing to change, so that no commit was made.
    """

    relation: str
    rows: int
    commit: CommitId
    moved: bool


def write_rows(
    scope: Scope, name: RelationName, rows: FrameRows, mode: WriteMode, on: Sequence[str]
) -> int:
    """Write rows to a table of the scope's overlay, without an engine, and return how many.

    Columns are found by name, in any case, and values fitted exactly (`fitted_rows`). NOT NULL,
    the primary key and checks hold as for a statement; checks are computed by the engine. A table
    that isn't there is created with the rows' columns, unless rows are merged.

    Args:
        scope: The scope of the change.
        name: The table.
        mode: `append` adds the rows; `overwrite` puts them in the place of all rows; `merge`
            updates rows of the same key, and adds the others.
        on: Names of the columns that tell rows apart in a merge; empty for the primary key.

    Returns:
        Rows that were written; of a merge, those updated or added.

    Raises:
        NotFoundError: There is no such schema, or no table to merge into.
        InputError: The mode is unknown, it is a view, or values don't fit.
        UnsupportedError: Only Spark can write to the table.
    """
    if mode not in WRITE_MODES:
        raise InputError(f"Expected one of {', '.join(WRITE_MODES)} as mode, found {mode!r}.")
    if on and mode != "merge":
        raise InputError(f"`on` tells rows apart in a merge; with {mode} leave it out.")
    if mode != "merge" and scope.overlay.entry(name) is None:
        _create(scope, name, rows.schema)
    snapshot = scope.overlay.require_table(name)
    check_writable(name, snapshot)
    if mode == "merge":
        return _merged(scope, name, rows, on)
    # One by one, so that only one part is in memory.
    parts = (fitted_rows(name, part, snapshot.schema) for part in rows.parts())
    repository = scope.overlay.repository
    blocks = arrow_blocks(repository, name, snapshot, parts)
    added = put_segments(repository.objects, blocks)
    kept = snapshot.segments if mode == "append" else ()
    # An append without rows changes nothing, while an overwrite without rows empties the table.
    if blocks or kept != snapshot.segments:
        changed(scope, name, snapshot, operation=mode, segments=(*kept, *added))
    return sum(block.rows for block in blocks)


def _merged(scope: Scope, name: RelationName, rows: FrameRows, on: Sequence[str]) -> int:
    target = target_of(scope, name)
    snapshot = target.snapshot
    key = _key(name, snapshot, on)
    # One part at least, so that the columns are known where there are no rows.
    parts = [rows.schema.empty_table(), *rows.parts()]
    new = pa.concat_tables([fitted_rows(name, part, snapshot.schema) for part in parts])
    given = {found.id for column in rows.schema.names if (found := snapshot.schema.find(column))}
    lacking = [field.name for field in key if field.id not in given]
    if lacking:
        raise InputError(
            f"{', '.join(lacking)} tells rows of {name} apart, and was not given. Nothing was "
            "changed."
        )
    # What a merge writes depends on the rows that are there; an append does not.
    scope.overlay.read.add(str(name))
    result = upsert(scope, target, new.combine_chunks(), key, given)
    if result.is_changed:
        # The rows with these keys were replaced, so none but a new one has a key of theirs.
        keeps_keys = {field.id for field in key} == set(snapshot.primary_key)
        changed(
            scope,
            name,
            snapshot,
            operation="merge",
            keeps_keys=keeps_keys,
            segments=result.segments,
        )
    return sum(result.counts)


def _key(name: RelationName, snapshot: Snapshot, on: Sequence[str]) -> tuple[Field, ...]:
    if on:
        key = tuple(snapshot.schema.field(column) for column in on)
        if len({field.id for field in key}) < len(key):
            raise InputError(f"Expected columns of {name}, each once, found {', '.join(on)}.")
        return key
    if not snapshot.primary_key:
        raise InputError(
            f"{name} has no primary key, so it is unknown which rows to update. Nothing was "
            "changed. Say which columns tell rows apart (on=[...]), or declare a key: alter table "
            f"{name} set tblproperties ('primary_key' = '...')."
        )
    return snapshot.key


def _create(scope: Scope, name: RelationName, schema: pa.Schema) -> None:
    columns = tuple(
        ColumnDef(name=field.name, type=declared_type(field.name, field.type)) for field in schema
    )
    named = Name(schema=name.schema, identifier=name.identifier)
    statement = CreateTable(target=Target(name=named, start=0, end=0), columns=columns)
    # The rules of `create table` hold here as well, so its own handler makes the table.
    handler = handler_of(statement)
    assert handler is not None
    handler(scope, statement)


_SHOWN: Final = 5


class _Met(NamedTuple):
    """Rows of a block that have the key of a new one."""

    block: Block
    positions: npt.NDArray[np.int64]
    new: npt.NDArray[np.int64]


def upsert(
    scope: Scope,
    target: RowTarget,
    rows: pa.Table,
    key: Sequence[Field],
    given: Collection[str],
) -> Rewritten:
    """Update the rows whose key is given, and insert the others; readers see no change yet.

    Keys are compared as in `table.equality`. Of the table, key columns are read where the bounds
    of a file reach the new keys, and rows that change.

    Args:
        scope: The change's scope.
        target: The table.
        rows: The new rows, named by field id, in the types of `arrow_schema`.
        key: The columns that identify a row.
        given: Field ids of the columns that are updated; the others stay as they are.

    Raises:
        InputError: New rows lack a key or share one, or a NOT NULL column would get a NULL.
        UnsupportedError: There are more rows than fit into this process, or keys can't be
            compared here.
    """
    _check(target, rows, key)
    files = Files(scope.overlay.repository.blobs)
    found = pa.concat_tables(_stage_parts(files, target, rows, key, given))
    return rewritten(scope, target, Stage.in_memory(target.snapshot.schema, found))


def _check(target: RowTarget, rows: pa.Table, key: Sequence[Field]) -> None:
    for field in key:
        type_ = type_of(field.type)
        if type_.is_nested or type_.collation:
            raise UnsupportedError(
                f"Rows of {target.name} can't be found by {field.name} without Spark, since it is "
                f"{field.type}. Nothing was changed. Use a statement: merge into {target.name}."
            )
        if rows.column(field.id).null_count:
            raise InputError(
                f"{field.name} tells rows of {target.name} apart, and is NULL in "
                f"{rows.column(field.id).null_count} new rows. Nothing was changed."
            )
    if rows.num_rows > MAX_ROWS_IN_PROCESS or rows.nbytes > MAX_BYTES_IN_PROCESS:
        raise UnsupportedError(
            f"{rows.num_rows} rows of {rows.nbytes / 2**20:.0f} MiB are more than one merge in "
            f"this process takes ({MAX_ROWS_IN_PROCESS} rows, {MAX_BYTES_IN_PROCESS // 2**20} "
            f"MiB). Nothing was changed. Use a statement: merge into {target.name}."
        )
    ids = [field.id for field in key]
    # Arrow hashes bits: with a single zero and a single NaN, equal keys have one hash.
    counted = pa.table([plain(rows.column(id)) for id in ids], names=ids)
    counted = counted.group_by(ids).aggregate([([], "count_all")])
    several = counted.filter(pc.greater(counted.column("count_all"), 1)).slice(0, _SHOWN)
    if several.num_rows:
        names = {field.id: field.name for field in key}
        listed = "; ".join(
            ", ".join(f"{names[id]} = {shown(row[id])}" for id in ids)
            for row in python_rows(several)
        )
        raise InputError(
            f"Several of the new rows of {target.name} have one key: {listed}. Nothing was "
            "changed; leave one row for each."
        )


def _stage_parts(
    files: Files,
    target: RowTarget,
    rows: pa.Table,
    key: Sequence[Field],
    given: Collection[str],
) -> Iterator[pa.Table]:
    fields = target.snapshot.schema.fields
    schema = arrow_schema(Schema(fields=stage_fields(target.snapshot.schema)))
    is_new = np.ones(rows.num_rows, np.bool_)
    yield schema.empty_table()
    for met in _met(files, target, rows, key):
        is_new[met.new] = False
        old = files.columns(
            met.block.path,
            fields,
            rows=met.positions,
            partition=met.block.partition,
            entry=met.block,
        )
        new = rows.take(pa.array(met.new))
        after = [(new if field.id in given else old).column(field.id) for field in fields]
        count = len(met.positions)
        yield _part(schema, "update", met.block.path, met.positions, [*old.columns, *after], count)
    coming = rows.filter(pa.array(is_new))
    nothing = [pa.nulls(coming.num_rows, column.type) for column in coming.columns]
    columns = [*nothing, *coming.columns]
    yield _part(schema, "insert", None, None, columns, coming.num_rows)


def _part(
    schema: pa.Schema,
    action: str,
    path: str | None,
    positions: npt.NDArray[np.int64] | None,
    columns: Sequence[Any],
    count: int,
) -> pa.Table:
    places = pa.nulls(count, pa.int64()) if positions is None else pa.array(positions, pa.int64())
    first = {
        ACTION: pa.repeat(pa.scalar(action), count),
        FILE_COLUMN: pa.repeat(pa.scalar(path, pa.string()), count),
        POSITION_COLUMN: places,
        MATCHED: pa.repeat(pa.scalar(path is not None), count),
    }
    return pa.table([*first.values(), *columns], schema=schema)


def _met(files: Files, target: RowTarget, rows: pa.Table, key: Sequence[Field]) -> Iterator[_Met]:
    new = [rows.column(field.id) for field in key]
    # The first column of a key rules most rows out; the others are compared where it is met.
    first = plain(new[0]) if len(new) == 1 else pc.unique(plain(new[0]))
    blocks = _near(target.blocks, key, new)
    gone = files.deletions(target.tombstones, [block.path for block in blocks])
    for block in blocks:
        old = files.columns(block.path, key, partition=block.partition, entry=block)
        nearest = pc.index_in(plain(old.column(0)), value_set=first)
        left = np.asarray(pc.is_valid(nearest), dtype=np.bool_).copy()
        # The file still has the rows that tombstones delete.
        left[gone.get(block.path, [])] = False
        positions = np.flatnonzero(left)
        if not len(positions):
            continue
        places = pa.array(positions)
        if len(new) == 1:
            yield _Met(block, positions, nearest.take(places).to_numpy().astype(np.int64))
            continue
        # A key column of this block has the number of the new row that it equals, if there is one.
        both = (
            pa.chunked_array([*one.chunks, *other.chunks], one.type)
            for one, other in zip(new, old.take(places).columns, strict=True)
        )
        codes = group_ids(both, rows.num_rows + len(positions))
        known = np.full(codes.max(initial=0) + 1, -1, np.int64)
        known[codes[: rows.num_rows]] = np.arange(rows.num_rows)
        found = known[codes[rows.num_rows :]]
        is_met = found >= 0
        if is_met.any():
            yield _Met(block, positions[is_met], found[is_met])


def _near(blocks: Sequence[Block], key: Sequence[Field], new: Sequence[Any]) -> Sequence[Block]:
    """Return the blocks whose bounds reach the new keys."""
    for field, column in zip(key, new, strict=True):
        if pruning.is_ordered(field.type):
            span = python_value(pc.min_max(column))
            blocks = pruning.within(blocks, field, span["min"], span["max"])
    return blocks
