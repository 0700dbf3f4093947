"""Equality deletes: rows that another engine deleted by their values, wherever they are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from dbt.adapters.vcs.core.errors import InputError, NotFoundError, UnsupportedError
from dbt.adapters.vcs.core.model import Block, Field, Snapshot
from dbt.adapters.vcs.core.model.data_type import type_of
from dbt.adapters.vcs.core.model.field_number import field_number
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.iceberg.client_manifests import EqualityFile
from dbt.adapters.vcs.rows.equality import group_ids, plain
from dbt.adapters.vcs.rows.files.block_reader import Files, Positions
from dbt.adapters.vcs.rows.limits import MERGE_LIMITS, Limits
from dbt.adapters.vcs.rows.python_values import python_value
from dbt.adapters.vcs.verbs.changing.client_blocks import check_type, number_of
from dbt.adapters.vcs.verbs.changing.client_deletes import Deletions, joined
from dbt.adapters.vcs.writes import pruning


def equality_deletions(
    repository: Repository,
    version: Snapshot,
    blocks: Sequence[Block],
    files: Iterable[EqualityFile],
    sequences: Mapping[str, int],
    *,
    limits: Limits = MERGE_LIMITS,
) -> Deletions:
    """Find the rows that files of values delete. NULL is equal to NULL, as Iceberg has it.

    Of the blocks whose bounds reach the values, the columns compared are read.

    Args:
        repository: The repository.
        version: The table.
        blocks: Where rows may be.
        files: The files of values.
        sequences: Sequence numbers of new blocks by path. They lose rows to files of a higher
            number alone; all other blocks are older than any file.
        limits: The most to read.

    Returns:
        Their positions, even of those that are deleted already.

    Raises:
        InputError: A file isn't there, or has other columns than the table.
        UnsupportedError: It says nothing of the columns that partition the table, its values
            can't be compared here, or more would have to be read than the limits allow.
    """
    found: Deletions = {}
    grouped: dict[tuple[tuple[Field, ...], int], list[pa.Table]] = {}
    for file in files:
        fields = _fields(file, version)
        grouped.setdefault((fields, file.sequence), []).append(_values(repository, file, fields))
    for (fields, sequence), tables in grouped.items():
        values = pa.concat_tables(tables)
        older = [block for block in blocks if sequences.get(block.path, -1) < sequence]
        older = older if values.num_rows else []
        near = _near(older, fields, values)
        _check_size(near, limits)
        reader = Files(repository.blobs)
        met = {block.path: _met(reader, block, fields, values) for block in near}
        found = joined(found, {path: rows for path, rows in met.items() if len(rows)})
    return found


def _fields(file: EqualityFile, version: Snapshot) -> tuple[Field, ...]:
    """Return the columns that a file compares."""
    by_number = {field_number(field.id): field for field in version.schema.fields}
    unknown = [number for number in file.columns if number not in by_number]
    if unknown or not file.columns:
        raise InputError(
            f"{file.path} deletes rows by columns that the table lacks: "
            f"{', '.join(map(str, unknown)) or 'none is named'}. Nothing was changed; load the "
            "table again."
        )
    fields = tuple(by_number[number] for number in file.columns)
    for field in fields:
        if type_of(field.type).is_nested or type_of(field.type).collation:
            raise UnsupportedError(
                f"{file.path} deletes rows by {field.name}, whose type {field.type} can't be "
                "compared here. Nothing was changed; delete by columns of plain types."
            )
    missing = set(version.partition_by) - {field.id for field in fields}
    if missing:
        named = sorted(field.name for field in version.schema.fields if field.id in missing)
        raise UnsupportedError(
            f"{file.path} deletes rows without naming {', '.join(named)}, by which the table is "
            "partitioned. Nothing was changed; have the client put the columns of the partitions "
            "among those that it deletes by."
        )
    return fields


def _values(repository: Repository, file: EqualityFile, fields: Sequence[Field]) -> pa.Table:
    """Return the values that a file deletes, columns by field id."""
    try:
        stored = pq.ParquetFile(pa.BufferReader(repository.blobs.get(file.path)))
        schema = stored.schema_arrow
        names = {number_of(column): column.name for column in schema}
        columns = []
        for field in fields:
            name = names.get(field_number(field.id), field.name)
            if schema.get_field_index(name) < 0:
                raise InputError(
                    f"{file.path} lacks the column {field.name} that it deletes rows by. Nothing "
                    "was changed; write it again."
                )
            check_type(file.path, schema.field(name), field)
            columns.append(name)
        table = stored.read(columns=columns).select(columns)
    except NotFoundError:
        raise InputError(
            f"{file.path} is not there. Nothing was changed; write it again."
        ) from None
    except (pa.ArrowException, OSError, ValueError) as error:
        raise InputError(f"{file.path} is not a Parquet file: {error}.") from error
    return table.rename_columns([field.id for field in fields])


def _near(blocks: Sequence[Block], fields: Sequence[Field], values: pa.Table) -> Sequence[Block]:
    """Return the blocks whose bounds reach the values."""
    for field in fields:
        column = values.column(field.id)
        if pruning.is_ordered(field.type) and not column.null_count:
            span = python_value(pc.min_max(column))
            blocks = pruning.within(blocks, field, span["min"], span["max"])
    return blocks


def _check_size(blocks: Sequence[Block], limits: Limits) -> None:
    rows, size = sum(block.rows for block in blocks), sum(block.bytes for block in blocks)
    if rows > limits.rows or size > limits.bytes:
        raise UnsupportedError(
            f"To find the rows that the client deletes by value, {rows:,} rows of {size:,} bytes "
            f"would have to be read, and at most {limits.rows:,} rows of {limits.bytes:,} bytes "
            "are. Nothing was changed. Delete them with dbt or with `dbt-vcs sql`, or cluster the "
            "table by these columns."
        )


def _met(files: Files, block: Block, fields: Sequence[Field], values: pa.Table) -> Positions:
    """Return the positions of a block's rows that have one of the values."""
    old = files.columns(block.path, fields, partition=block.partition, entry=block)
    first = pc.unique(plain(values.column(fields[0].id).cast(old.column(0).type)))
    near = np.flatnonzero(
        np.asarray(pc.is_in(plain(old.column(0)), value_set=first), dtype=np.bool_)
    )
    if not len(near):
        return near
    both = pa.concat_tables([values.cast(old.schema), old.take(pa.array(near))])
    codes = group_ids(both.columns, both.num_rows)
    return near[np.isin(codes[values.num_rows :], codes[: values.num_rows])]
