"""Frames: rows that a program hands in, of whatever library, and rows written for others."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final, TypeAlias

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

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

    Frame: TypeAlias = (
        pa.Table
        | pa.RecordBatch
        | pa.RecordBatchReader
        | pd.DataFrame
        | pl.DataFrame
        | pl.LazyFrame
        | LazyTable
    )


_ROWS: Final = 1_000_000
_BYTES: Final = 128 * 2**20
"""What one part holds, at most."""


@dataclass(frozen=True, slots=True)
class FrameRows:
    """Rows in memory or in a file, which can be read several times."""

    _source: pa.Table | Path

    @property
    def schema(self) -> pa.Schema:
        """Their columns."""
        if isinstance(self._source, Path):
            with pa.ipc.open_file(str(self._source)) as file:
                return file.schema
        return self._source.schema

    def parts(self) -> Iterator[pa.Table]:
        """Yield them in parts that fit into memory, in order."""
        if isinstance(self._source, Path):
            with pa.ipc.open_file(str(self._source)) as file:
                batches = (file.get_batch(n) for n in range(file.num_record_batches))
                yield from _parts(batches, file.schema)
        else:
            # A chunk of a table may be larger than a part.
            yield from _parts(self._source.to_batches(max_chunksize=_ROWS), self._source.schema)


@contextmanager
def rows_of(frame: Frame | Any) -> Iterator[FrameRows]:
    """Return a frame's rows, readable within the block.

    A stream can be read once, and a write may have to be repeated: its rows are kept in a file on
    the local disk meanwhile. In a pandas frame NaN is NULL, and its index is left out.

    Raises:
        InputError: It is no frame.
    """
    if isinstance(frame, LazyTable):
        # As a stream, so that a large table goes to the disk instead of into memory.
        frame = frame.to_reader()
    if _is_of(frame, "polars", "LazyFrame"):
        frame = frame.collect()
    if _is_of(frame, "pandas", "DataFrame"):
        yield FrameRows(_from_pandas(frame))
    elif isinstance(frame, pa.RecordBatch):
        yield FrameRows(pa.Table.from_batches([frame]))
    elif isinstance(frame, pa.Table):
        yield FrameRows(frame)
    elif _is_of(frame, "polars", "DataFrame"):
        yield FrameRows(frame.to_arrow())
    elif hasattr(frame, "__arrow_c_stream__"):
        # Frames in memory have such a stream, too, and were taken above: they need no file.
        reader = pa.RecordBatchReader.from_stream(frame)
        with tempfile.TemporaryDirectory(prefix="dbt-vcs-") as folder:
            path = Path(folder) / "rows.arrow"
            with pa.ipc.new_file(str(path), reader.schema) as file:
                for batch in reader:
                    file.write_batch(batch)
            yield FrameRows(path)
    else:
        raise InputError(
            f"Expected rows as a table or stream of Arrow, or a frame of pandas or Polars; found "
            f"{type(frame).__name__}. Lists and dictionaries: pyarrow.Table.from_pylist(...)."
        )


def _is_of(frame: Any, library: str, name: str) -> bool:
    """Return whether an object is of a library's class, which needs no import of the library."""
    return any(
        item.__module__.partition(".")[0] == library and item.__name__ == name
        for item in type(frame).__mro__
    )


def _from_pandas(frame: pd.DataFrame) -> pa.Table:
    names = [name for name in frame.columns if not isinstance(name, str)]
    if names:
        raise InputError(f"Columns have names that are texts; found {names[0]!r}. Rename it.")
    try:
        return pa.Table.from_pandas(frame, preserve_index=False)
    except (pa.ArrowException, TypeError) as error:
        raise InputError(
            f"The frame has values that are no table's: {'; '.join(map(str, error.args))}. "
            "Convert them first."
        ) from error


def _parts(batches: Any, schema: pa.Schema) -> Iterator[pa.Table]:
    held: list[pa.RecordBatch] = []
    rows = size = 0
    # The bytes count, too: a million rows of long texts don't fit into memory.
    for batch in batches:
        if held and (rows + batch.num_rows > _ROWS or size + batch.nbytes > _BYTES):
            yield pa.Table.from_batches(held, schema)
            held, rows, size = [], 0, 0
        held.append(batch)
        rows += batch.num_rows
        size += batch.nbytes
    if held:
        yield pa.Table.from_batches(held, schema)


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
        # Before a header is written.
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
            shown = _with_far_dates(batch)
            if shown.schema == batch.schema:
                writer.write_batch(batch)
            else:
                # The writer's schema is fixed, so these rows go past it, after its header.
                options = pa_csv.WriteOptions(include_header=False)
                pa_csv.write_csv(shown, sink, options)

        yield write


def _with_far_dates(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return rows with text in place of dates that Python can't hold: Arrow spells some wrong."""
    for place, field in enumerate(batch.schema):
        if pa.types.is_date(field.type) or pa.types.is_timestamp(field.type):
            column = batch.column(place)
            # The bounds tell it without a look at each value in Python.
            bounds = python_value(pc.min_max(column)).values()
            if any(isinstance(bound, FarMoment) for bound in bounds):
                near = column.cast(pa.string()).to_pylist()
                pairs = zip(python_values(column), near, strict=True)
                texts = [str(v) if isinstance(v, FarMoment) else text for v, text in pairs]
                batch = batch.set_column(place, field.name, pa.array(texts, pa.string()))
    return batch


@contextmanager
def _json(sink: IO[bytes], schema: pa.Schema) -> Iterator[_Write]:
    # Decimals and times that JSON lacks become text.
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
