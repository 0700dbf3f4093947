"""A flipped bit in a file that Spark wrote gives the right rows or an error, never wrong rows."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from dbt.adapters.vcs.api import Client, connect
from dbt.adapters.vcs.commands.fsck import DataCheck, check_repository
from dbt.adapters.vcs.commands.merge import merge
from dbt.adapters.vcs.core.errors import DamagedError, VcsError
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.store.opening import open_blobs
from tests.functional.clients import SPARK

pytestmark = pytest.mark.spark

ROWS = 30_000
QUERIES = (
    "select count(*), sum(xxhash64(k, v, w, x)) from t",
    f"select count(*), sum(xxhash64(k, v)) from t where k between {ROWS // 3} and {ROWS // 2}",
    "select count(*), sum(xxhash64(k, w)) from t where v = 'text 100'",
)


def opened(root: Path, branch: str = "main") -> Client:
    return connect(str(root), branch, schema="shop", spark=SPARK, author="ann")


def large_file(root: Path) -> Path:
    return max(root.glob("data/**/*.parquet"), key=lambda path: path.stat().st_size)


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A table in one file of Spark's, larger than those that have a digest of all bytes."""
    root = tmp_path_factory.mktemp("flips") / "warehouse"
    with connect(str(root), schema="shop", create=True, spark=SPARK, author="ann") as client:
        client.sql("create schema shop")
        client.sql(
            "create table t as select id k, concat('text ', id % 977) v, id * 7 % 1000 w, "
            f"if(id % 3 = 0, null, cast(id as double)) x from range(0, {ROWS}, 1, 1)"
        )
        # A session stays open, so that Spark is started once.
        yield root


@pytest.fixture
def file(warehouse: Path) -> Iterator[Path]:
    path = large_file(warehouse)
    data = path.read_bytes()
    assert len(data) > 64 * 1024
    yield path
    path.write_bytes(data)


def flip(path: Path, good: bytes, bit: int) -> None:
    damaged = bytearray(good)
    damaged[bit // 8] ^= 1 << bit % 8
    path.write_bytes(damaged)


def places(path: Path, dice: random.Random) -> Iterator[int]:
    """Bits anywhere, in the footer, and in dictionaries."""
    size = path.stat().st_size
    group = pq.read_metadata(path).row_group(0)
    footer = int.from_bytes(path.read_bytes()[-8:-4], "little") + 8
    yield from (dice.randrange(size * 8) for _ in range(12))
    yield from (dice.randrange((size - footer) * 8, size * 8) for _ in range(14))
    for number in range(group.num_columns):
        column = group.column(number)
        start = column.dictionary_page_offset or column.data_page_offset
        if column.dictionary_page_offset:
            # Behind the header of the page, which no checksum covers.
            inside = range((start + 40) * 8, column.data_page_offset * 8)
            yield from (dice.choice(inside) for _ in range(3))


def test_spark_reads_the_right_rows_or_names_the_file(warehouse: Path, file: Path) -> None:
    good = file.read_bytes()
    with opened(warehouse) as client:
        right = [client.sql(query).to_pylist() for query in QUERIES]
    told = 0
    for number, bit in enumerate(places(file, random.Random(11))):
        flip(file, good, bit)
        # Another client looks at the files anew.
        with opened(warehouse) as client:
            try:
                found = client.sql(QUERIES[number % 3]).to_pylist()
            except VcsError as error:
                assert file.name in str(error), bit
                told += 1
            else:
                assert found == right[number % 3], bit
    assert told >= 20


def test_optimize_and_merges_refuse_a_flipped_file(warehouse: Path) -> None:
    blobs = open_blobs(str(warehouse), {})
    repository = Repository.open(blobs)
    with opened(warehouse) as client:
        client.sql("create table m (k bigint, v string, primary key (k))")
    repository.create_branch("dev", repository.resolve("main"), author="ann")
    known = set(warehouse.glob("data/**/*.parquet"))
    for branch, step in (("main", 1), ("dev", 2)):
        with opened(warehouse, branch) as client:
            client.sql(f"insert into m select id, uuid() from range({step}, {ROWS}, 1, 1)")
            if branch == "main":
                known |= set(warehouse.glob("data/**/*.parquet"))
            else:
                client.sql("insert into m values (-1, 'so that there are two files')")
    new = set(warehouse.glob("data/**/*.parquet")) - known
    file = max(new, key=lambda path: path.stat().st_size)
    good = file.read_bytes()
    flip(file, good, 8 * (len(good) // 3))
    there = sorted(warehouse.glob("data/**/*.parquet"))
    heads = [Repository.open(blobs).branch(name).head for name in ("main", "dev")]
    with opened(warehouse, "dev") as client:
        for statement in ("optimize m", "optimize m cluster by (v)"):
            with pytest.raises(VcsError, match=file.name) as refused:
                client.sql(statement)
            assert "dbt-vcs fsck --data" in str(refused.value)
    with pytest.raises(DamagedError, match=file.name) as told:
        merge(Repository.open(blobs), "dev", "main", author="ann")
    assert "dbt-vcs repair" in str(told.value)
    assert [Repository.open(blobs).branch(name).head for name in ("main", "dev")] == heads
    assert sorted(warehouse.glob("data/**/*.parquet")) == there
    (problem,) = check_repository(Repository.open(blobs), data=DataCheck()).problems
    assert file.name in problem and "shop.m" in problem


def test_files_that_swapped_places_are_told_by_spark(warehouse: Path) -> None:
    made: list[Path] = []
    known = set(warehouse.glob("data/**/*.parquet"))
    with opened(warehouse) as client:
        for name in ("one", "two"):
            client.sql(f"create table {name} as select id k, uuid() v from range(0, {ROWS}, 1, 1)")
            client.sql(f"insert into {name} values ({ROWS}, 'more')")
            new = set(warehouse.glob("data/**/*.parquet")) - known - set(made)
            made.append(max(new, key=lambda path: path.stat().st_size))
            known |= new
        client.sql("update one set v = 'later' where k = 5")
    first, second = (path.read_bytes() for path in made)
    made[0].write_bytes(second)
    made[1].write_bytes(first)
    for name, file in zip(("one", "two"), made, strict=True):
        with opened(warehouse) as client, pytest.raises(DamagedError, match=file.name) as told:
            client.sql(f"select count(*), max(v) from {name}")
        assert "not the file that was written" in str(told.value)
        assert "dbt-vcs repair" in str(told.value)
    # The version before the update has the same file.
    with opened(warehouse, "main~1") as client, pytest.raises(DamagedError, match=made[0].name):
        client.sql("select max(v) from one")
    for path, data in zip(made, (first, second), strict=True):
        path.write_bytes(data)
    with opened(warehouse) as client:
        assert client.sql("select count(*) n from one").to_pylist() == [{"n": ROWS + 1}]
