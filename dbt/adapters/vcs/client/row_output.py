"""Row output: a stream of record batches as CSV, JSON lines, an Arrow stream or a Parquet file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import IO, Any, Final

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from dbt.adapters.vcs.client.lazy_table import LazyTable
from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.table.python_values import (
    FarMoment,
    python_rows,
    python_value,
    python_values,
)

_Write = Callable[[pa.RecordBatch], Any]


def write_output(
    table: LazyTable, format: str, sink: IO[bytes], *, limit: int | None = None
) -> int:
    """Write a table's rows as they are read, and return how many.

    Args:
        table: The rows.
        format: `csv`: with a header, NULL as nothing; `json`: an object a line; `arrow`: an IPC
            stream; `parquet`: a file.
        sink: Where to write; it is not closed.
        limit: Rows, at most; None for all.

    Raises:
        InputError: The format can't hold a column's type.
        UnsupportedError: A column can't be read without Spark.
    """
    schema, count = table.schema, 0
    if format == "csv":
        _check_flat(schema)
    with _WRITERS[format](sink, schema) as write:
        for batch in _limited(table, limit):
            write(batch)
            count += batch.num_rows
    return count


def _limited(table: LazyTable, limit: int | None) -> Iterator[pa.RecordBatch]:
    left = limit
    if left == 0:
        return
    for batch in table.to_batches():
        if left is None:
            yield batch
            continue
        yield batch.slice(0, left)
        left -= batch.num_rows
        if left <= 0:
            return


def _check_flat(schema: pa.Schema) -> None:
    found = [f.name for f in schema if pa.types.is_nested(f.type) or pa.types.is_binary(f.type)]
    if found:
        raise InputError(
            f"CSV can't hold nested and binary values: {', '.join(found)}. Use another format, "
            "or leave the columns out."
        )


@contextmanager
def _csv(sink: IO[bytes], schema: pa.Schema) -> Iterator[_Write]:
    with pa_csv.CSVWriter(sink, schema) as writer:

        def write(batch: pa.RecordBatch) -> None:
            told = _told(batch)
            if told.schema == batch.schema:
                writer.write_batch(batch)
            else:
                options = pa_csv.WriteOptions(include_header=False)
                pa_csv.write_csv(told, sink, options)

        yield write


def _told(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return rows with text in place of dates that Python can't hold: Arrow spells some wrong."""
    for place, field in enumerate(batch.schema):
        if pa.types.is_date(field.type) or pa.types.is_timestamp(field.type):
            column = batch.column(place)
            bounds = python_value(pc.min_max(column)).values()
            if any(isinstance(bound, FarMoment) for bound in bounds):
                near = column.cast(pa.string()).to_pylist()
                pairs = zip(python_values(column), near, strict=True)
                texts = [str(v) if isinstance(v, FarMoment) else text for v, text in pairs]
                batch = batch.set_column(place, field.name, pa.array(texts, pa.string()))
    return batch


@contextmanager
def _json(sink: IO[bytes], schema: pa.Schema) -> Iterator[_Write]:
    encoder = msgspec.json.Encoder(enc_hook=str)

    def write(batch: pa.RecordBatch) -> None:
        sink.write(encoder.encode_lines(python_rows(batch)))

    yield write


@contextmanager
def _arrow(sink: IO[bytes], schema: pa.Schema) -> Iterator[_Write]:
    with pa.ipc.new_stream(sink, schema) as writer:
        yield writer.write_batch


@contextmanager
def _parquet(sink: IO[bytes], schema: pa.Schema) -> Iterator[_Write]:
    with pq.ParquetWriter(sink, schema) as writer:
        yield writer.write_batch


_WRITERS: Final[Mapping[str, Callable[[IO[bytes], pa.Schema], AbstractContextManager[_Write]]]] = {
    "csv": _csv,
    "json": _json,
    "arrow": _arrow,
    "parquet": _parquet,
}

FORMATS: Final = tuple(_WRITERS)
