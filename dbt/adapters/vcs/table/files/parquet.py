"""Arrow tables as Parquet files of the repository, without Spark."""

from __future__ import annotations

from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.core.model import Schema
from dbt.adapters.vcs.core.store.blobs import Blobs
from dbt.adapters.vcs.table.files.column_stats import leaves, measured_columns
from dbt.adapters.vcs.table.files.footers import Footer, write_file
from dbt.adapters.vcs.table.files.numbered_columns import numbered
from dbt.adapters.vcs.table.types import arrow_type

_ROW_GROUP: Final = 1_000_000


def arrow_schema(schema: Schema) -> pa.Schema:
    """Return a table's columns as Arrow's, named by field id.

    Raises:
        UnsupportedError: Arrow lacks one of the types (intervals, VARIANT).
    """
    return pa.schema(
        [pa.field(field.id, arrow_type(field.type), field.nullable) for field in schema.fields]
    )


def write_table(
    blobs: Blobs,
    table: pa.Table,
    *,
    folder: str,
    schema: Schema,
    max_rows_per_file: int = 1_000_000,
) -> dict[str, Footer]:
    """Write the rows of an Arrow table, as Spark would write them.

    Args:
        blobs: The store to write to.
        table: Columns in the order of the schema, whatever their names; cast without loss.
        folder: `data/<table id>/w=<write id>`, new.
        schema: The table's columns.
        max_rows_per_file: Rows after which to start another file.

    Returns:
        Footers of the files by path, relative to the repository; empty if there are no rows.

    Raises:
        InputError: The columns don't fit the schema, or the folder is not new.
    """
    wanted = arrow_schema(schema)
    write = folder.rpartition("=")[2]
    if table.num_columns != len(wanted):
        raise InputError(
            f"The table has {len(wanted)} columns ({', '.join(schema.names)}); "
            f"{table.num_columns} were given."
        )
    table = _cast(table, wanted)
    files: dict[str, Footer] = {}
    for number, start in enumerate(range(0, table.num_rows, max_rows_per_file)):
        path = f"{folder}/part-{number:05}-{write}.parquet"
        data = parquet_bytes(table.slice(start, max_rows_per_file), folder)
        files[path] = write_file(blobs, path, data)
    return files


def _cast(table: pa.Table, wanted: pa.Schema) -> pa.Table:
    columns = []
    for field, column in zip(wanted, table.columns, strict=True):
        try:
            columns.append(column.cast(field.type))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise InputError(
                f"The values of column '{field.name}' don't fit its type ({error}). "
                "Give the column another type, or mend the values."
            ) from error
    return pa.table(columns, schema=pa.schema([field.with_nullable(True) for field in wanted]))


def owner_of(folder: str) -> dict[str, str]:
    """Return the metadata of a file: the table and the write that it belongs to."""
    _, table, write, *_ = f"{folder}///".split("/")
    return {"vcs.table": table, "vcs.write": write.partition("=")[2]}


def parquet_bytes(table: pa.Table, folder: str, *, row_group: int = _ROW_GROUP) -> bytes:
    """Return the Parquet file that holds a table, as Spark reads it best.

    Args:
        table: The rows.
        folder: `data/<table id>/w=<write id>`, which the file's metadata repeats.
        row_group: Rows of a row group.
    """
    sink = pa.BufferOutputStream()
    with pq.ParquetWriter(
        sink,
        numbered(table.schema),
        compression="snappy",
        coerce_timestamps="us",
        store_schema=False,
        write_page_index=False,
        write_page_checksum=True,
        write_statistics=sorted(measured_columns(table)),
        use_dictionary=sorted(_repeating_columns(table)),
    ) as writer:
        writer.add_key_value_metadata(owner_of(folder))
        writer.write_table(table, row_group_size=row_group)
    data: bytes = sink.getvalue().to_pybytes()
    return data


_SAMPLES: Final = 20
_SAMPLE: Final = 1_000
"""How many pieces of a table are looked at, and the rows of each: neighbours may be alike."""

_MOST: Final = 0.5
"""The most different values, as a part of those looked at."""


def _repeating_columns(rows: pa.Table) -> frozenset[str]:
    """Return the paths of the leaf columns that get a dictionary.

    These are all columns but those not nested of which a sample has mostly different values. A
    dictionary of values that hardly repeat is filled, found too large and given up, in each row
    group, which takes longer than to write the values, and leaves a larger file.
    """
    return frozenset(
        path
        for field, column in zip(rows.schema, rows.columns, strict=True)
        for path, _ in leaves(field.name, field.type)
        if path != field.name or _repeats(column)
    )


def _repeats(column: pa.ChunkedArray) -> bool:
    count = len(column)
    if count <= _SAMPLES * _SAMPLE:
        return True
    starts = range(0, count - _SAMPLE, count // _SAMPLES)
    chunks = [chunk for start in starts for chunk in column.slice(start, _SAMPLE).chunks]
    sample = pa.chunked_array(chunks, column.type)
    return len(sample.unique()) <= _MOST * len(sample)
