"""Some columns of Parquet files of the repository, read in process as Arrow."""

from __future__ import annotations

import io
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from dbt.adapters.vcs.core.errors import DamagedError
from dbt.adapters.vcs.core.model import Block, Field
from dbt.adapters.vcs.core.store.blobs import Blobs
from dbt.adapters.vcs.rows.types import arrow_type

_BATCH_ROWS: Final = 64 * 1024


def read_columns(
    blobs: Blobs,
    block: Block,
    fields: Sequence[Field],
    deleted: Sequence[int] = (),
    *,
    batch_rows: int = _BATCH_ROWS,
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a block, in order, with some columns, named by field id and cast.

    One that the file lacks has its initial value, a partition column its one value. Only the
    parts of the file that hold the columns are fetched.

    Args:
        blobs: Where the block is.
        block: The block.
        fields: The columns wanted, at least one.
        deleted: Positions to leave out, sorted.
        batch_rows: Rows of a batch, at most.

    Raises:
        DamagedError: The file is missing, or no Parquet file.
        UnsupportedError: Arrow lacks the type of a column.
    """
    target = pa.schema([pa.field(field.id, arrow_type(field.type)) for field in fields])
    initial = {field.id: field.initial for field in fields}
    start = 0
    for batch in _batches(blobs, block, fields, batch_rows):
        rows = _shaped(batch, block, target, initial)
        if deleted:
            rows = _without(rows, deleted, start)
        start += batch.num_rows
        yield rows


def count_nulls(blobs: Blobs, block: Block, field: Field, deleted: Sequence[int] = ()) -> int:
    """Return how many rows of a block, less the deleted ones, are NULL in a column of any type."""
    id = field.id
    if id in block.partition:
        return block.rows - len(deleted) if block.partition[id] is None else 0
    file = open_parquet(blobs, block.path)
    names = [name for name in file.schema_arrow.names if name.lower() == id.lower()]
    if not names:
        return block.rows - len(deleted) if field.initial is None else 0
    start = count = 0
    for batch in file.iter_batches(batch_size=_BATCH_ROWS, columns=names):
        count += int(_without(batch, deleted, start).column(0).null_count)
        start += batch.num_rows
    return count


class BlobFile(io.RawIOBase):
    """A blob as a file that can be read from any place; each read is one range of the store."""

    def __init__(self, blobs: Blobs, path: str) -> None:
        self._blobs = blobs
        self._path = path
        self._size = blobs.size(path)
        self._at = 0

    def readable(self) -> bool:
        """Say that it can be read."""
        return True

    def seekable(self) -> bool:
        """Say that it can be read from any place."""
        return True

    def tell(self) -> int:
        """Return the place of the next read."""
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Move to a place; return it."""
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        self._at = start + offset
        return self._at

    def read(self, size: int | None = -1) -> bytes:
        """Return the next bytes, all that are left if `size` is negative."""
        left = max(0, self._size - self._at)
        length = left if size is None or size < 0 else min(size, left)
        data = self._blobs.range(self._path, self._at, length) if length else b""
        self._at += len(data)
        return data


def open_parquet(blobs: Blobs, path: str) -> Any:
    """Return pyarrow's reader of a Parquet file.

    Raises:
        NotFoundError: There is no such file.
        DamagedError: It is no Parquet file.
    """
    try:
        return pq.ParquetFile(pa.PythonFile(BlobFile(blobs, path), mode="r"), pre_buffer=True)
    except pa.ArrowInvalid as error:
        raise DamagedError(
            f"{path} is no Parquet file: {error}. Restore it from a backup of the repository."
        ) from error


def _batches(
    blobs: Blobs, block: Block, fields: Sequence[Field], batch_rows: int
) -> Iterator[pa.RecordBatch]:
    file = open_parquet(blobs, block.path)
    by_name = {name.lower(): name for name in file.schema_arrow.names}
    names = {field.id: by_name.get(field.id.lower()) for field in fields}
    present = {id: name for id, name in names.items() if name and id not in block.partition}
    if not present:
        yield from _empty(block.rows, batch_rows)
        return
    ids = {name: id for id, name in present.items()}
    for batch in file.iter_batches(batch_size=batch_rows, columns=list(ids)):
        yield batch.rename_columns([ids[name] for name in batch.schema.names])


def _empty(rows: int, batch_rows: int) -> Iterator[pa.RecordBatch]:
    """Yield batches of a column that nobody asks for, only to have their lengths."""
    for start in range(0, rows, batch_rows):
        length = min(batch_rows, rows - start)
        yield pa.RecordBatch.from_arrays([pa.nulls(length)], ["__vcs_nothing"])


def _shaped(
    batch: pa.RecordBatch, block: Block, target: pa.Schema, initial: Mapping[str, str | None]
) -> pa.RecordBatch:
    arrays = []
    for field in target:
        if field.name in block.partition:
            value = _constant(block.partition[field.name], field.type)
            arrays.append(pa.repeat(value, batch.num_rows))
        elif field.name in batch.schema.names:
            arrays.append(_cast(batch.column(field.name), field.type))
        else:
            value = _constant(initial[field.name], field.type)
            arrays.append(pa.repeat(value, batch.num_rows))
    return pa.RecordBatch.from_arrays(arrays, schema=target)


def _cast(array: pa.Array, type_: pa.DataType) -> pa.Array:
    if array.type == type_:
        return array
    # Other writers keep nanoseconds (INT96): what is below a microsecond is none of Spark's.
    return array.cast(type_, safe=not pa.types.is_timestamp(type_))


def _constant(text: str | None, type_: pa.DataType) -> pa.Scalar[Any]:
    """Return a partition's value; folders tell times in UTC."""
    if text is None:
        return pa.scalar(None, type_)
    if pa.types.is_timestamp(type_):
        plain = pa.scalar(text).cast(pa.timestamp("us"))
        return plain.cast(pa.int64()).cast(type_)
    return pa.scalar(text).cast(type_)


def _without(rows: pa.RecordBatch, deleted: Sequence[int], start: int) -> pa.RecordBatch:
    """Return the rows of a batch that begins at a position, less the deleted ones."""
    first, last = bisect_left(deleted, start), bisect_left(deleted, start + rows.num_rows)
    if first == last:
        return rows
    kept = bytearray(b"\x01") * rows.num_rows
    for position in deleted[first:last]:
        kept[position - start] = 0
    mask = pa.Array.from_buffers(pa.uint8(), len(kept), [None, pa.py_buffer(bytes(kept))])
    return rows.filter(mask.cast(pa.bool_()))
