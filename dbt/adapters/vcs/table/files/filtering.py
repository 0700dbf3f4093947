"""Filtering: a file again without some of its rows, everything else as its writer left it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from dbt.adapters.vcs.core.model import Block, Field, Tombstone
from dbt.adapters.vcs.core.store.blobs import Blobs
from dbt.adapters.vcs.table.files.blob_file import BlobFile
from dbt.adapters.vcs.table.files.block_reader import Positions, is_readable, partition_scalar
from dbt.adapters.vcs.table.files.column_stats import measured_columns
from dbt.adapters.vcs.table.files.file_digests import check_whole, damage_told
from dbt.adapters.vcs.table.files.footers import Footer, write_file
from dbt.adapters.vcs.table.files.numbered_columns import numbered
from dbt.adapters.vcs.table.files.parquet import owner_of
from dbt.adapters.vcs.table.files.rewrite import grouped
from dbt.adapters.vcs.table.types import arrow_type

_BATCH_ROWS: Final = 64 * 1024
_READ_WHOLE: Final = 64 * 2**20
_OWN: Final = (b"ARROW:schema", b"vcs.table", b"vcs.write")
"""Metadata that isn't true of the new file."""

_ROW: Final = b"org.apache.spark.sql.parquet.row.metadata"
"""What Spark says of the columns; it isn't true of a file with more of them."""


def write_without(
    blobs: Blobs, block: Block, gone: Positions, path: str, *, fields: Sequence[Field] = ()
) -> Footer:
    """Write a block's rows without some of them, in their order; return the new file's footer.

    The types that the file has stay, with what its writer says of them. A partition column that
    an older file has only in its path is added. Rows are streamed, with the new file in memory.

    Args:
        blobs: The repository's store.
        block: The block.
        gone: Positions of the rows to leave out.
        path: The new file.
        fields: The table's columns.

    Raises:
        DamagedError: The block is damaged, or another file than its entry describes.
        InputError: The new file already exists.
    """
    measured = _measured(blobs, block, gone, fields)
    sink = pa.BufferOutputStream()
    writer: pq.ParquetWriter | None = None
    for rows in grouped(_left(blobs, block, gone, fields)):
        if writer is None:
            writer = pq.ParquetWriter(
                sink,
                numbered(rows.schema, is_stored=True),
                compression="snappy",
                coerce_timestamps="us",
                store_schema=False,
                write_page_index=False,
                write_page_checksum=True,
                write_statistics=sorted(measured),
            )
            writer.add_key_value_metadata(owner_of(path))
        writer.write_table(rows, row_group_size=rows.num_rows)
    assert writer is not None, "a block without rows is left out, not written"
    writer.close()
    return write_file(blobs, path, sink.getvalue().to_pybytes())


def read_stored(blobs: Blobs, entry: Block | Tombstone) -> pa.Table:
    """Return all rows of a file in the types that it has.

    Raises:
        DamagedError: It is damaged, or another file than its entry describes.
    """
    with damage_told(entry.path):
        return _open(blobs, entry).read()


def _measured(
    blobs: Blobs, block: Block, gone: Positions, fields: Sequence[Field]
) -> frozenset[str]:
    """Return the columns whose bounds hold every value that is left."""
    found = (measured_columns(pa.table(batch)) for batch in _left(blobs, block, gone, fields))
    return reduce(frozenset.intersection, found)


def _left(
    blobs: Blobs, block: Block, gone: Positions, fields: Sequence[Field]
) -> Iterator[pa.RecordBatch]:
    with damage_told(block.path):
        file, start = _open(blobs, block), 0
        added = _only_in_path(file.schema_arrow, block, fields)
        dropped = {*_OWN, _ROW} if added else {*_OWN}
        for batch in file.iter_batches(batch_size=_BATCH_ROWS):
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
    source: Any
    if size <= _READ_WHOLE:
        data = blobs.get(entry.path)
        check_whole(entry, data)
        source = pa.BufferReader(data)
    else:
        source = pa.PythonFile(BlobFile(blobs, entry.path, size), mode="r")
    return pq.ParquetFile(
        source,
        coerce_int96_timestamp_unit="us",
        page_checksum_verification=True,
        pre_buffer=True,
    )
