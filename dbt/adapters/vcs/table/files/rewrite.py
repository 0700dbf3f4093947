"""Rewriting blocks in process: the same rows in fewer files, without the deleted ones."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa
import pyarrow.parquet as pq

from dbt.adapters.vcs.core.model import Block, Field, Tombstone
from dbt.adapters.vcs.core.store.blobs import Blobs
from dbt.adapters.vcs.table.files.block_reader import Files
from dbt.adapters.vcs.table.files.column_stats import measured_columns
from dbt.adapters.vcs.table.files.footers import Footer, write_file
from dbt.adapters.vcs.table.files.numbered_columns import numbered
from dbt.adapters.vcs.table.files.parquet import owner_of
from dbt.adapters.vcs.table.partition_values import folders_like

_GROUP_BYTES = 64 * 2**20
"""Rows that make a row group, as Arrow counts bytes in memory."""


def rewrite_blocks(
    blobs: Blobs,
    blocks: Sequence[Block],
    fields: Sequence[Field],
    tombstones: Sequence[Tombstone],
    *,
    folder: str,
    target_bytes: int,
    sort_by: Sequence[str] = (),
) -> dict[str, Footer]:
    """Write the rows of blocks of one partition to new files of about a target size.

    Rows are streamed, a row group at a time, with one new file in memory. To sort, the rows of all
    blocks are held in memory.

    Args:
        blobs: The repository's store.
        blocks: In the order in which their rows are to be written.
        fields: The table's columns.
        tombstones: The deletions to apply.
        folder: `data/<table id>/w=<write id>`, new.
        target_bytes: The approximate size of each file.
        sort_by: Field ids to sort the rows by.

    Returns:
        Footers of the files by path, in order; none if no row is left.

    Raises:
        UnsupportedError: Arrow lacks the type of a column (intervals, VARIANT).
        InputError: A file already exists.
    """
    files = Files(blobs)
    deleted = files.deletions(tombstones, [block.path for block in blocks])
    batches = (
        batch
        for block in blocks
        for batch in files.batches(block, fields, deleted.get(block.path))
        if batch.num_rows
    )
    groups = _sorted(batches, sort_by) if sort_by else grouped(batches)
    return dict(_files(blobs, groups, _place(folder, blocks[0]), target_bytes))


def _sorted(batches: Iterable[pa.RecordBatch], sort_by: Sequence[str]) -> Iterator[pa.Table]:
    held = list(batches)
    if not held:
        return
    ordered = pa.Table.from_batches(held).sort_by([(id, "ascending") for id in sort_by])
    size = max(1, math.ceil(ordered.num_rows * _GROUP_BYTES / max(ordered.nbytes, 1)))
    for start in range(0, ordered.num_rows, size):
        yield ordered.slice(start, size)


def grouped(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Yield rows as tables, each of about as many as a row group should have."""
    held: list[pa.RecordBatch] = []
    size = 0
    for batch in batches:
        held.append(batch)
        size += batch.nbytes
        if size >= _GROUP_BYTES:
            yield pa.Table.from_batches(held)
            held, size = [], 0
    if held:
        yield pa.Table.from_batches(held)


def _files(
    blobs: Blobs, groups: Iterable[pa.Table], place: tuple[str, str], target_bytes: int
) -> Iterator[tuple[str, Footer]]:
    sink: pa.BufferOutputStream | None = None
    writer: pq.ParquetWriter | None = None
    measured: frozenset[str] = frozenset()
    number = 0

    def finish() -> tuple[str, Footer]:
        nonlocal number, writer, sink
        assert writer is not None and sink is not None
        writer.close()
        path = f"{place[0]}/part-{number:05}-{place[1]}.parquet"
        footer = write_file(blobs, path, sink.getvalue().to_pybytes())
        number, writer, sink = number + 1, None, None
        return path, footer

    for rows in groups:
        held = measured_columns(rows)
        if writer is not None and not measured <= held:
            # Which columns get bounds is fixed when a file begins, so NaN in one of them begins
            # another.
            yield finish()
        if writer is None or sink is None:
            measured = held
            sink = pa.BufferOutputStream()
            writer = pq.ParquetWriter(
                sink,
                numbered(rows.schema),
                compression="snappy",
                coerce_timestamps="us",
                store_schema=False,
                write_page_index=False,
                write_page_checksum=True,
                write_statistics=sorted(measured),
            )
            writer.add_key_value_metadata(owner_of(place[0]))
        writer.write_table(rows, row_group_size=rows.num_rows)
        if sink.tell() >= target_bytes:
            yield finish()
    if writer is not None:
        yield finish()


def _place(folder: str, block: Block) -> tuple[str, str]:
    """Return the folder of a new file of a block's partition, and the write's id."""
    return f"{folder}/{folders_like(block)}".rstrip("/"), folder.rpartition("=")[2]
