"""Tombstone files, written without Spark; `block_reader` reads them."""

from __future__ import annotations

from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dbt.adapters.vcs.core.model import Tombstone
from dbt.adapters.vcs.core.model.snapshot import FILE_COLUMN, POSITION_COLUMN
from dbt.adapters.vcs.core.store.blobs import Blobs
from dbt.adapters.vcs.table.files.footers import write_file
from dbt.adapters.vcs.table.files.parquet import parquet_bytes

_ROW_GROUP: Final = 100_000


def write_tombstone(
    blobs: Blobs, rows: pa.Table, *, folder: str, number: int | None = None
) -> Tombstone:
    """Write deleted rows as one file.

    Args:
        blobs: The store to write to.
        rows: `__vcs_file`, `__vcs_pos`, then the before-images by field id; at least one row, in
            any order.
        folder: `data/<table id>/w=<write id>`.
        number: Tells it from others of the folder; None if there are none.

    Raises:
        InputError: The folder already holds a tombstone.
    """
    rows = _sorted(rows)
    several = "" if number is None else f"{number:05}-"
    path = f"{folder}/deleted-{several}{folder.rpartition('=')[2]}.parquet"
    footer = write_file(blobs, path, parquet_bytes(rows, folder, row_group=_ROW_GROUP))
    counts = pc.value_counts(rows.column(FILE_COLUMN)).to_pylist()
    return Tombstone(
        path=path,
        bytes=footer.bytes,
        targets={item["values"]: item["counts"] for item in counts},
        footer=footer.digest,
        whole=footer.whole,
    )


def _sorted(rows: pa.Table) -> pa.Table:
    """Sort rows by file and position; paths are long and few, so each is compared once."""
    paths = rows.column(FILE_COLUMN).combine_chunks().dictionary_encode()
    place = np.argsort(np.argsort(paths.dictionary.to_numpy(zero_copy_only=False)))
    file = place[paths.indices.to_numpy()]
    position = rows.column(POSITION_COLUMN).to_numpy()
    order = np.lexsort((position, file))
    if (np.diff(order) == 1).all():
        return rows
    return rows.take(pa.array(order))
