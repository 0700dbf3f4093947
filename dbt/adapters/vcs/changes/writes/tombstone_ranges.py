"""Tombstones of a large change: written by the engine, one for each range of blocks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import ceil
from typing import Final

from dbt.adapters.vcs.core.errors import EngineError
from dbt.adapters.vcs.core.model import Tombstone
from dbt.adapters.vcs.core.store.blobs import Blobs
from dbt.adapters.vcs.engines.port import Destination, RowSession
from dbt.adapters.vcs.table.files.footers import Footer, read_footer

ROWS: Final = 1_000_000
"""About how many rows a tombstone of a large change has; those of one block are never split."""


def tombstone_folder(folder: str) -> str:
    """Return a folder for a write's tombstones: the engine only writes to new folders."""
    return f"{folder}t"


def write_tombstones(
    blobs: Blobs, writer: RowSession, query: str, counts: Mapping[str, int], *, folder: str
) -> tuple[Tombstone, ...]:
    """Write deleted rows as tombstones, each for a range of blocks in the order of their paths.

    Args:
        query: `__vcs_file`, `__vcs_pos`, then the before-images by field id; each place once.
        counts: How many of its rows are of each block.
        folder: A new folder, `data/<table id>/w=<write id>`.

    Raises:
        EngineError: The files don't hold these rows.
    """
    if not counts:
        return ()
    parts = max(1, ceil(sum(counts.values()) / ROWS))
    written = writer.write(query, Destination(folder=folder, by_place=parts))
    footers = {
        path: written.footers.get(path) or read_footer(blobs, path) for path in written.files
    }
    targets = _targets(footers, counts, folder)
    return tuple(
        Tombstone(
            path=path,
            bytes=footer.bytes,
            targets=part,
            footer=footer.digest,
            whole=footer.whole,
        )
        for (path, footer), part in zip(footers.items(), targets, strict=True)
    )


def _targets(
    footers: Mapping[str, Footer], counts: Mapping[str, int], folder: str
) -> Iterator[dict[str, int]]:
    """Yield the rows of each file by block: ranges follow each other as the files' names do."""
    blocks = iter(sorted(counts))
    for path, footer in footers.items():
        part: dict[str, int] = {}
        # Decision 9: the rows of a block are never split, so a file has the rows of whole blocks.
        left = footer.rows
        while left > 0 and (block := next(blocks, None)) is not None:
            part[block] = counts[block]
            left -= counts[block]
        if left:
            raise _wrong(folder, f"{path} has {footer.rows} rows, which are not of whole blocks")
        yield part
    if (block := next(blocks, None)) is not None:
        raise _wrong(folder, f"the {counts[block]} rows deleted from {block} are missing")


def _wrong(folder: str, what: str) -> EngineError:
    return EngineError(
        f"The engine did not write the tombstones in {folder} as planned: {what}. Nothing was "
        "changed. "
        "Run the statement again; if it fails again, report it."
    )
