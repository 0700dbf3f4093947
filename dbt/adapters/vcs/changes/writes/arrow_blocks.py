"""Arrow blocks: rows of a table written as its blocks, without an engine."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from dbt.adapters.vcs.changes.writes.nullability import refuse_null
from dbt.adapters.vcs.changes.writes.versions import folder_of
from dbt.adapters.vcs.core.errors import UnsupportedError
from dbt.adapters.vcs.core.model import Block, RelationName, Snapshot
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.table.files.footers import Footer, read_blocks
from dbt.adapters.vcs.table.files.parquet import can_write, write_rows


def arrow_blocks(
    repository: Repository, name: RelationName, snapshot: Snapshot, parts: Iterable[pa.Table]
) -> tuple[Block, ...]:
    """Write rows as blocks of a table, one part after another; nothing shows them yet.

    Args:
        repository: The repository.
        name: What errors call the table.
        snapshot: The table.
        parts: Its columns, named by field id, in the types of `arrow_schema`.

    Raises:
        InputError: A column that can't be NULL gets a NULL, or a partition value can't be a
            folder's name.
        UnsupportedError: Only Spark can write the table's types or partitions.
    """
    check_writable(name, snapshot)
    files: dict[str, Footer] = {}
    by = [(id, "ascending") for id in snapshot.cluster_by]
    for part in parts:
        rows = part.sort_by(by) if by else part
        folder = folder_of(snapshot.table)
        files |= write_rows(
            repository.blobs, rows, folder=folder, partition_by=snapshot.partition_by
        )
    schema = snapshot.schema
    blocks = read_blocks(repository.blobs, list(files), schema, snapshot.partition_by, files)
    refuse_null(repository.blobs, blocks, schema)
    return blocks


def check_writable(name: RelationName, snapshot: Snapshot) -> None:
    """Check that a table's rows can be written without Spark.

    Raises:
        UnsupportedError: They can't.
    """
    if not can_write(snapshot.schema, snapshot.partition_by):
        raise UnsupportedError(
            f"{name} has a column of a type (VARIANT, an interval), or is partitioned by one, "
            "that only Spark writes. Nothing was changed. Write with SQL."
        )
