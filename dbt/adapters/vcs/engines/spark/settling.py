"""What a write left in its folder: the files that are blocks, checked against what was counted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from dbt.adapters.vcs.core.errors import EngineError
from dbt.adapters.vcs.core.store.blobs import BlobInfo, Blobs
from dbt.adapters.vcs.rows.files.footers import Footer, read_footer
from dbt.adapters.vcs.rows.partition_values import partition_folders

_THREADS: Final = 8


def settle(
    blobs: Blobs, folder: str, partition_by: Sequence[str], *, rows: int, place: str
) -> Mapping[str, Footer]:
    """Return the footers of the files that hold a write's rows, by path and in its order.

    These files are safe on disk; everything else in the folder is deleted.

    Args:
        blobs: Where the folder is.
        folder: `data/<table id>/w=<write id>`.
        partition_by: Field ids of the partition columns: a block lies in their folders.
        rows: How many rows the engine's tasks wrote.
        place: The folder as the engine names it.

    Raises:
        EngineError: The files hold another number of rows.
        DamagedError: A block is no Parquet file.
    """
    found = list(blobs.walk(folder))
    blocks = [info for info in found if _is_block(info.path, folder, partition_by)]
    with ThreadPoolExecutor(_THREADS) as pool:
        read = pool.map(lambda info: read_footer(blobs, info.path, info.bytes), blocks)
        footers = {info.path: footer for info, footer in zip(blocks, read, strict=True)}
        kept = {path: footers[path] for path in sorted(footers) if footers[path].rows}
        _check_rows(kept, rows, place)
        list(pool.map(blobs.delete, _others(found, kept)))
    blobs.sync(tuple(kept))
    return kept


def _is_block(path: str, folder: str, partition_by: Sequence[str]) -> bool:
    """Tell whether a file lies and is named as a block: below partition folders and no others.

    Committers and Spark itself keep what is no data under names that begin with `_` or `.`, files
    as well as folders, of which a failed task may leave some.
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
    """Refuse files that don't hold the rows that were counted."""
    held = sum(footer.rows for footer in files.values())
    if held == rows:
        return
    if held < rows:
        why = (
            "Every machine of the cluster must see the repository's folder under this name: put "
            "the repository on a file system that all of them mount, or into an object store "
            "(s3://, gs://, az://), or run Spark on this machine only (spark.master: local[*])."
        )
    else:
        why = (
            "Somebody else wrote into this folder, or a failed task left files there. Run the "
            "statement again; it writes to a new folder."
        )
    raise EngineError(
        f"Spark wrote {rows} rows to {place}, and {held} rows are there, in {len(files)} files. "
        f"Nothing was changed. {why}"
    )
