"""Footers of Parquet files: what they say about a write."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, NamedTuple, TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq

from dbt.adapters.vcs.core.errors import DamagedError, InputError, NotFoundError
from dbt.adapters.vcs.core.model import Block, ColumnStats, Field, Schema
from dbt.adapters.vcs.core.model.data_type import type_of
from dbt.adapters.vcs.core.store.blobs import Blobs
from dbt.adapters.vcs.core.store.each import each
from dbt.adapters.vcs.core.store.write_once import write_new
from dbt.adapters.vcs.table.files.bounds import stats_of_chunks, stats_of_partition
from dbt.adapters.vcs.table.files.file_digests import (
    HELP,
    MAGIC,
    Entry,
    check_footer,
    digest,
    digest_of_parts,
    footer_of,
)
from dbt.adapters.vcs.table.partition_values import partition_values

_TAIL: Final = 64 * 1024
_PART: Final = 4 * 2**20
_THREADS: Final = 16
_MIN_PARALLEL: Final = 4


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
        return _block(path, footer, schema, {id: values.get(id) for id in partition_by})

    if len(paths) < _MIN_PARALLEL:
        return tuple(map(block_of, paths))
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


def _block(path: str, footer: Footer, schema: Schema, partition: dict[str, str | None]) -> Block:
    return Block(
        path=path,
        rows=footer.rows,
        bytes=footer.bytes,
        partition=partition,
        stats=_stats(footer.metadata, schema, partition),
        footer=footer.digest,
        whole=footer.whole,
    )


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
    """Check the footers of files, several at a time; return the paths of missing files.

    Raises:
        DamagedError: A file has another footer than its entry says.
    """

    def is_missing(entry: Entry) -> bool:
        try:
            size = blobs.size(entry.path)
            check_footer(entry, digest(footer_bytes(blobs, entry.path, size)))
        except NotFoundError:
            return True
        if entry.bytes not in (0, size):
            raise DamagedError(
                f"{entry.path} has {size} bytes, and its entry says {entry.bytes}. {HELP}"
            )
        return False

    checked = [entry for entry in entries if entry.footer]
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
    if len(tail) < 12 or tail[-4:] != MAGIC:
        raise _no_parquet(path, "it does not end as one does")
    length = int.from_bytes(tail[-8:-4], "little") + 8
    if length + 4 > size:
        raise _no_parquet(path, "its footer is longer than the file")
    whole = digest(tail) if len(tail) == size else ""
    if length > len(tail):
        tail = blobs.range(path, size - length, length)
    return tail[-length:], whole


def _stats(
    metadata: Any, schema: Schema, partition: Mapping[str, str | None]
) -> dict[str, ColumnStats]:
    leaves = _root_leaves(metadata.schema)
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    roots = {path.partition(".")[0].lower() for path in _paths(metadata.schema)}
    stats: dict[str, ColumnStats] = {}
    for field in schema.fields:
        position = leaves.get(field.id.lower())
        if field.id in partition:
            text = partition[field.id]
            stats[field.id] = stats_of_partition(field.type, text, metadata.num_rows)
        elif position is not None:
            chunks = [group.column(position) for group in groups]
            if not type_of(field.type).is_nested:
                leaf = metadata.schema.column(position)
                stats[field.id] = stats_of_chunks(field.type, chunks, leaf)
        elif not type_of(field.type).is_nested or field.id.lower() not in roots:
            # Readers treat a column that the file lacks as NULL.
            stats[field.id] = ColumnStats(None, None, metadata.num_rows)
    return stats


def _paths(schema: Any) -> list[str]:
    return [schema.column(number).path for number in range(len(schema))]


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
