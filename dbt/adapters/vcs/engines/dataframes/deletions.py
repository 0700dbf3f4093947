"""SQL that leaves out rows deleted by tombstones, over tables of files."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from dbt.adapters.vcs.core.errors import DamagedError, NotFoundError
from dbt.adapters.vcs.core.model import Block, Field, Tombstone
from dbt.adapters.vcs.core.model.snapshot import FILE_COLUMN, POSITION_COLUMN, POSITION_ID
from dbt.adapters.vcs.core.store.blobs import Blobs
from dbt.adapters.vcs.engines.port import TableMount
from dbt.adapters.vcs.table.files.block_reader import Files, Positions
from dbt.adapters.vcs.table.quoting import literal, quoted
from dbt.adapters.vcs.table.row_numbers import (
    CHUNK_BITS,
    WORD_BITS,
    DeletionBitmap,
    FileNumbers,
    deletion_bitmap,
    number_count,
    text_size,
)

# Paths that Spark's URIs do not encode.
_PLAIN_PATH: Final = re.compile(r"[A-Za-z0-9/_.=-]*")
# Spark parses one long string faster than many short ones.
_MAX_LISTED: Final = 200

# Up to this many deleted rows, or words of them, are broadcast; more are sorted and merged.
# Spark would decide by the size of their files, in which positions take next to nothing.
_MAX_BROADCAST: Final = 2_000_000

_BEYOND: Final = (
    "A tombstone deletes a row that isn't in its file. Run dbt-vcs fsck --data, and restore the "
    "file from a backup."
)

# SQL for a row without a bit, or without a position.
_LOST: Final = "raise_error('A file has more rows than its version knows of.')"

# Up to this many files share buckets: hashing a name per row would cost more than it saves.
_FEW_FILES: Final = 64

# The most deleted rows that a file's rows are compared with where files share buckets.
_MAX_MET: Final = 2_000_000

# Bits of a position: rows of 64 neighbours share a bucket.
_MAX_WIDTH: Final = 6


def file_of(files: Sequence[str], relation: str = "") -> str:
    """Return SQL for the path, relative to the repository, of a row's file.

    Spark gives absolute paths, percent-encoded as in a URI; every file must have as many folders.

    Args:
        files: All files of the relation, relative to the repository.
        relation: Its alias, or '' if nothing else is in scope.
    """
    # By the end of the path: Spark may name the root otherwise, and tasks give files of one name
    # to several folders (decision 9).
    depth = files[0].count("/") + 1
    metadata = f"{relation}._metadata" if relation else "_metadata"
    path = f"substring_index({metadata}.file_path, '/', -{depth})"
    if all(map(_PLAIN_PATH.fullmatch, files)):
        return path
    # `url_decode` would make a space of a plus.
    return f"url_decode(replace({path}, '+', '%2B'))"


POSITION_FIELD: Final = Field(id=POSITION_ID, name=POSITION_ID, type="bigint")
"""A column of a table of files that Spark's readers of Parquet fill with the position of a row.

They find it by its name. It is a column beside the others, whereas `_metadata` is a struct, which
Spark makes anew for each row. Where Spark doesn't know the name it is null, and a row without a
position fails the query.
"""


ROW_INDEX: Final = "kept._metadata.row_index"
"""SQL for the position of a row of the table `kept` in its file, counted from 0."""

TOMBSTONE_FIELDS: Final = (
    Field(id=FILE_COLUMN, name=FILE_COLUMN, type="string"),
    Field(id=POSITION_COLUMN, name=POSITION_COLUMN, type="bigint"),
)
"""The columns that every file of tombstones has."""


def deletions_mount(tombstones: Sequence[Tombstone], fields: Sequence[Field]) -> TableMount:
    """Return a mount of tombstone files: positions of deleted rows, and some fields."""
    files = tuple(sorted({item.path for item in tombstones}))
    # The same files with other fields are another table.
    shown = repr((files, [(field.id, field.type) for field in fields]))
    return TableMount(
        id=f"t_{hashlib.sha256(shown.encode()).hexdigest()[:32]}",
        folder=files[0].rpartition("/")[0],
        files=files,
        fields=(*TOMBSTONE_FIELDS, *fields),
        entries=tuple(tombstones),
    )


def deleted_rows(table: str, tombstones: Sequence[Tombstone], files: Iterable[str]) -> str:
    """Return a query for `(__vcs_file, __vcs_pos)` of the rows deleted from some files.

    Args:
        table: A table over the files of the tombstones, in that order.
        tombstones: The entries.
        files: The blocks that matter.
    """
    return (
        f"select {FILE_COLUMN}, {POSITION_COLUMN} from {table} "
        f"where {is_listed(tombstones, files)}"
    )


def is_listed(tombstones: Sequence[Tombstone], files: Iterable[str]) -> str:
    """Return a SQL condition: a row of tombstone files deletes a row of some files.

    A tombstone's file may have rows for blocks that its entry doesn't list; these are ignored.
    The condition is for a query over a table of exactly the tombstones' files.
    """
    wanted = set(files)
    pairs = [
        f"{item.path}\n{target}"
        for item in tombstones
        for target in sorted(item.targets)
        if target in wanted
    ]
    listed_files = sorted({pair.partition("\n")[2] for pair in pairs})
    if len(pairs) == len(tombstones) * len(listed_files) <= _MAX_LISTED:
        # Every tombstone lists every file, so comparing the file is enough.
        return f"{FILE_COLUMN} in ({', '.join(map(literal, listed_files))})"
    # Pairs, since a tombstone's file may have rows for a block that only another entry still
    # lists.
    tombstone = file_of([item.path for item in tombstones])
    if len(pairs) <= _MAX_LISTED:
        listed = ", ".join(map(literal, pairs))
    else:
        # One long text: Spark parses and plans each literal of a list by itself.
        listed = f"select explode(split({literal(chr(1).join(pairs))}, '{chr(1)}'))"
    return f"concat({tombstone}, '\\n', {FILE_COLUMN}) in ({listed})"


def written_rows(places: Mapping[str, Iterable[int]]) -> str:
    """Return what `deleted_rows` returns, with the rows inlined in the text.

    Spark then needs no job before it reads the first row of a table.

    Args:
        places: The positions of deleted rows by file; at least one.
    """
    rows = (f"({literal(file)}, {position}L)" for file in places for position in places[file])
    return f"select * from values {', '.join(rows)} as ({FILE_COLUMN}, {POSITION_COLUMN})"


def unmarked_rows(
    table: str,
    number: str,
    position: str,
    bitmap: DeletionBitmap,
    columns: Iterable[str],
    *,
    array: Callable[[str, npt.NDArray[np.int64]], str],
) -> str:
    """Return a query for the rows of a table of files that are not deleted.

    The number is used once: where a filter computes anything twice, Spark computes it first, and
    decodes all columns that the filter reads before, even for rows that are left out.

    Args:
        number: SQL for a row's number.
        position: SQL for its position in its file.
        bitmap: The deleted rows of all its files.
        columns: What to select, as SQL; the table's alias is `kept`.
        array: Returns SQL for an array of numbers, which gets a name.
    """
    # Decision 26: above eight million rows most words would be 0, and are left out.
    if bitmap.chunks is None:
        place = _word_of(number)
    else:
        of_chunk = f"cast(shiftright({number}, {CHUNK_BITS}) as int)"
        in_chunk = f"({_word_of(position)} & {(1 << CHUNK_BITS - WORD_BITS) - 1})"
        place = f"{array('chunks', bitmap.chunks)}[{of_chunk}] + {in_chunk}"
    word = f"{array('words', bitmap.words)}[cast({place} as int)]"
    # The bit comes from the position, since files begin at multiples of 64.
    bit = f"shiftright({word}, {_bit_of(position)}) & 1"
    return f"select {', '.join(columns)} from {table} kept where coalesce({bit}, {_LOST}) = 0"


def left_numbered_rows(
    table: str,
    numbers: FileNumbers,
    number: str,
    position: str,
    deleted: str,
    count: int,
    columns: Iterable[str],
) -> str:
    """Return a query for the rows of a table of files that are not deleted.

    Spark collects the deleted rows as words of a bitmap, and joins on the number of the word: the
    rows of 64 neighbours meet the same entry of its hash table, and no text is compared.

    Args:
        table: The table.
        numbers: The numbers of the rows of its files.
        number: SQL for a row's number.
        position: SQL for its position in its file.
        deleted: A query from `deleted_rows` or `written_rows`; a place that its file doesn't have
            fails the query.
        count: How many rows that query has.
        columns: What to select, as SQL; the table's alias is `kept`.
    """
    starts = json.dumps(
        [
            {"path": file, "first": numbers.first[file], "rows": rows}
            for file, rows in numbers.rows.items()
        ]
    )
    files = (
        f"select inline(from_json({literal(starts)}, "
        "'array<struct<path:string,first:bigint,rows:bigint>>', map('mode', 'FAILFAST')))"
    )
    place = f"gone.{quoted(POSITION_COLUMN)}"
    met = (
        f"files.first + if({place} >= 0 and {place} < files.rows, {place}, "
        f"raise_error({literal(_BEYOND)}))"
    )
    words = (
        f"select {_word_of('number')} word, bit_or(shiftleft(1L, {_bit_of('number')})) bits "
        f"from (select {met} number from ({deleted}) gone join ({files}) files "
        f"on gone.{quoted(FILE_COLUMN)} = files.path) group by {_word_of('number')}"
    )
    # A row without a number would match nothing, and a deleted one would come back.
    number = f"coalesce({number}, {_LOST})"
    return (
        f"select {_hint(min(count, numbers.end >> WORD_BITS))}{', '.join(columns)} "
        f"from {table} kept left anti join ({words}) gone on gone.word = {_word_of(number)} "
        f"and getbit(gone.bits, {_bit_of(position)}) = 1"
    )


def _word_of(number: str) -> str:
    return f"shiftright({number}, {WORD_BITS})"


def _bit_of(number: str) -> str:
    return f"cast({number} & {(1 << WORD_BITS) - 1} as int)"


def _hint(count: int) -> str:
    """Return how rows are to be joined with so many `gone` ones."""
    return f"/*+ {'broadcast' if count <= _MAX_BROADCAST else 'merge'}(gone) */ "


def written_array(numbers: npt.NDArray[np.int64]) -> str:
    """Return SQL for an array of bigints; Spark parses one long text faster than many words.

    The array is in a relation of one row: as a literal, Spark would print it in each description
    of the plan.
    """
    text = f"[{','.join(map(str, numbers.tolist()))}]"
    made = f"from_json('{text}', 'array<bigint>', map('mode', 'FAILFAST'))"
    return f"(select numbers from values ({made}) as one(numbers))"


def left_rows(
    table: str, files: Sequence[str], deleted: str, count: int, columns: Iterable[str]
) -> str:
    """Return a query for the rows of a table of files that are not deleted.

    The join hashes on one number, a bucket of neighbouring rows. Rows are read file by file in
    order, so all lookups for a bucket hit the same cached entry of Spark's hash table instead
    of a new one per row. Within a bucket, position and file are compared as ranges, since
    Spark would hash on equalities as well.

    Args:
        table: The table.
        deleted: A query from `deleted_rows` or `written_rows`.
        count: How many rows that query has.
        columns: What to select, as SQL; the table's alias is `kept`.
    """
    file, position = f"gone.{quoted(FILE_COLUMN)}", f"gone.{quoted(POSITION_COLUMN)}"
    bucket = _bucketing(files, count)
    here = bucket(ROW_INDEX, "kept._metadata.file_name")
    there = bucket(position, f"substring_index({file}, '/', -1)")
    same = f"{here} = {there}"
    # Two comparisons instead of one equality, on which Spark would hash as well.
    for one, other in ((ROW_INDEX, position), (file_of(files, "kept"), file)):
        same += f" and {one} >= {other} and {one} <= {other}"
    return (
        f"select {_hint(count)}{', '.join(columns)} from {table} kept "
        f"left anti join ({deleted}) gone on {same}"
    )


def _bucketing(files: Sequence[str], count: int) -> Callable[[str, str], str]:
    """Return a function from SQL for a row's position and file name to SQL for its bucket.

    With few files, a bucket is a range of positions across all files, narrow enough that the
    rows of a file are compared with at most `_MAX_MET` deleted rows in total. With more files
    or more deleted rows, each file has its own buckets, so names are hashed as well.
    """
    shared = len(files) <= _FEW_FILES and count <= _MAX_MET
    named = not shared and all(map(_PLAIN_PATH.fullmatch, files))
    if named:
        width = _MAX_WIDTH if count <= _MAX_BROADCAST else 0
    else:
        width = min(_MAX_WIDTH, max(0, (_MAX_MET // max(1, count)).bit_length() - 1))

    def bucket(position: str, name: str) -> str:
        number = f"shiftright({position}, {width})" if width else position
        return f"xxhash64({name}) ^ {number}" if named else number

    return bucket


LOST: Final = (
    "The rows of a version without a name are collected when it is older than the retention; "
    "restore those of any other from a backup."
)
# The most deleted rows to inline in a query one by one.
_MAX_WRITTEN: Final = 2_000

# The most deleted rows to inline as a bitmap; above this, Spark reads the tombstones.
_MAX_MARKED: Final = 2_000_000

# The most characters of a bitmap that is written out, which Spark parses with each query.
_MAX_TEXT: Final = 4 * 1024**2

# The most numbers of another one, of eight bytes, which go to the executors with each query.
_MAX_NUMBERS: Final = 2 * 1024**2

# The most bytes of tombstones to read on the driver.
_MAX_READ: Final = 4 * 1024**2

# The most tombstones to read there; each is a request if the store is remote.
_MAX_FILES: Final = 16

# How much more may be read for a bitmap, which needs two columns of the tombstones.
_MARKED_FACTOR: Final = 64


class DeletedPlaces:
    """The deleted rows of some files of a version.

    Attributes:
        tombstones: The tombstones that delete rows of the files.
        count: How many rows they delete.
    """

    def __init__(self, mount: TableMount, files: Collection[str], blobs: Blobs) -> None:
        self._mount = mount
        self._files = frozenset(files)
        self._blobs = blobs
        self.tombstones = [
            item for item in mount.tombstones if not self._files.isdisjoint(item.targets)
        ]
        self.count = sum(
            rows
            for item in self.tombstones
            for target, rows in item.targets.items()
            if target in self._files
        )

    def bitmap(self, numbers: FileNumbers, *, written: bool) -> DeletionBitmap | None:
        """Return them as a bitmap of numbered rows; None if it would be large.

        Args:
            written: True if it is to be written out in the text of a query.

        Raises:
            DamagedError: A tombstone is missing, or deletes a row that isn't in its file.
        """
        if self.count > _MAX_MARKED or not self._is_cheap(_MARKED_FACTOR):
            return None
        # Asked before the positions are read.
        size, most = (text_size, _MAX_TEXT) if written else (number_count, _MAX_NUMBERS)
        if size(numbers, self.count) > most:
            return None
        return deletion_bitmap(numbers, self._positions())

    def numbers(self) -> FileNumbers | None:
        """Return the numbers of the files' rows; None if it isn't known how many there are."""
        known = {item.path: item.rows for item in self._mount.entries if isinstance(item, Block)}
        rows = {file: known[file] for file in sorted(self._files) if file in known}
        return FileNumbers.of(rows) if len(rows) == len(self._files) else None

    def positions(self) -> Mapping[str, Positions] | None:
        """Return their positions by file; None if there are too many for a query's text.

        Raises:
            DamagedError: A tombstone is missing.
        """
        few = self.count <= _MAX_WRITTEN and self._is_cheap(1)
        return self._positions() if few else None

    def _is_cheap(self, factor: int) -> bool:
        size = sum(item.bytes for item in self.tombstones)
        # Few bytes in many files are as slow as many bytes: each file is a request.
        return size <= factor * _MAX_READ and len(self.tombstones) <= factor * _MAX_FILES

    def _positions(self) -> Mapping[str, Positions]:
        try:
            return Files(self._blobs).deletions(self.tombstones, self._files)
        except NotFoundError as error:
            raise DamagedError(f"A table version lacks deleted rows: {error} {LOST}") from error
