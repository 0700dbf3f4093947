"""Files: rows of Parquet files of the repository, read without Spark.

Columns are matched by field id and read as a schema's types, which may be wider than the file's.
"""

from __future__ import annotations

import io
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from dbt.adapters.vcs.core.errors import DamagedError, UnsupportedError
from dbt.adapters.vcs.core.model import Block, Field, Tombstone
from dbt.adapters.vcs.core.model.snapshot import FILE_COLUMN, POSITION_COLUMN
from dbt.adapters.vcs.core.store.blobs import Blobs
from dbt.adapters.vcs.core.store.objects import BoundedCache
from dbt.adapters.vcs.table.files.footers import (
    HELP,
    Entry,
    check_footer,
    check_whole,
    naming_damage,
    read_footer,
)
from dbt.adapters.vcs.table.row_numbers import distinct
from dbt.adapters.vcs.table.types import arrow_type

Positions = npt.NDArray[np.int64]

_Deleted: TypeAlias = dict[str, tuple[Positions, Positions]]
"""What a tombstone deletes, by block: see `Files.deleted`."""

_NOTHING: Final = (np.empty(0, np.int64), np.empty(0, np.int64))

_READ_WHOLE: Final = 4 * 2**20
"""A file up to this size is read at once, a larger one column by column."""

# Bytes of opened files that are kept, so that the next column needs no new look at them.
_KEPT: Final = 128 * 2**20

_OPEN: Final = 32 * 1024
"""Bytes of an opened file besides its contents and its footer."""

_FOOTER_FACTOR: Final = 8
"""How many times its stored size a footer takes in memory."""

# Bytes of deleted rows' positions that are kept, so that the next block needs no new look at its
# tombstones. One tombstone with more is kept while no other one is read.
_KEPT_DELETIONS: Final = 256 * 2**20

_ROW: Final = 16
_TARGET: Final = 512
"""Bytes of a deleted row, and of a block that loses rows, with its path."""

BATCH_ROWS: Final = 64 * 1024
"""Rows that are held at once where a block is streamed."""

# Rows from which reading columns in threads of their own costs less than starting them.
_THREADED_ROWS: Final = 32 * 1024

OPTIONS: Final[Mapping[str, Any]] = {
    # As nanoseconds, Arrow's default for the times of older writers, years end in 2262.
    "coerce_int96_timestamp_unit": "us",
    # Joins neighbouring column chunks into one read, and each read is a request to the store.
    "pre_buffer": True,
    # Decision 19: pages have a CRC-32, which Arrow only checks if it is told to.
    "page_checksum_verification": True,
}


class Files:
    """Reads files; caches tombstones' contents, small files, and the footers of others."""

    def __init__(
        self, blobs: Blobs, entries: Iterable[Entry] = (), *, kept: int | None = None
    ) -> None:
        """Take a store, and entries for files that are read by path alone.

        Args:
            blobs: The repository's store.
            entries: Entries whose digests the files must have.
            kept: Bytes of deleted rows' positions to keep, and of opened files, at most; None for
                what suits readers that come back to them.
        """
        self.blobs = blobs
        self._entries = {entry.path: entry for entry in entries}
        self._deletions: BoundedCache[str, _Deleted] = BoundedCache(
            kept or _KEPT_DELETIONS, keeps_last=True
        )
        self._opened: BoundedCache[str, tuple[str, Any]] = BoundedCache(kept or _KEPT)

    def columns(
        self,
        path: str,
        fields: Sequence[Field],
        *,
        rows: Positions | None = None,
        partition: Mapping[str, str | None] = {},
        entry: Entry | None = None,
    ) -> pa.Table:
        """Read columns, named by field id; one that the file lacks has its initial value.

        Args:
            path: A block or a tombstone.
            fields: The columns, with the types to widen them to.
            rows: Positions of the rows wanted, in the order wanted; None for all.
            partition: Partition values from the folders' names, by field id.
            entry: The file's entry, whose digests the file must have; by default the one that
                the reader was given.

        Raises:
            UnsupportedError: Arrow has no such type, or can't read what the file holds.
            DamagedError: It is damaged, or another file than its entry describes.
            NotFoundError: It is gone.
        """
        file = self._open(path, entry)
        names = _names(file)
        stored = _stored(names, fields, partition)
        count = int(file.metadata.num_rows) if rows is None else len(rows)
        table = _read(file, stored, rows, path) if stored else None
        arrays = [_column(table, names, field, partition, count, path) for field in fields]
        return pa.table(arrays, names=[field.id for field in fields])

    def batches(
        self,
        block: Block,
        fields: Sequence[Field],
        deleted: Positions | None = None,
        *,
        batch_rows: int = BATCH_ROWS,
        located: bool = False,
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a block in order, in batches; columns are as in `columns`.

        Args:
            fields: Which columns, and the types to widen them to.
            deleted: Positions to leave out; None for none.
            batch_rows: Rows of a batch, at most.
            located: Whether `__vcs_file` and `__vcs_pos` come first: the place of each row.

        Raises:
            UnsupportedError: Arrow has no such type, or can't read what the file holds.
            DamagedError: It is damaged, or another file than its entry describes.
            NotFoundError: It is gone.
        """
        target = located_schema(fields) if located else arrow_columns(fields)
        file, partition = self._open(block.path, block, keep=False), block.partition
        names = _names(file)
        stored = _stored(names, fields, partition)
        start = 0
        for batch, left in _parts(file, stored, deleted, batch_rows, block.path):
            arrays = [
                _column(batch, names, field, partition, len(left), block.path) for field in fields
            ]
            if located:
                arrays = [*_places(block.path, start, len(left)), *arrays]
            start += len(left)
            rows = pa.RecordBatch.from_arrays(arrays, schema=target)
            yield rows if left.all() else rows.filter(pa.array(left))

    def images(
        self, tombstone: Tombstone, blocks: Collection[str], fields: Sequence[Field]
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows that a tombstone deletes from some blocks, in batches.

        Columns are those of `located_schema`: the place of a row, then its values.

        Raises:
            UnsupportedError: Arrow has no such type, or can't read what the file holds.
            DamagedError: It is damaged, or another file than its entry describes.
            NotFoundError: It is gone.
        """
        path, target = tombstone.path, located_schema(fields)
        file = self._open(path, tombstone, keep=False)
        names = _names(file)
        places = [FILE_COLUMN, POSITION_COLUMN]
        stored = [*places, *_stored(names, fields, {})]
        wanted = pa.array(sorted(blocks), pa.string())
        for batch, _ in _parts(file, stored, None, BATCH_ROWS, path):
            arrays = [batch.column(name).cast(target.field(name).type) for name in places]
            arrays += [_column(batch, names, field, {}, len(batch), path) for field in fields]
            rows = pa.RecordBatch.from_arrays(arrays, schema=target)
            # Paths are compared in the dictionary, so each once in a batch and not once a row.
            among = pc.is_in(rows.column(0).dictionary, value_set=wanted)
            is_whole = pc.all(among).as_py()
            yield rows if is_whole else rows.filter(among.take(rows.column(0).indices))

    def nulls(self, block: Block, field: Field, deleted: Positions | None = None) -> int:
        """Return how many rows of a block, without the deleted ones, are NULL in a column.

        The column may be of any type: its values are not read.
        """
        rows = block.rows - (0 if deleted is None else len(deleted))
        if field.id in block.partition:
            return rows if block.partition[field.id] is None else 0
        file = self._open(block.path, block)
        stored = _stored(_names(file), [field], {})
        if not stored:
            return rows if field.initial is None else 0
        return sum(
            int(pc.sum(pc.and_(batch.column(0).is_null(), pa.array(left))).as_py() or 0)
            for batch, left in _parts(file, stored, deleted, BATCH_ROWS, block.path)
        )

    def count(self, block: Block) -> int:
        """Return how many rows a block's file has, deleted ones included."""
        # An entry made from a path alone (`unknown_block`) says 0.
        return block.rows or int(self._open(block.path, block).metadata.num_rows)

    def lacking(self, path: str, fields: Sequence[Field]) -> tuple[Field, ...]:
        """Return those of the given columns that a file lacks."""
        names = {name.lower() for name in self._open(path).schema_arrow.names}
        return tuple(field for field in fields if field.id.lower() not in names)

    def deleted(
        self, tombstone: str, block: str, entry: Entry | None = None
    ) -> tuple[Positions, Positions]:
        """Return the rows a tombstone deletes from a block, and the places of their images.

        Both in the same order: positions in the block, and in the tombstone's file.
        """
        return self._deletions_of(tombstone, entry).get(block, _NOTHING)

    def files_of(self, tombstone: Tombstone) -> frozenset[str]:
        """Return the blocks of which a tombstone's file holds rows, used or not."""
        return frozenset(self._deletions_of(tombstone.path, tombstone))

    def dead(self, tombstones: Sequence[str], block: str) -> Positions:
        """Return the positions that some tombstones delete from a block."""
        parts = [self.deleted(path, block)[0] for path in tombstones]
        return np.concatenate([np.empty(0, np.int64), *parts])

    def deletions(
        self, tombstones: Iterable[Tombstone], blocks: Iterable[str]
    ) -> dict[str, Positions]:
        """Return the positions that tombstones delete from each block, in ascending order.

        Blocks that lose no rows are left out.
        """
        wanted = set(blocks)
        found: dict[str, list[Positions]] = {}
        for tombstone in tombstones:
            for block in sorted(wanted & tombstone.targets.keys()):
                found.setdefault(block, []).append(
                    self.deleted(tombstone.path, block, tombstone)[0]
                )
        return {block: np.sort(np.concatenate(parts)) for block, parts in found.items()}

    def _deletions_of(self, path: str, entry: Entry | None) -> _Deleted:
        found = self._deletions.get(path)
        if found is None:
            found = self._read_deletions(path, entry)
            rows = sum(len(positions) for positions, _ in found.values())
            self._deletions.put(path, found, _ROW * rows + _TARGET * len(found))
        return found

    def _read_deletions(self, path: str, entry: Entry | None) -> _Deleted:
        file = self._open(path, entry, keep=False)
        table = _read(file, [FILE_COLUMN, POSITION_COLUMN], None, path)
        # Each row group has a dictionary of its own; codes mean the same only in a common one.
        encoded = table.column(FILE_COLUMN).unify_dictionaries().combine_chunks()
        codes = encoded.indices.to_numpy(zero_copy_only=False)
        positions = table.column(POSITION_COLUMN).to_numpy().astype(np.int64)
        blocks = encoded.dictionary.to_pylist()
        # By block, and within one in the order of the file.
        order = np.argsort(codes, kind="stable")
        ends = np.cumsum(np.bincount(codes, minlength=len(blocks)))
        parts = np.split(order, ends[:-1])
        return {block: (positions[rows], rows) for block, rows in zip(blocks, parts, strict=False)}

    def _open(self, path: str, entry: Entry | None = None, *, keep: bool = True) -> Any:
        entry = entry or self._entries.get(path)
        expected = entry.footer if entry else ""
        checked, file = self._opened.get(path) or ("", None)
        if file is not None and expected in ("", checked):
            # One that was opened by its path alone is opened again if there is a digest to check.
            return file
        size = self.blobs.size(path)
        source, known = checked_source(self.blobs, path, size, entry, at_once=_READ_WHOLE)
        try:
            file = pq.ParquetFile(source, **OPTIONS, **known)
            if FILE_COLUMN in file.schema_arrow.names:
                # Paths are long, and the same for many rows.
                # Only the footer says that they are there, so the file is opened twice.
                known = {"metadata": file.metadata, "read_dictionary": [FILE_COLUMN]}
                file = pq.ParquetFile(source, **OPTIONS, **known)
        except (pa.ArrowException, OSError, ValueError) as error:
            raise DamagedError(f"{path} is not a Parquet file: {error}. {HELP}") from error
        if not keep:
            # An opened file holds the bytes of all columns that were read from it.
            return file
        kept = _OPEN + _FOOTER_FACTOR * file.metadata.serialized_size
        self._opened.put(path, (expected, file), kept + (size if size <= _READ_WHOLE else 0))
        return file


def checked_source(
    blobs: Blobs, path: str, size: int, entry: Entry | None, *, at_once: int
) -> tuple[Any, dict[str, Any]]:
    """Return what Arrow reads a file from, and what is known of it once its digests are checked.

    A file of at most `at_once` bytes is read whole; of a larger one, the footer's digest is
    checked here, and the checksum of each page when Arrow reads it.

    Raises:
        DamagedError: It is damaged, or another file than its entry describes.
    """
    if size <= at_once:
        data = blobs.get(path)
        if entry is not None:
            check_whole(entry, data)
        return pa.BufferReader(data), {}
    source = pa.PythonFile(BlobFile(blobs, path, size), mode="r")
    # An entry from before there were digests: there is nothing to check the footer by.
    if entry is None or not entry.footer:
        return source, {}
    footer = read_footer(blobs, path, size)
    check_footer(entry, footer.digest)
    # Arrow gets the footer that was checked, and doesn't fetch it again.
    return source, {"metadata": footer.metadata}


def arrow_columns(fields: Sequence[Field]) -> pa.Schema:
    """Return columns as Arrow's, named by field id."""
    return pa.schema([pa.field(field.id, arrow_type(field.type)) for field in fields])


def located_schema(fields: Sequence[Field]) -> pa.Schema:
    """Return columns for rows with their places: `__vcs_file`, `__vcs_pos`, then the fields."""
    place = [(FILE_COLUMN, pa.dictionary(pa.int32(), pa.string())), (POSITION_COLUMN, pa.int64())]
    return pa.schema([*place, *arrow_columns(fields)])


def is_readable(field: Field) -> bool:
    """Return whether Arrow can read a column: any type but VARIANT and intervals."""
    try:
        arrow_type(field.type)
    except UnsupportedError:
        return False
    return True


def shown_type(field: Field) -> pa.DataType:
    """Return the Arrow type for an empty column: text if Arrow has no such type."""
    return arrow_type(field.type) if is_readable(field) else pa.string()


def partition_scalar(text: str | None, type_: pa.DataType) -> pa.Scalar:
    """Parse the value in a partition folder's name.

    Raises:
        UnsupportedError: Spark wrote a text that Arrow doesn't understand, as of the year 10000.
    """
    if text is None:
        return pa.scalar(None, type_)
    try:
        if pa.types.is_timestamp(type_):
            # The text is in UTC without an offset, and Arrow makes no instant of such a text.
            return pc.cast(pc.cast(pa.scalar(text), pa.timestamp("us")), type_)
        return pc.cast(pa.scalar(text), type_)
    except pa.ArrowInvalid as error:
        raise UnsupportedError(
            f"The partition value {text!r} can't be read as {type_} without Spark ({error}). Read "
            "the table with a query."
        ) from error


def _names(file: Any) -> dict[str, str]:
    """Return the names of a file's columns by their lower-case form, which field ids match."""
    return {name.lower(): name for name in file.schema_arrow.names}


def _stored(
    names: Mapping[str, str], fields: Sequence[Field], partition: Mapping[str, str | None]
) -> list[str]:
    """Return a file's own names of the given columns that it holds."""
    return [
        names[field.id.lower()]
        for field in fields
        if field.id not in partition and field.id.lower() in names
    ]


def _column(
    rows: Any,
    names: Mapping[str, str],
    field: Field,
    partition: Mapping[str, str | None],
    count: int,
    path: str,
) -> Any:
    """Return a column for rows that were read: the file's, or a constant."""
    type_ = arrow_type(field.type)
    name = names.get(field.id.lower())
    # Decision 22: the entry has partition values, though newer files have them inside as well.
    if field.id in partition or name is None:
        return pa.repeat(partition_scalar(partition.get(field.id, field.initial), type_), count)
    return _widened(rows.column(name), type_, path)


def _places(path: str, start: int, count: int) -> tuple[pa.Array, pa.Array]:
    """Return the path of a block and the positions of its rows from `start`, as columns."""
    same = pa.DictionaryArray.from_arrays(np.zeros(count, np.int32), pa.array([path]))
    return same, pa.array(np.arange(start, start + count))


def _parts(
    file: Any, stored: Sequence[str], deleted: Positions | None, batch_rows: int, path: str
) -> Iterator[tuple[Any, npt.NDArray[np.bool_]]]:
    """Yield a file's rows in parts with the rows left in each; None if no column is read."""
    rows = int(file.metadata.num_rows)
    left = np.ones(rows, np.bool_)
    if deleted is not None:
        if deleted.max(initial=-1) >= rows:
            raise DamagedError(
                f"Tombstones delete row {deleted.max()} of {path}, which has {rows} rows. Restore "
                "both from a backup of the repository."
            )
        left[deleted] = False
    if not stored:
        yield from ((None, left[at : at + batch_rows]) for at in range(0, rows, batch_rows))
        return
    # Tombstones say positions in the file, so batches have to come in order, without a gap.
    start = 0
    with naming_damage(path):
        for batch in file.iter_batches(batch_size=batch_rows, columns=list(stored)):
            yield batch, left[start : start + batch.num_rows]
            start += batch.num_rows
    _check_rows(path, start, rows)


# Decision 19: checksums cover the contents of pages and not their headers, so rows are counted.
def _check_rows(path: str, found: int, expected: int) -> None:
    if found != expected:
        raise DamagedError(
            f"{path} is damaged: it has {found} rows, and its footer says {expected}. {HELP}"
        )


def _read(file: Any, names: Sequence[str], rows: Positions | None, path: str) -> pa.Table:
    with naming_damage(path):
        if rows is None:
            threaded = file.metadata.num_rows >= _THREADED_ROWS
            table = file.read(columns=list(names), use_threads=threaded)
            _check_rows(path, table.num_rows, file.metadata.num_rows)
            return table
        return _read_some(file, names, rows, path)


def _read_some(file: Any, names: Sequence[str], rows: Positions, path: str) -> pa.Table:
    metadata = file.metadata
    sizes = [metadata.row_group(number).num_rows for number in range(metadata.num_row_groups)]
    # Which row groups have the rows that are wanted: no other one is read.
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    groups = np.searchsorted(starts, rows, side="right") - 1
    needed = distinct(groups)
    threaded = sum(sizes[number] for number in needed.tolist()) >= _THREADED_ROWS
    table = file.read_row_groups(needed.tolist(), columns=list(names), use_threads=threaded)
    # What was read has no gaps, so a row's place in it is earlier by the groups left out.
    skipped = np.zeros(len(sizes) + 1, np.int64)
    kept = 0
    for number in needed.tolist():
        skipped[number] = starts[number] - kept
        kept += sizes[number]
    _check_rows(path, table.num_rows, kept)
    return table.take(pa.array(rows - skipped[groups]))


def _widened(column: Any, type_: pa.DataType, path: str) -> Any:
    if column.type == type_:
        return column
    try:
        return column.cast(type_)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise UnsupportedError(
            f"{path} holds values of type {column.type} that can't be read as {type_} without "
            f"Spark: {error}."
        ) from error


class BlobFile(io.RawIOBase):
    """A blob as a file that can be read from any place; each read is one range of the store."""

    def __init__(self, blobs: Blobs, path: str, size: int) -> None:
        super().__init__()
        self._blobs = blobs
        self._path = path
        self._size = size
        self._at = 0

    def readable(self) -> bool:
        """Return True."""
        return True

    def seekable(self) -> bool:
        """Return True: it can be read from any position."""
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
