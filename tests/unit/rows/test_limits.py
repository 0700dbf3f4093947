"""Limits: what is computed in this process, by rows, by bytes of files, by memory."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from msgspec.structs import replace

from dbt.adapters.vcs.api import connect
from dbt.adapters.vcs.core.errors import UnsupportedError
from dbt.adapters.vcs.core.model import Block, RelationName, TableEntry
from dbt.adapters.vcs.core.model.snapshot import ColumnStats
from dbt.adapters.vcs.core.plan.delta import Piece
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.store.local import LocalBlobs
from dbt.adapters.vcs.table.limits import LIMITS, MERGE_LIMITS, Limits, memory_of
from tests.unit.tables import Tables
from tests.unit.warehouse import Warehouse

BLOCK = Block(path="b.parquet", rows=1_000, bytes=4_000)


def test_what_is_as_large_as_allowed_is_read() -> None:
    pieces = [Piece("b.parquet", 1_000, info=BLOCK), Piece("c.parquet", 10, image="t.parquet")]
    Limits(rows=1_010, bytes=4_000).check(pieces)
    assert not Limits(rows=1_009, bytes=4_000).allow(pieces)
    assert not Limits(rows=1_010, bytes=3_999).allow(pieces)


def test_deleted_rows_count_as_their_share_of_the_block() -> None:
    pieces = [Piece("b.parquet", 500, image="t.parquet", info=BLOCK)]
    assert Limits(rows=500, bytes=2_000).allow(pieces)
    with pytest.raises(UnsupportedError, match=r"500 rows and 2,000 bytes.*has Spark"):
        Limits(rows=500, bytes=1_999).check(pieces)


def test_memory_follows_rows_columns_and_texts() -> None:
    number, text = ColumnStats(1, 2, 0), ColumnStats("a", "b" * 40, 0)
    few = Piece("b", 1_000, info=BLOCK)
    wide = Piece("b", 1_000, info=replace(BLOCK, stats={f"c{n}": number for n in range(10)}))
    long = Piece("b", 1_000, info=replace(BLOCK, stats={f"c{n}": text for n in range(10)}))
    assert memory_of([few]) < memory_of([wide]) < memory_of([long])
    assert memory_of([long, long]) == 2 * memory_of([long])
    # What an entry does not tell is in the size of its file.
    large = Piece("b", 1_000, info=replace(BLOCK, bytes=10**7))
    assert memory_of([large]) > 3 * 10**7
    assert Limits(rows=1_000, bytes=10**8, memory=memory_of([long])).allow([long])
    tight = Limits(rows=1_000, bytes=10**8, memory=memory_of([long]) - 1)
    with pytest.raises(UnsupportedError, match=r"bytes of memory.*which take 1,\d\d\d,000"):
        tight.check([long])


def test_three_million_narrow_rows_are_merged_by_column_and_wide_ones_are_not() -> None:
    block = Block(path="b", rows=10**7, bytes=2 * 10**7, stats={"k": ColumnStats(0, 9, 0)})
    assert MERGE_LIMITS.memory is not None and LIMITS.memory is not None
    assert MERGE_LIMITS.allow([Piece("b", 3_000_000, info=block)])
    stats = {f"c{n}": ColumnStats("a" * 50, "b" * 50, 0) for n in range(40)}
    wide = Piece("b", 3_000_000, info=replace(block, stats=stats))
    assert not MERGE_LIMITS.allow([wide])
    assert LIMITS.allow([Piece("b", 4_000_000, info=block)])


CHILD = """
import sys
from dbt.adapters.vcs.core.model import RelationName
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.store.opening import open_blobs
from dbt.adapters.vcs.changes.diffs.difference import diff
import pyarrow.compute, pyarrow.parquet
def peak():
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmHWM")) * 1024
repository = Repository.open(open_blobs(sys.argv[1]))
def version(branch):
    tree = repository.tree(repository.branch(branch).head)
    return repository.objects.snapshot(tree.entry(RelationName("shop", "a")).snapshot)
before, after = version("main"), version("dev")
at_first = peak()
print(diff(repository, before, after).counts.added, peak() - at_first)
"""

ROWS = 150_000


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak is read from /proc")
@pytest.mark.parametrize("shape", ["numbers", "texts", "categories"])
def test_a_diff_keeps_to_the_memory_that_is_estimated(shape: str, tmp_path: Path) -> None:
    def rows(seed: int) -> pa.Table:
        random = np.random.default_rng(seed)
        numbers = [random.integers(0, 1 << 40, ROWS) for _ in range(6)]
        if shape == "texts":
            numbers = [np.char.add("a text of a row ", item.astype(str)) for item in numbers]
        if shape == "categories":
            names = np.array([f"a category with a rather long name {n}" for n in range(20)])
            numbers = [names[item % 20] for item in numbers]
        table = pa.table({f"c{n}": pa.array(item) for n, item in enumerate(numbers)})
        return table.add_column(0, "k", pa.array(range(ROWS)))

    where = str(tmp_path / "repository")
    tables = Tables(Warehouse(LocalBlobs(Path(where), fsync=False)))
    tables.put(b=tables.entry([tables.block({1: "a"})]))
    with connect(where, "main", schema="shop") as main:
        main.write("a", rows(1))
        with main.create("dev") as dev:
            dev.write("a", rows(2), "overwrite")
    done = subprocess.run(
        [sys.executable, "-c", CHILD, where], capture_output=True, text=True, check=True
    )
    added, peak = map(int, done.stdout.split())
    repository = Repository.open(LocalBlobs(Path(where)))
    pieces = [
        Piece(block.path, block.rows, info=block)
        for branch in ("main", "dev")
        for block in blocks_of(repository, branch)
    ]
    assert added == ROWS and sum(piece.rows for piece in pieces) == 2 * ROWS
    assert peak < memory_of(pieces) + 100 * 2**20
    assert memory_of(pieces) < 4 * peak


def blocks_of(repository: Repository, branch: str) -> list[Block]:
    entry = repository.tree(repository.branch(branch).head).entry(RelationName("shop", "a"))
    assert isinstance(entry, TableEntry)
    refs = repository.objects.snapshot(entry.snapshot).segments
    return [block for ref in refs for block in repository.objects.segment(ref.id).blocks]
