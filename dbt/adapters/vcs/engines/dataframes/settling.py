"""The blocks that a write left in its folder, checked against the rows counted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from dbt.adapters.vcs.core.errors import EngineError
from dbt.adapters.vcs.core.store.blobs import BlobInfo, Blobs
from dbt.adapters.vcs.engines.dataframes.shared_folder import SHARE
from dbt.adapters.vcs.rows.files.footers import Footer, read_footer
from dbt.adapters.vcs.rows.partition_values import partition_folders

_THREADS: Final = 8


def settle(
    blobs: Blobs, folder: str, partition_by: Sequence[str], *, rows: int, place: str
) -> Mapping[str, Footer]:
    """Return the footers of the files of a write, sorted by path.

    These files are safe on disk; everything else in the folder is deleted.

    Args:
        blobs: Where the folder is.
        folder: `data/<table id>/w=<write id>`.
        partition_by: Names of the columns that give a block its folders.
        rows: How many rows the engine's tasks wrote.
        place: The folder as the engine names it.

    Raises:
        EngineError: The files hold a different number of rows.
        DamagedError: A block is not a Parquet file.
    """
    found = list(blobs.walk(folder))
    blocks = [info for info in found if _is_block(info.path, folder, partition_by)]
    with ThreadPoolExecutor(_THREADS) as pool:
        # What was just written to a disk here is in memory; from a store it would be fetched.
        is_near = place.startswith("file:")
        read = pool.map(
            lambda info: read_footer(blobs, info.path, info.bytes, with_whole=is_near), blocks
        )
        footers = {info.path: footer for info, footer in zip(blocks, read, strict=True)}
        kept = {path: footers[path] for path in sorted(footers) if footers[path].rows}
        _check_rows(kept, rows, place)
        list(pool.map(blobs.delete, _others(found, kept)))
    blobs.sync(tuple(kept))
    return kept


def _is_block(path: str, folder: str, partition_by: Sequence[str]) -> bool:
    """Return whether a path is a block's: below the partition folders and no others.

    Committers and Spark keep other files and folders under names that begin with `_` or `.`,
    and a failed task may leave some.
    """
    write, folders = partition_folders(path)
    return (
        write == folder
        and [name for name, _ in folders] == list(partition_by)
        and not path.rpartition("/")[2].startswith(("_", "."))
    )


def _others(found: Sequence[BlobInfo], kept: Mapping[str, Footer]) -> list[str]:
    return [info.path for info in found if info.path not in kept]


def _check_rows(files: Mapping[str, Footer], rows: int, place: str) -> None:
    """Check that files hold the number of rows counted."""
    held = sum(footer.rows for footer in files.values())
    if held == rows:
        return
    if held < rows:
        why = SHARE
    else:
        why = (
            "Something else wrote to this folder, or a failed task left files there. Run the "
            "statement again; it writes to a new folder."
        )
    raise EngineError(
        f"Spark wrote {rows} rows to {place}, but {held} rows are there, in {len(files)} files. "
        f"Nothing was changed. {why}"
    )
