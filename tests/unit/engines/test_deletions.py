"""A bitmap of deleted rows is as large as what it comes into a query by allows."""

import numpy as np
import pyarrow as pa
import pytest

from dbt.adapters.vcs.core.model import Block
from dbt.adapters.vcs.core.model.snapshot import FILE_COLUMN, POSITION_COLUMN
from dbt.adapters.vcs.core.store.blobs import MemoryBlobs
from dbt.adapters.vcs.engines.dataframes.deletions import DeletedPlaces
from dbt.adapters.vcs.engines.port import TableMount
from dbt.adapters.vcs.table.files.parquet import write_tombstone
from dbt.adapters.vcs.table.row_numbers import FileNumbers

FILE = "data/t/w=xa/a.parquet"


def places(rows: int, deleted: int) -> tuple[DeletedPlaces, FileNumbers]:
    """Return deleted rows all over a file, and the numbers of the file's rows."""
    blobs = MemoryBlobs()
    positions = np.linspace(0, rows - 1, deleted, dtype=np.int64)
    tombstone = write_tombstone(
        blobs,
        pa.table({FILE_COLUMN: [FILE] * deleted, POSITION_COLUMN: positions}),
        folder="data/t/w=xb",
    )
    mount = TableMount(
        id="m",
        folder="data/t",
        files=(FILE,),
        fields=(),
        tombstones=(tombstone,),
        entries=(Block(path=FILE, rows=rows, bytes=1),),
    )
    found = DeletedPlaces(mount, mount.files, blobs)
    numbers = found.numbers()
    assert numbers is not None
    return found, numbers


@pytest.mark.parametrize(
    ("rows", "deleted", "is_written", "is_shared"),
    [
        (6_000_000, 1_000, True, True),
        (60_000_000, 1_000, True, True),
        (60_000_000, 100_000, False, True),
        (2_000_000_000, 1_000, False, False),
    ],
)
def test_numbers_written_out_are_fewer(
    rows: int, deleted: int, is_written: bool, is_shared: bool
) -> None:
    found, numbers = places(rows, deleted)
    assert (found.bitmap(numbers, written=True) is not None) == is_written
    bitmap = found.bitmap(numbers, written=False)
    assert (bitmap is not None) == is_shared
    if bitmap is not None:
        assert sum(map(int.bit_count, bitmap.words.view(np.uint64).tolist())) == deleted
