"""Adding rows and replacing them by partition: `insert into`, `insert overwrite`, `truncate`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pyarrow as pa

from dbt.adapters.vcs.core.errors import InputError, UnsupportedError
from dbt.adapters.vcs.core.model import Block, RelationName, Schema, SegmentRef, Snapshot
from dbt.adapters.vcs.engines.arrow import count_nulls, write_table
from dbt.adapters.vcs.engines.footers import check_not_null, read_blocks
from dbt.adapters.vcs.engines.port import Column
from dbt.adapters.vcs.statements import Insert, PartitionSpec, Truncate
from dbt.adapters.vcs.workspace.outcome import Outcome
from dbt.adapters.vcs.workspace.scope import Scope
from dbt.adapters.vcs.workspace.versions import changed, folder_of, put_segments

_DYNAMIC = "spark.sql.sources.partitionOverwriteMode"


def insert(scope: Scope, statement: Insert) -> Outcome:
    """Write a query's rows as blocks; with `overwrite`, let go of the blocks they replace.

    What is replaced follows Spark's rule for tables of files: the whole table, or the partitions
    that the partition clause names, or, with `partitionOverwriteMode = dynamic`, the partitions
    that the query gives rows for.

    Raises:
        NotFoundError: There is no such table.
        InputError: The name is a view's, or a column that can't be NULL gets one.
    """
    name = scope.name(statement.target.name)
    snapshot = scope.overlay.require_table(name)
    if statement.replace_where is not None:
        raise UnsupportedError(
            "insert into ... replace where is not supported yet; use insert overwrite."
        )
    if statement.if_not_exists:
        raise UnsupportedError(
            "insert overwrite ... partition (...) if not exists is not supported; leave the "
            "clause out, or look first whether the partition has rows."
        )
    for column in statement.columns:
        snapshot.schema.field(column)
    blocks = _write(scope, name, statement, snapshot)
    _check_not_null(scope, blocks, snapshot.schema)
    added = put_segments(scope.overlay.repository, blocks)
    rows = sum(block.rows for block in blocks)
    if not statement.overwrite:
        if blocks:
            segments = (*snapshot.segments, *added)
            changed(scope, name, snapshot, operation="append", segments=segments)
        return Outcome(relation=name, affected=rows)
    kept = _kept(scope, snapshot, _replaced(scope, statement, snapshot, blocks))
    changed(scope, name, snapshot, operation="overwrite", segments=(*kept, *added))
    return Outcome(relation=name, affected=rows)


def append_arrow(scope: Scope, name: RelationName, rows: pa.Table) -> Outcome:
    """Write Arrow rows, their columns named as the table's, as blocks; no engine is started.

    Raises:
        NotFoundError: There is no such table.
        InputError: A column that can't be NULL gets one.
        UnsupportedError: The table is partitioned.
    """
    snapshot = scope.overlay.require_table(name)
    if snapshot.partition_by:
        raise UnsupportedError(f"{name} is partitioned; rows from Arrow can't be added to it yet.")
    repository = scope.overlay.repository
    files = write_table(
        repository.blobs, rows, folder=folder_of(snapshot.table), schema=snapshot.schema
    )
    blocks = read_blocks(repository.blobs, files, snapshot.schema, ())
    _check_not_null(scope, blocks, snapshot.schema)
    if blocks:
        segments = (*snapshot.segments, *put_segments(repository, blocks))
        changed(scope, name, snapshot, operation="append", segments=segments)
    return Outcome(relation=name, affected=rows.num_rows)


def truncate(scope: Scope, statement: Truncate) -> Outcome:
    """Take every row away, or every row of some partitions.

    Raises:
        NotFoundError: There is no such table.
    """
    name = scope.name(statement.target.name)
    snapshot = scope.overlay.require_table(name)
    if statement.partition:
        wanted = _static_values(scope, snapshot, statement.partition)
        kept = _kept(scope, snapshot, lambda block: _matches(block, wanted))
    else:
        kept = ()
    if kept != snapshot.segments:
        changed(scope, name, snapshot, operation="truncate", segments=kept)
    return Outcome(relation=name)


def _write(
    scope: Scope, name: RelationName, statement: Insert, snapshot: Snapshot
) -> tuple[Block, ...]:
    fields = snapshot.schema.fields
    names = {field.id: field.name for field in fields}
    written = scope.session.insert(
        statement.staged,
        folder=folder_of(snapshot.table),
        columns=[Column(name=f.name, type=f.type, default=f.default) for f in fields],
        partition_by=[names[id] for id in snapshot.partition_by],
        ids=[field.id for field in fields],
        name=name,
        analysing=lambda: scope.reading(statement.query),
    )
    return read_blocks(
        scope.overlay.repository.blobs, written.files, snapshot.schema, snapshot.partition_by
    )


def _check_not_null(scope: Scope, blocks: Sequence[Block], schema: Schema) -> None:
    """Refuse NULL where the schema does; nested columns, whose footers don't tell, are read."""
    blobs = scope.overlay.repository.blobs
    for field in check_not_null(blocks, schema):
        count = sum(count_nulls(blobs, block.path, field.id) for block in blocks)
        if count:
            raise InputError(
                f"NULL in the column {field.name} ({count} rows), which is declared NOT NULL. "
                "Nothing was changed; filter the rows out, or drop the constraint."
            )


def _replaced(
    scope: Scope, statement: Insert, snapshot: Snapshot, blocks: Sequence[Block]
) -> Callable[[Block], bool]:
    wanted = _static_values(scope, snapshot, statement.partition)
    mode = scope.session.setting(_DYNAMIC) or "static"
    if snapshot.partition_by and mode.lower() == "dynamic":
        written = {tuple(sorted(block.partition.items())) for block in blocks}
        if len(wanted) == len(snapshot.partition_by):
            # Every partition column is given a value: that partition, whatever the mode.
            return lambda block: _matches(block, wanted)
        return lambda block: tuple(sorted(block.partition.items())) in written
    return lambda block: _matches(block, wanted)


def _matches(block: Block, wanted: dict[str, str | None]) -> bool:
    return all(block.partition.get(id) == value for id, value in wanted.items())


def _static_values(
    scope: Scope, snapshot: Snapshot, partition: Sequence[PartitionSpec]
) -> dict[str, str | None]:
    """Return the values that a partition clause gives, by field id, as the folders spell them.

    Raises:
        InputError: It names a column that the table is not partitioned by.
    """
    values: dict[str, str | None] = {}
    for spec in partition:
        field = snapshot.schema.field(spec.name)
        if field.id not in snapshot.partition_by:
            by = ", ".join(snapshot.partition_by) or "nothing"
            raise InputError(f"{spec.name} is no partition column; the table is by {by}.")
        if spec.value_sql is not None:
            values[field.id] = _folder_value(scope, spec.value_sql, field.type)
    return values


def _folder_value(scope: Scope, value_sql: str, type_: str) -> str | None:
    """Return a partition value as the folder's name spells it: times in UTC."""
    value = f"cast({value_sql} as {type_})"
    if type_ == "timestamp":
        value = f"to_utc_timestamp({value}, current_timezone())"
    found = scope.session.query(f"select cast({value} as string)").fetch()[0][0]
    return None if found is None else str(found)


def _kept(
    scope: Scope, snapshot: Snapshot, is_replaced: Callable[[Block], bool]
) -> tuple[SegmentRef, ...]:
    """Return the segments without the replaced blocks; untouched ones keep their id."""
    repository = scope.overlay.repository
    kept: list[SegmentRef] = []
    for ref in snapshot.segments:
        segment = repository.objects.segment(ref.id)
        blocks = [block for block in segment.blocks if not is_replaced(block)]
        if len(blocks) == len(segment.blocks):
            kept.append(ref)
        elif blocks:
            kept.extend(put_segments(repository, blocks))
    return tuple(kept)
