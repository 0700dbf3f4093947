"""Row files: rows of a partitioned or plain table as Parquet files, without Spark."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from dbt.adapters.vcs.core.errors import UnsupportedError
from dbt.adapters.vcs.core.model import Schema
from dbt.adapters.vcs.core.store.blobs import Blobs
from dbt.adapters.vcs.table.files.footers import Footer, write_file
from dbt.adapters.vcs.table.files.parquet import arrow_schema, parquet_bytes
from dbt.adapters.vcs.table.partition_values import is_spelled, partition_folder
from dbt.adapters.vcs.table.python_values import python_values

_ROW_GROUPS: Final = 8
"""In a file of many rows. Changed rows are in the order of the table: bounds tell groups apart."""

_MIN_ROW_GROUP: Final = 16_384
"""Rows of a row group, but for the last."""

_MAX_ROWS: Final = 1_000_000
_MAX_BYTES: Final = 256 * 1024 * 1024
"""In memory; a file on disk is smaller as a rule."""


def can_write(schema: Schema, partition_by: Sequence[str]) -> bool:
    """Return whether Arrow has the table's types and its partition folders can be named here."""
    try:
        arrow_schema(schema)
    except UnsupportedError:
        return False
    fields = {field.id: field.type for field in schema.fields}
    return all(is_spelled(fields[id]) for id in partition_by)


def write_rows(
    blobs: Blobs,
    rows: pa.Table,
    *,
    folder: str,
    partition_by: Sequence[str] = (),
    first: int = 0,
) -> dict[str, Footer]:
    """Write rows as blocks of a table, as Spark would.

    Args:
        blobs: The store to write to.
        rows: The table's columns, named by field id, in the types of `arrow_schema`.
        folder: `data/<table id>/w=<write id>`, new but for files of a lower number.
        partition_by: Field ids of the partition columns, outermost first; see `can_write`.
        first: The number of the first file: how many there are in the folder.

    Returns:
        Footers of the files by path, relative to the repository; empty if there are no rows.

    Raises:
        InputError: A folder's name can't hold a partition value, or the folder is not new.
    """
    write = folder.rpartition("=")[2]
    files: dict[str, Footer] = {}
    for inside, part in _partitions(rows, partition_by):
        for piece in _pieces(part):
            path = f"{folder}/{inside}part-{first + len(files):05}-{write}.parquet"
            row_group = max(_MIN_ROW_GROUP, -(-len(piece) // _ROW_GROUPS))
            data = parquet_bytes(piece, folder, row_group=row_group)
            files[path] = write_file(blobs, path, data)
    return files


def _partitions(rows: pa.Table, by: Sequence[str]) -> Iterator[tuple[str, pa.Table]]:
    """Yield each partition's rows in order, and its folders."""
    if not by:
        yield "", rows
        return
    folders = pc.binary_join_element_wise(
        *(_spelled(rows.column(id), id) for id in by), pa.scalar(""), "/"
    )
    order = pc.sort_indices(folders)
    folders = folders.take(order)
    rows = rows.take(order)
    start = 0
    for item in pc.value_counts(folders).to_pylist():
        yield item["values"], rows.slice(start, item["counts"])
        start += item["counts"]


def _spelled(column: pa.ChunkedArray, id: str) -> pa.Array:
    """Return the names of the folders for a column's values."""
    codes = column.combine_chunks().dictionary_encode(null_encoding="encode")
    names = [partition_folder(id, value) for value in python_values(codes.dictionary)]
    return pa.array(names, pa.string()).take(codes.indices)


def _pieces(rows: pa.Table) -> Iterator[pa.Table]:
    if not rows.num_rows:
        return
    each = max(1, min(_MAX_ROWS, rows.num_rows * _MAX_BYTES // max(1, rows.nbytes)))
    for start in range(0, rows.num_rows, each):
        yield rows.slice(start, each)
