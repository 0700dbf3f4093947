"""Rewriting files in process: blocks joined, or a file again without some of its rows."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from functools import reduce
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from dbt.adapters.vcs.core.model import Block, Field, Tombstone
from dbt.adapters.vcs.core.store.blobs import Blobs
from dbt.adapters.vcs.table.files.block_reader import (
    BATCH_ROWS,
    OPTIONS,
    Files,
    Positions,
    checked_source,
    is_readable,
    partition_scalar,
)
from dbt.adapters.vcs.table.files.footers import Footer, naming_damage, write_file
from dbt.adapters.vcs.table.files.parquet import measured_columns, numbered, open_writer
from dbt.adapters.vcs.table.partition_values import folders_like
from dbt.adapters.vcs.table.types import arrow_type

_GROUP_BYTES: Final = 64 * 2**20
"""Rows that make a row group, as Arrow counts bytes in memory."""

# All columns are read here, so larger files than elsewhere are read at once and checked whole.
_READ_WHOLE: Final = 64 * 2**20
_OWN: Final = (b"ARROW:schema", b"vcs.table", b"vcs.write")
"""Metadata that isn't true of the new file."""

_ROW: Final = b"org.apache.spark.sql.parquet.row.metadata"
"""What Spark says of the columns; it isn't true of a file with more of them."""


def rewrite_blocks(
    blobs: Blobs,
    blocks: Sequence[Block],
    fields: Sequence[Field],
    tombstones: Sequence[Tombstone],
    *,
    folder: str,
    target_bytes: int,
    sort_by: Sequence[str] = (),
) -> dict[str, Footer]:
    """Write the rows of blocks of one partition to new files of about a target size.

    Rows are streamed, a row group at a time, with one new file in memory. To sort, the rows of all
    blocks are held in memory.

    Args:
        blobs: The repository's store.
        blocks: In the order in which their rows are to be written.
        fields: The table's columns.
        tombstones: The deletions to apply.
        folder: `data/<table id>/w=<write id>`, new.
        target_bytes: The approximate size of each file.
        sort_by: Field ids to sort the rows by.

    Returns:
        Footers of the files by path, in order; none if no row is left.

    Raises:
        UnsupportedError: Arrow lacks the type of a column (intervals, VARIANT).
        InputError: A file already exists.
    """
    files = Files(blobs)
    deleted = files.deletions(tombstones, [block.path for block in blocks])
    batches = (
        batch
        for block in blocks
        for batch in files.batches(block, fields, deleted.get(block.path))
        if batch.num_rows
    )
    groups = _sorted_groups(batches, sort_by) if sort_by else _row_groups(batches)
    inside = f"{folder}/{folders_like(blocks[0])}".rstrip("/")
    return dict(_written(blobs, groups, inside, folder.rpartition("=")[2], target_bytes))


def _sorted_groups(
    batches: Iterable[pa.RecordBatch], sort_by: Sequence[str]
) -> Iterator[pa.Table]:
    held = list(batches)
    if not held:
        return
    ordered = pa.Table.from_batches(held).sort_by([(id, "ascending") for id in sort_by])
    size = max(1, math.ceil(ordered.num_rows * _GROUP_BYTES / max(ordered.nbytes, 1)))
    for start in range(0, ordered.num_rows, size):
        yield ordered.slice(start, size)


def _row_groups(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    held: list[pa.RecordBatch] = []
    size = 0
    for batch in batches:
        held.append(batch)
        size += batch.nbytes
        if size >= _GROUP_BYTES:
            yield pa.Table.from_batches(held)
            held, size = [], 0
    if held:
        yield pa.Table.from_batches(held)


def _written(
    blobs: Blobs, groups: Iterable[pa.Table], folder: str, write: str, target_bytes: int
) -> Iterator[tuple[str, Footer]]:
    """Write row groups as files of a folder; yield each file's path and footer."""
    sink: pa.BufferOutputStream | None = None
    writer: pq.ParquetWriter | None = None
    measured: frozenset[str] = frozenset()
    number = 0

    def finish() -> tuple[str, Footer]:
        nonlocal number, writer, sink
        assert writer is not None and sink is not None
        writer.close()
        path = f"{folder}/part-{number:05}-{write}.parquet"
        footer = write_file(blobs, path, sink.getvalue().to_pybytes())
        number, writer, sink = number + 1, None, None
        return path, footer

    for rows in groups:
        held = measured_columns(rows)
        if writer is not None and not measured <= held:
            # Which columns get bounds is fixed when a file begins, so NaN in one of them begins
            # another.
            yield finish()
        if writer is None or sink is None:
            measured = held
            sink = pa.BufferOutputStream()
            writer = open_writer(sink, numbered(rows.schema), folder, measured)
        writer.write_table(rows, row_group_size=rows.num_rows)
        # Row groups are compressed as they are written, so this is about the file's size.
        if sink.tell() >= target_bytes:
            yield finish()
    if writer is not None:
        yield finish()


def write_without(
    blobs: Blobs, block: Block, gone: Positions, path: str, *, fields: Sequence[Field] = ()
) -> Footer:
    """Write a block's rows without some of them, in their order; return the new file's footer.

    The types that the file has stay, with what its writer says of them. A partition column that
    an older file has only in its path is added. Rows are streamed, with the new file in memory.

    Args:
        blobs: The repository's store.
        gone: Positions of the rows to leave out.
        path: The new file.
        fields: The table's columns.

    Raises:
        DamagedError: The block is damaged, or another file than its entry describes.
        InputError: The new file already exists.
    """
    # The rows are read twice, since bounds have to be decided on before the first is written.
    found = (measured_columns(pa.table(batch)) for batch in _left(blobs, block, gone, fields))
    measured = reduce(frozenset.intersection, found)
    sink = pa.BufferOutputStream()
    writer: pq.ParquetWriter | None = None
    for rows in _row_groups(_left(blobs, block, gone, fields)):
        if writer is None:
            writer = open_writer(sink, numbered(rows.schema, is_stored=True), path, measured)
        writer.write_table(rows, row_group_size=rows.num_rows)
    assert writer is not None, "a block without rows is left out, not written"
    writer.close()
    return write_file(blobs, path, sink.getvalue().to_pybytes())


def read_stored(blobs: Blobs, entry: Block | Tombstone) -> pa.Table:
    """Return all rows of a file in the types that it has.

    Raises:
        DamagedError: It is damaged, or another file than its entry describes.
    """
    with naming_damage(entry.path):
        return _open(blobs, entry).read()


def _left(
    blobs: Blobs, block: Block, gone: Positions, fields: Sequence[Field]
) -> Iterator[pa.RecordBatch]:
    with naming_damage(block.path):
        file, start = _open(blobs, block), 0
        added = _only_in_path(file.schema_arrow, block, fields)
        dropped = {*_OWN, _ROW} if added else {*_OWN}
        for batch in file.iter_batches(batch_size=BATCH_ROWS):
            left = np.ones(batch.num_rows, np.bool_)
            here = gone[(gone >= start) & (gone < start + batch.num_rows)] - start
            left[here] = False
            start += batch.num_rows
            rows = batch.filter(pa.array(left))
            if rows.num_rows:
                for id, value in added.items():
                    rows = rows.append_column(id, pa.repeat(value, rows.num_rows))
                kept = {k: v for k, v in (rows.schema.metadata or {}).items() if k not in dropped}
                yield rows.replace_schema_metadata(kept)


def _only_in_path(
    schema: pa.Schema, block: Block, fields: Sequence[Field]
) -> dict[str, pa.Scalar]:
    """Return the values of partition columns that a file lacks, as far as Arrow has their type."""
    inside = {name.lower() for name in schema.names}
    return {
        field.id: partition_scalar(block.partition[field.id], arrow_type(field.type))
        for field in fields
        if field.id in block.partition and field.id.lower() not in inside and is_readable(field)
    }


def _open(blobs: Blobs, entry: Block | Tombstone) -> Any:
    size = blobs.size(entry.path)
    source, known = checked_source(blobs, entry.path, size, entry, at_once=_READ_WHOLE)
    return pq.ParquetFile(source, **OPTIONS, **known)
