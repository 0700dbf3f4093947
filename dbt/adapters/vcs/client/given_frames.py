"""Frames: rows that a program has, of whatever library, as Arrow tables that can be read again."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import pyarrow as pa

from dbt.adapters.vcs.client.lazy_table import LazyTable
from dbt.adapters.vcs.core.errors import InputError

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
    for batch in batches:
        if held and (rows + batch.num_rows > _ROWS or size + batch.nbytes > _BYTES):
            yield pa.Table.from_batches(held, schema)
            held, rows, size = [], 0, 0
        held.append(batch)
        rows += batch.num_rows
        size += batch.nbytes
    if held:
        yield pa.Table.from_batches(held, schema)
