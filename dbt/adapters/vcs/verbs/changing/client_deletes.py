"""Client deletes: rows that another engine deleted by their positions in files that stay."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from dbt.adapters.vcs.core.errors import InputError, NotFoundError
from dbt.adapters.vcs.core.model import Block, Snapshot, Tombstone
from dbt.adapters.vcs.core.model.segment import FILE_COLUMN, POSITION_COLUMN
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.iceberg.client_manifests import ClientPaths, DeleteFile
from dbt.adapters.vcs.iceberg.puffin_files import PuffinFile, VectorPlace
from dbt.adapters.vcs.rows.files.block_reader import Files, Positions
from dbt.adapters.vcs.rows.files.tombstone_files import write_tombstone
from dbt.adapters.vcs.rows.sorted_numbers import distinct
from dbt.adapters.vcs.worktree.table_version import Version
from dbt.adapters.vcs.writes.versions import folder_of

_PATH: Final = "file_path"
_PLACE: Final = "pos"
_NONE: Final = np.empty(0, np.int64)

Deletions = dict[str, Positions]
"""Positions of deleted rows by the path of their block, ascending, each once, never empty."""


def client_deletions(
    repository: Repository, paths: ClientPaths, files: Iterable[DeleteFile]
) -> Deletions:
    """Read deletion vectors, and position delete files: columns `file_path` and `pos`.

    A data file that has a vector has all its deletions there; then files of positions say
    nothing of it, as Iceberg's specification has it.

    Args:
        repository: The repository.
        paths: Gives the paths of URIs.
        files: The files and vectors.

    Raises:
        InputError: One isn't there or isn't such a file, or a row's file is outside of the
            repository.
    """
    found: dict[str, list[Positions]] = {}
    vectors: dict[str, list[VectorPlace]] = {}
    for file, vector in files:
        if vector is not None:
            vectors.setdefault(file, []).append(vector)
            continue
        table = _read(repository, file)
        uris = table.column(_PATH).combine_chunks().dictionary_encode()
        places = table.column(_PLACE).to_numpy().astype(np.int64)
        codes = uris.indices.to_numpy()
        for code, uri in enumerate(uris.dictionary.to_pylist()):
            found.setdefault(paths.path(uri), []).append(places[codes == code])
    for file, items in vectors.items():
        puffin = PuffinFile(file, _bytes(repository, file))
        found |= {paths.path(vector.uri): [puffin.positions(vector)] for vector in items}
    deletions = {path: distinct(np.concatenate(parts)) for path, parts in found.items()}
    return {path: rows for path, rows in deletions.items() if len(rows)}


def _bytes(repository: Repository, file: str) -> bytes:
    try:
        return repository.blobs.get(file)
    except NotFoundError:
        raise InputError(f"{file} is not there. Nothing was changed; write it again.") from None


def _read(repository: Repository, file: str) -> pa.Table:
    data = _bytes(repository, file)
    try:
        table = pq.ParquetFile(pa.BufferReader(data)).read(columns=[_PATH, _PLACE])
    except (pa.ArrowException, OSError, ValueError) as error:
        raise InputError(f"{file} is not a file of deleted positions: {error}.") from error
    types = [field.type for field in table.schema]
    nulls = sum(column.null_count for column in table.columns)
    if table.column_names != [_PATH, _PLACE] or types != [pa.string(), pa.int64()] or nulls:
        raise InputError(
            f"{file} is not a file of deleted positions: expected the columns {_PATH} (string) "
            f"and {_PLACE} (bigint) without NULL, found {table.schema.to_string()}."
        )
    return table


def deleted_in(repository: Repository, version: Version, blocks: Iterable[str]) -> Deletions:
    """Return which rows of some blocks a version deletes."""
    stones = version.tombstones
    return Files(repository.blobs, stones).deletions(stones, blocks)


def without(deletions: Deletions, others: Mapping[str, Positions]) -> Deletions:
    """Return deletions without those that others have, too."""
    left = {
        path: np.setdiff1d(rows, others.get(path, _NONE), assume_unique=True)
        for path, rows in deletions.items()
    }
    return {path: rows for path, rows in left.items() if len(rows)}


def joined(deletions: Deletions, others: Deletions) -> Deletions:
    """Return the deletions of both."""
    return {
        path: distinct(np.concatenate([deletions.get(path, _NONE), others.get(path, _NONE)]))
        for path in deletions.keys() | others.keys()
    }


def only_of(deletions: Deletions, blocks: Collection[str]) -> Deletions:
    """Return the deletions of some blocks; Iceberg ignores those of files that aren't there."""
    return {path: rows for path, rows in deletions.items() if path in blocks}


def same(one: Deletions, other: Deletions) -> bool:
    """Return whether deletions are of the same rows."""
    return not without(one, other) and not without(other, one)


def tombstone_of(
    repository: Repository, version: Snapshot, blocks: Sequence[Block], deletions: Deletions
) -> Tombstone:
    """Write a tombstone of rows, with their before-images, each of which is read once.

    Args:
        repository: The repository.
        version: The table.
        blocks: All blocks that lose rows, and maybe others.
        deletions: The rows; at least one.

    Raises:
        InputError: A block has no row at a position.
        UnsupportedError: Arrow can't read the rows.
    """
    files, fields = Files(repository.blobs), version.schema.fields
    empty = deletions.keys() - {block.path for block in blocks}
    if empty:
        raise InputError(f"The snapshot deletes rows of {min(empty)}, which has none.")
    parts: list[pa.Table] = []
    for block in blocks:
        rows = deletions.get(block.path, _NONE)
        if not len(rows):
            continue
        if rows[0] < 0 or rows[-1] >= block.rows:
            wrong = rows[0] if rows[0] < 0 else rows[-1]
            raise InputError(
                f"The snapshot deletes the row {wrong} of {block.path}, which has the rows 0 to "
                f"{block.rows - 1}. Nothing was changed."
            )
        images = files.columns(
            block.path, fields, rows=rows, partition=block.partition, entry=block
        )
        places = [pa.array([block.path] * len(rows), pa.string()), pa.array(rows)]
        names = [FILE_COLUMN, POSITION_COLUMN, *images.column_names]
        parts.append(pa.table([*places, *images.columns], names=names))
    return write_tombstone(
        repository.blobs, pa.concat_tables(parts), folder=folder_of(version.table)
    )
