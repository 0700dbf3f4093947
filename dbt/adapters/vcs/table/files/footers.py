"""Footers of Parquet files: what they say about a write, their digests, and bounds of columns.

Entries of files have a digest of the footer, and of the whole file where its bytes were at hand
(decision 19). Bounds are kept as plain scalars, and only where they hold every value.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import date, datetime, timezone
from decimal import Decimal, InvalidOperation
from typing import Any, Final, NamedTuple, Protocol, TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq

from dbt.adapters.vcs.core.errors import DamagedError, InputError, NotFoundError, VcsError
from dbt.adapters.vcs.core.ids import micros_of
from dbt.adapters.vcs.core.model import Block, ColumnStats, Field, Scalar, Schema
from dbt.adapters.vcs.core.model.data_type import FLOATS, INTEGERS, TEXTS, TIMESTAMPS, type_of
from dbt.adapters.vcs.core.store.blobs import Blobs, each, write_new
from dbt.adapters.vcs.table.partition_values import partition_values

MAGIC: Final = b"PAR1"
# Decision 19: 128 bits of a SHA-256.
_DIGITS: Final = 32

HELP: Final = (
    "Restore it from a backup of the repository: dbt-vcs repair --data shows how, and what else "
    "can be done; dbt-vcs fsck --data finds all damaged files."
)
"""The next step where a file of rows is damaged."""

# Enough for the footer of all but very wide files, so that one request reads it.
_TAIL: Final = 64 * 1024
_PART: Final = 4 * 2**20
_THREADS: Final = 16
_MIN_PARALLEL: Final = 4


TEXT_LENGTH: Final = 64
"""A text bound has at most this many characters."""

_PER_MICRO: Final = {"milliseconds": (1_000, 1), "microseconds": (1, 1), "nanoseconds": (1, 1_000)}
_EPOCH_DAY: Final = date(1970, 1, 1).toordinal()


class Footer(NamedTuple):
    """The end of a Parquet file.

    Attributes:
        bytes: Size of the file.
        metadata: pyarrow's `FileMetaData`.
        digest: Digest of the footer's bytes.
        whole: Digest of the file, if it is so small that all of it was read; else empty.
    """

    bytes: int
    metadata: Any
    digest: str = ""
    whole: str = ""

    @property
    def rows(self) -> int:
        """How many rows the file holds."""
        return int(self.metadata.num_rows)


WrittenFiles: TypeAlias = Mapping[str, Footer | None]
"""Files that were written, by path, each with its footer if that is known."""


def read_blocks(
    blobs: Blobs,
    paths: Collection[str],
    schema: Schema,
    partition_by: Sequence[str],
    footers: Mapping[str, Footer | None] = {},
    partitions: Mapping[str, Mapping[str, str | None]] = {},
) -> tuple[Block, ...]:
    """Describe Parquet files as blocks, in the order of the paths.

    Args:
        blobs: The store with the files.
        paths: The files, relative to the repository.
        schema: The table's columns; files name them by field id.
        partition_by: Field ids of the partition columns, whose values are in the paths.
        footers: Footers that are known, by path; the others are read.
        partitions: Partition values that are not in the paths, by path.

    Raises:
        DamagedError: A file is not a Parquet file.
        NotFoundError: There is no such file.
    """

    def block_of(path: str) -> Block:
        footer = footers.get(path) or read_footer(blobs, path)
        values = partitions.get(path) or partition_values(path)
        partition = {id: values.get(id) for id in partition_by}
        return Block(
            path=path,
            rows=footer.rows,
            bytes=footer.bytes,
            partition=partition,
            stats=_stats(footer.metadata, schema, partition),
            footer=footer.digest,
            whole=footer.whole,
        )

    if len(paths) < _MIN_PARALLEL:
        return tuple(map(block_of, paths))
    # A request for each footer, which an object store takes some 20 ms to answer.
    with ThreadPoolExecutor(min(_THREADS, len(paths))) as pool:
        return tuple(pool.map(block_of, paths))


def check_not_null(blocks: Iterable[Block], schema: Schema) -> tuple[Field, ...]:
    """Refuse NULL in NOT NULL columns, by the counts in the blocks' statistics.

    Returns:
        The NOT NULL columns without counts, usually nested ones: their rows must be read.

    Raises:
        InputError: There are NULLs; the message names the columns and counts.
    """
    blocks = [block for block in blocks if block.rows]
    refused: list[str] = []
    untold: list[Field] = []
    for field in schema.fields:
        if field.nullable:
            continue
        nulls = [
            block.stats[field.id].nulls if field.id in block.stats else -1 for block in blocks
        ]
        count = sum(number for number in nulls if number > 0)
        if count:
            refused.append(f"{field.name} ({count} NULL)")
        elif -1 in nulls:
            untold.append(field)
    if refused:
        raise InputError(
            f"NULL in columns that are declared NOT NULL: {', '.join(refused)}. Nothing was "
            "changed; filter the rows out, give the columns a value, or drop the constraint."
        )
    return tuple(untold)


def write_file(blobs: Blobs, path: str, data: bytes) -> Footer:
    """Store a Parquet file in a folder that only this write uses, and return its footer.

    Nothing is read back, and all bytes are at hand: so the whole file has a digest.

    Raises:
        InputError: Another file is there: the folder is not new.
        StorageError: The store failed.
    """
    write_new(blobs, path, data)
    footer = footer_of(data) or b""
    metadata = pq.read_metadata(pa.BufferReader(MAGIC + footer))
    return Footer(len(data), metadata, digest(footer), digest(data))


def read_footer(
    blobs: Blobs, path: str, size: int | None = None, *, with_whole: bool = False
) -> Footer:
    """Read a file's footer.

    Args:
        blobs: The store with the file.
        path: The file, relative to the repository.
        size: Its size, if it is known.
        with_whole: Read all of a larger file, too, for the digest of the whole.

    Raises:
        DamagedError: It is not a Parquet file.
        NotFoundError: There is no such file.
    """
    if size is None:
        size = blobs.size(path)
    footer, whole = _end(blobs, path, size)
    try:
        # A footer can be parsed by itself; offsets into the rest are not followed.
        metadata = pq.read_metadata(pa.BufferReader(MAGIC + footer))
    except (pa.ArrowException, OSError, ValueError) as error:
        raise _no_parquet(path, str(error)) from error
    if with_whole and not whole:
        whole = digest_of_file(blobs, path, size)
    return Footer(size, metadata, digest(footer), whole)


def digest_of_file(blobs: Blobs, path: str, size: int) -> str:
    """Read a file in parts, and return the digest of the whole."""
    parts = (blobs.range(path, at, min(_PART, size - at)) for at in range(0, size, _PART))
    return digest_of_parts(parts)


def check_footers(blobs: Blobs, entries: Iterable[Entry]) -> list[str]:
    """Check footers and sizes of files, several at a time; return the paths of missing files.

    Raises:
        DamagedError: A file has another footer or size than its entry says.
    """

    def is_missing(entry: Entry) -> bool:
        try:
            size = blobs.size(entry.path)
            # Entries from before there were digests have nothing to compare with.
            if entry.footer:
                check_footer(entry, digest(footer_bytes(blobs, entry.path, size)))
        except NotFoundError:
            return True
        # Spark takes the size from the entry, and skips row groups that begin after it.
        if entry.bytes not in (0, size):
            raise DamagedError(
                f"{entry.path} has {size} bytes, and its entry says {entry.bytes}. {HELP}"
            )
        return False

    checked = [entry for entry in entries if entry.footer or entry.bytes]
    missing = each(is_missing, checked)
    return [entry.path for entry, gone in zip(checked, missing, strict=True) if gone]


def footer_bytes(blobs: Blobs, path: str, size: int) -> bytes:
    """Read the bytes that a file's footer digest covers.

    Raises:
        DamagedError: It is not a Parquet file.
        NotFoundError: There is no such file.
    """
    return _end(blobs, path, size)[0]


def _end(blobs: Blobs, path: str, size: int) -> tuple[bytes, str]:
    """Return a file's footer, and the digest of the file if all of it was read."""
    tail = blobs.range(path, max(0, size - _TAIL), min(size, _TAIL))
    # The magic is at both ends, and before the last one is the length of the footer: 12 bytes.
    if len(tail) < 12 or tail[-4:] != MAGIC:
        raise _no_parquet(path, "it does not end as one does")
    length = int.from_bytes(tail[-8:-4], "little") + 8
    if length + 4 > size:
        raise _no_parquet(path, "its footer is longer than the file")
    # Decision 19: a file as small as this was read whole for its footer, so its digest is free.
    whole = digest(tail) if len(tail) == size else ""
    if length > len(tail):
        tail = blobs.range(path, size - length, length)
    return tail[-length:], whole


def _stats(
    metadata: Any, schema: Schema, partition: Mapping[str, str | None]
) -> dict[str, ColumnStats]:
    leaves = _root_leaves(metadata.schema)
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    paths = [metadata.schema.column(number).path for number in range(len(metadata.schema))]
    roots = {path.partition(".")[0].lower() for path in paths}
    stats: dict[str, ColumnStats] = {}
    for field in schema.fields:
        # Spark finds a file's columns in any case.
        position = leaves.get(field.id.lower())
        if field.id in partition:
            text = partition[field.id]
            stats[field.id] = stats_of_partition(field.type, text, metadata.num_rows)
        elif position is not None:
            chunks = [group.column(position) for group in groups]
            if not type_of(field.type).is_nested:
                leaf = metadata.schema.column(position)
                stats[field.id] = stats_of_chunks(field.type, chunks, leaf)
        elif field.initial is not None:
            # Readers show that value where the file lacks the column.
            continue
        elif not type_of(field.type).is_nested or field.id.lower() not in roots:
            # Readers treat any other column that the file lacks as NULL.
            stats[field.id] = ColumnStats(None, None, metadata.num_rows)
    return stats


def _root_leaves(schema: Any) -> dict[str, int]:
    """Return the positions of columns that are not nested, by lower-case name."""
    columns = [schema.column(number) for number in range(len(schema))]
    return {
        column.name.lower(): number
        for number, column in enumerate(columns)
        if column.path == column.name
    }


def _no_parquet(path: str, why: str) -> DamagedError:
    return DamagedError(f"{path} is not a Parquet file: {why}. {HELP}")


class Entry(Protocol):
    """What an entry says about its file; digests that it lacks are empty."""

    @property
    def path(self) -> str:
        """The file, relative to the repository."""

    @property
    def bytes(self) -> int:
        """The file's size; 0 if it isn't known."""

    @property
    def footer(self) -> str:
        """Digest of the footer."""

    @property
    def whole(self) -> str:
        """Digest of the whole file."""


def digest(data: bytes) -> str:
    """Return the digest of some bytes: 32 hexadecimal digits of their SHA-256."""
    return digest_of_parts([data])


def digest_of_parts(parts: Iterable[bytes]) -> str:
    """Return the digest of some bytes that come in parts."""
    found = hashlib.sha256()
    for part in parts:
        found.update(part)
    return found.hexdigest()[:_DIGITS]


def footer_of(tail: bytes) -> bytes | None:
    """Return a file's footer, with its length and the magic after it; None if it isn't there.

    Args:
        tail: The end of the file.
    """
    if len(tail) < 12 or tail[-4:] != MAGIC:
        return None
    length = int.from_bytes(tail[-8:-4], "little") + 8
    return tail[-length:] if length + 4 <= len(tail) else None


def check_footer(entry: Entry, found: str) -> None:
    """Check the digest of a footer that was read.

    Raises:
        DamagedError: The entry has another one.
    """
    if entry.footer and found != entry.footer:
        raise _another(entry.path, "footer", entry.footer, found)


def check_whole(entry: Entry, data: bytes) -> None:
    """Check a file whose bytes are all at hand, as far as its entry has digests.

    Raises:
        DamagedError: It is another file, or a damaged one.
    """
    if entry.whole and (found := digest(data)) != entry.whole:
        raise _another(entry.path, "file", entry.whole, found)
    if entry.footer:
        check_footer(entry, digest(footer_of(data) or b""))


@contextmanager
def naming_damage(path: str) -> Iterator[None]:
    """Turn what Arrow raises for bytes that it can't read into an error that names the file."""
    try:
        yield
    except VcsError:
        raise
    except (pa.ArrowException, OSError, ValueError) as error:
        raise DamagedError(f"{path} is damaged: {error}. {HELP}") from error


def _another(path: str, what: str, expected: str, found: str) -> DamagedError:
    return DamagedError(
        f"{path} is not the file that was written: the digest of its {what} is {found}, expected "
        f"{expected}. It is damaged, or another file is in its place. {HELP}"
    )


def stats_of_chunks(type_: str, chunks: Sequence[Any], leaf: Any) -> ColumnStats:
    """Return the bounds of one column over a file's row groups.

    Args:
        type_: The field's type text.
        chunks: pyarrow's column chunks, one a row group.
        leaf: pyarrow's schema of the column.
    """
    nulls = 0
    lows: list[Any] = []
    highs: list[Any] = []
    for chunk in chunks:
        stats = chunk.statistics
        if stats is None or not stats.has_null_count:
            nulls = -1
        elif stats.null_count == chunk.num_values:
            # A group of NULLs has no bounds, and says nothing of the others.
            nulls += stats.null_count if nulls >= 0 else 0
            continue
        elif nulls >= 0:
            nulls += stats.null_count
        low, high = (None, None) if stats is None else _bounds(type_of(type_).kind, stats, leaf)
        lows.append(low)
        highs.append(high)
    return ColumnStats(_overall(min, lows), _overall(max, highs), nulls)


def stats_of_partition(type_: str, text: str | None, rows: int) -> ColumnStats:
    """Return the bounds of a partition column, given its value as text in the folder name."""
    if text is None:
        return ColumnStats(None, None, rows)
    try:
        value = _scalar_of_text(type_of(type_).kind, text)
    # Spark writes values that Python can't hold, such as a timestamp of the year 10000.
    except (ValueError, InvalidOperation):
        value = None
    # The bound of a decimal is a str as well, and none of its digits may be cut.
    if isinstance(value, str) and type_of(type_).kind in TEXTS:
        return ColumnStats(shortened(value), raised(value), 0)
    return ColumnStats(value, value, 0)


def shortened(text: str) -> str:
    """Return a lower bound of a text, by code points, that is short enough to keep."""
    return text[:TEXT_LENGTH]


def raised(text: str) -> str | None:
    """Return an upper bound of a text that is short enough to keep, or None if there is none."""
    if len(text) <= TEXT_LENGTH:
        return text
    head = text[:TEXT_LENGTH]
    # Raise the last character that can be raised: this bounds every text that begins so.
    while head:
        point = ord(head[-1]) + 1
        # Surrogates are no characters.
        if 0xD800 <= point <= 0xDFFF:
            point = 0xE000
        if point <= 0x10FFFF:
            return head[:-1] + chr(point)
        head = head[:-1]
    return None


def _bounds(kind: str, stats: Any, leaf: Any) -> tuple[Any, Any]:
    """Return the bounds in one row group as comparable values; None if there are none."""
    if not stats.has_min_max:
        return None, None
    if kind in TIMESTAMPS:
        return _timestamp_bounds(stats, leaf)
    if kind in INTEGERS or kind == "date":
        return int(stats.min_raw), int(stats.max_raw)
    if kind in FLOATS:
        # JSON has no infinite numbers, and a bound that is NaN promises nothing.
        low, high = float(stats.min_raw), float(stats.max_raw)
        if math.isnan(low) or math.isnan(high):
            return None, None
        return (low if math.isfinite(low) else None), (high if math.isfinite(high) else None)
    if kind == "boolean":
        return bool(stats.min_raw), bool(stats.max_raw)
    if kind == "decimal":
        return _decimal_bounds(stats, leaf)
    if kind in TEXTS:
        try:
            return shortened(_text(stats.min_raw)), raised(_text(stats.max_raw))
        except UnicodeDecodeError:
            # Another writer cut a bound within a character.
            return None, None
    return None, None


def _decimal_bounds(stats: Any, leaf: Any) -> tuple[Decimal, Decimal]:
    if leaf.physical_type not in ("INT32", "INT64"):
        return stats.min, stats.max
    # Older releases of Arrow have bounds only of those stored as bytes.
    least, most = Decimal(stats.min_raw), Decimal(stats.max_raw)
    return least.scaleb(-leaf.scale), most.scaleb(-leaf.scale)


def _timestamp_bounds(stats: Any, leaf: Any) -> tuple[int | None, int | None]:
    # Twelve bytes (INT96) have no bounds that are in order; nanoseconds are rounded outwards.
    unit = json.loads(leaf.logical_type.to_json()).get("timeUnit")
    if leaf.physical_type != "INT64" or unit not in _PER_MICRO:
        return None, None
    times, per = _PER_MICRO[unit]
    return int(stats.min_raw) * times // per, -(-int(stats.max_raw) * times // per)


def _text(raw: Any) -> str:
    return raw if isinstance(raw, str) else bytes(raw).decode("utf-8")


def _overall(pick: Callable[[list[Any]], Any], bounds: list[Any]) -> Scalar:
    """Return the bound of all row groups, or None if one of them has none."""
    if not bounds or None in bounds:
        return None
    bound: Scalar = pick(bounds)
    # JSON numbers would lose digits.
    return f"{bound:f}" if isinstance(bound, Decimal) else bound


def _scalar_of_text(kind: str, text: str) -> Scalar:
    if kind in INTEGERS:
        return int(text)
    if kind in TEXTS:
        return text
    if kind == "date":
        return date.fromisoformat(text).toordinal() - _EPOCH_DAY
    if kind in TIMESTAMPS:
        return micros_of(datetime.fromisoformat(_padded(text)).replace(tzinfo=timezone.utc))
    if kind == "decimal":
        return f"{Decimal(text):f}"
    if kind == "boolean":
        return text == "true"
    return None


def _padded(text: str) -> str:
    """Return a timestamp with six digits after the point, which Python 3.10 requires."""
    head, point, fraction = text.partition(".")
    return head + point + fraction.ljust(6, "0") if point else head
