"""Files: columns of Parquet files of the repository, by field id and at the types of a schema."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from dbt.adapters.vcs.core.errors import DamagedError, UnsupportedError
from dbt.adapters.vcs.core.model import Field
from dbt.adapters.vcs.core.model.tombstone import FILE_COLUMN, POSITION_COLUMN
from dbt.adapters.vcs.core.store.blobs import Blobs
from dbt.adapters.vcs.rows.types import arrow_type

Positions = npt.NDArray[np.int64]

_READ_WHOLE: Final = 4 * 2**20
"""A file up to this size is read at once, a larger one column by column."""

_KEPT: Final = 64 * 2**20
"""Bytes of opened files that are kept, so that the next column needs no new look at them."""

_OPTIONS: Final[Mapping[str, Any]] = {"coerce_int96_timestamp_unit": "us", "pre_buffer": True}


class Files:
    """Reads files; keeps what tombstones say, and small files and the footers of others."""

    def __init__(self, blobs: Blobs) -> None:
        self._blobs = blobs
        self._deletions: dict[str, dict[str, tuple[Positions, Positions]]] = {}
        self._opened: dict[str, Any] = {}
        self._kept = 0

    def columns(
        self,
        path: str,
        fields: Sequence[Field],
        *,
        rows: Positions | None = None,
        partition: Mapping[str, str | None] = {},
    ) -> pa.Table:
        """Return columns by field id; one that the file lacks has its initial value.

        Args:
            path: A block or a tombstone.
            fields: Which columns, and the types to widen them to.
            rows: Positions of the rows wanted, in the order wanted; None for all.
            partition: Values that the folders tell, by field id.

        Raises:
            UnsupportedError: Arrow has no such type, or can't read what the file holds.
            DamagedError: It is no Parquet file.
            NotFoundError: It is gone.
        """
        file = self._open(path)
        names = {name.lower(): name for name in file.schema_arrow.names}
        stored = [
            names[field.id.lower()]
            for field in fields
            if field.id not in partition and field.id.lower() in names
        ]
        count = int(file.metadata.num_rows) if rows is None else len(rows)
        table = _read(file, stored, rows) if stored else None
        arrays = []
        for field in fields:
            type_ = arrow_type(field.type)
            name = names.get(field.id.lower())
            if field.id in partition:
                arrays.append(pa.repeat(partition_scalar(partition[field.id], type_), count))
            elif name is None or table is None:
                arrays.append(pa.repeat(partition_scalar(field.initial, type_), count))
            else:
                arrays.append(_widened(table.column(name), type_, path))
        return pa.table(arrays, names=[field.id for field in fields])

    def lacking(self, path: str, fields: Sequence[Field]) -> tuple[Field, ...]:
        """Return those of some columns that a file doesn't hold."""
        names = {name.lower() for name in self._open(path).schema_arrow.names}
        return tuple(field for field in fields if field.id.lower() not in names)

    def deleted(self, tombstone: str, block: str) -> tuple[Positions, Positions]:
        """Return which rows a tombstone deletes from a block, and where it keeps their images.

        Both are in the same order: positions in the block, and in the tombstone's own file.
        """
        found = self._deletions.get(tombstone)
        if found is None:
            found = self._deletions[tombstone] = self._read_deletions(tombstone)
        return found.get(block, (np.empty(0, np.int64), np.empty(0, np.int64)))

    def dead(self, tombstones: Sequence[str], block: str) -> Positions:
        """Return the positions that some tombstones delete from a block."""
        parts = [self.deleted(path, block)[0] for path in tombstones]
        return np.concatenate([np.empty(0, np.int64), *parts])

    def _read_deletions(self, path: str) -> dict[str, tuple[Positions, Positions]]:
        table = _read(self._open(path), [FILE_COLUMN, POSITION_COLUMN], None)
        encoded = table.column(FILE_COLUMN).unify_dictionaries().combine_chunks()
        codes = encoded.indices.to_numpy(zero_copy_only=False)
        positions = table.column(POSITION_COLUMN).to_numpy().astype(np.int64)
        blocks = encoded.dictionary.to_pylist()
        order = np.argsort(codes, kind="stable")
        ends = np.cumsum(np.bincount(codes, minlength=len(blocks)))
        parts = np.split(order, ends[:-1])
        return {block: (positions[rows], rows) for block, rows in zip(blocks, parts, strict=False)}

    def _open(self, path: str) -> Any:
        found = self._opened.get(path)
        if found is not None:
            return found
        try:
            size = self._blobs.size(path)
            if size <= _READ_WHOLE:
                source = pa.BufferReader(self._blobs.get(path))
            else:
                source = pa.PythonFile(_Ranges(self._blobs, path, size), mode="r")
            file = pq.ParquetFile(source, **_OPTIONS)
            if FILE_COLUMN in file.schema_arrow.names:
                known = {"metadata": file.metadata, "read_dictionary": [FILE_COLUMN]}
                file = pq.ParquetFile(source, **_OPTIONS, **known)
        except pa.ArrowInvalid as error:
            raise DamagedError(
                f"{path} is no Parquet file: {error}. Restore it from a backup of the repository."
            ) from error
        kept = size if size <= _READ_WHOLE else file.metadata.serialized_size
        if self._kept + kept > _KEPT:
            self._opened.clear()
            self._kept = 0
        self._opened[path] = file
        self._kept += kept
        return file


class _Ranges(io.RawIOBase):
    """A blob as a file that is read in parts."""

    def __init__(self, blobs: Blobs, path: str, size: int) -> None:
        super().__init__()
        self._blobs = blobs
        self._path = path
        self._size = size
        self._at = 0

    def readable(self) -> bool:
        """Tell that it can be read."""
        return True

    def seekable(self) -> bool:
        """Tell that it can be read from anywhere."""
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Go to a position."""
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        self._at = start + offset
        return self._at

    def tell(self) -> int:
        """Return the position."""
        return self._at

    def read(self, size: int = -1) -> bytes:
        """Return bytes from the position on, all that are left for -1."""
        length = self._size - self._at if size < 0 else min(size, self._size - self._at)
        data = self._blobs.range(self._path, self._at, length) if length > 0 else b""
        self._at += len(data)
        return data


def is_readable(field: Field) -> bool:
    """Tell whether Arrow can read a column: not VARIANT, nor intervals."""
    try:
        arrow_type(field.type)
    except UnsupportedError:
        return False
    return True


def shown_type(field: Field) -> pa.DataType:
    """Return the Arrow type of a column without values: text where Arrow has no such type."""
    return arrow_type(field.type) if is_readable(field) else pa.string()


def partition_scalar(text: str | None, type_: pa.DataType) -> pa.Scalar:
    """Return the value that a partition's folder tells as text."""
    if text is None:
        return pa.scalar(None, type_)
    if pa.types.is_timestamp(type_):
        return pc.cast(pc.cast(pa.scalar(text), pa.timestamp("us")), type_)
    return pc.cast(pa.scalar(text), type_)


def _read(file: Any, names: Sequence[str], rows: Positions | None) -> pa.Table:
    if rows is None:
        return file.read(columns=list(names))
    metadata = file.metadata
    sizes = [metadata.row_group(number).num_rows for number in range(metadata.num_row_groups)]
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    groups = np.searchsorted(starts, rows, side="right") - 1
    needed = np.unique(groups)
    table = file.read_row_groups(needed.tolist(), columns=list(names))
    skipped = np.zeros(len(sizes) + 1, np.int64)
    kept = 0
    for number in needed.tolist():
        skipped[number] = starts[number] - kept
        kept += sizes[number]
    return table.take(pa.array(rows - skipped[groups]))


def _widened(column: pa.ChunkedArray, type_: pa.DataType, path: str) -> pa.ChunkedArray:
    if column.type == type_:
        return column
    try:
        return column.cast(type_)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise UnsupportedError(
            f"{path} holds values of type {column.type} that can't be read as {type_} without "
            f"Spark: {error}."
        ) from error
