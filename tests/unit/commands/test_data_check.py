"""`fsck --data` reads files of rows, and tells each that is not as it was written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbt.adapters.vcs.commands.fsck import (
    DataCheck,
    FsckReport,
    check_repository,
    chosen,
)
from dbt.adapters.vcs.commands.layout import size
from dbt.adapters.vcs.commands.snapshot import create_snapshot
from dbt.adapters.vcs.core.errors import InputError, StorageError
from dbt.adapters.vcs.core.model import Block, Segment, Tombstone
from dbt.adapters.vcs.core.model.snapshot import FILE_COLUMN, POSITION_COLUMN
from dbt.adapters.vcs.core.plan.collect import NeededFile, files_of
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.store.blobs import MemoryBlobs
from dbt.adapters.vcs.table.files.file_check import wrong_bytes
from dbt.adapters.vcs.table.files.footers import digest, read_blocks
from dbt.adapters.vcs.table.files.parquet import write_table, write_tombstone
from tests.unit.tables import SCHEMA, Tables
from tests.unit.warehouse import Clock, Warehouse

ALL = DataCheck()


@pytest.fixture
def tables() -> Tables:
    clock = Clock()
    return Tables(Warehouse(MemoryBlobs(clock), clock))


def rows(first: int, count: int) -> pa.Table:
    ids = list(range(first, first + count))
    return pa.table({"id": ids, "name": [f"name {id * 7919}" for id in ids]})


def block(blobs: Any, table: str, data: pa.Table, *, whole: bool = True) -> Block:
    paths = write_table(blobs, data, folder=f"data/{table}/w=x{table}", schema=SCHEMA)
    (found,) = read_blocks(blobs, paths, SCHEMA, (), paths)
    return found if whole else msgspec.structs.replace(found, whole="")


def tombstone(blobs: Any, table: str, target: Block, count: int) -> Tombstone:
    gone = rows(0, count)
    places = {
        FILE_COLUMN: pa.array([target.path] * count, pa.string()),
        POSITION_COLUMN: pa.array(range(count), pa.int64()),
    }
    images = pa.table({**places, "id": gone.column("id"), "name": gone.column("name")})
    return write_tombstone(blobs, images, folder=f"data/{table}/w=y{table}")


def needed(entry: Block | Tombstone) -> NeededFile:
    segment = (
        Segment(blocks=(entry,)) if isinstance(entry, Block) else Segment(tombstones=(entry,))
    )
    return files_of(segment, "shop.t")[entry.path]


def put(blobs: Any, path: str, data: bytes) -> None:
    blobs.delete(path)
    assert blobs.create(path, data)


def flipped(data: bytes, bit: int) -> bytes:
    damaged = bytearray(data)
    damaged[bit // 8] ^= 1 << bit % 8
    return bytes(damaged)


def checked(tables: Tables, check: DataCheck | None = ALL) -> FsckReport:
    warehouse = tables.warehouse
    return check_repository(Repository.open(warehouse.blobs, clock=warehouse.clock), data=check)


@pytest.mark.parametrize("count", [50, 20_000])
@pytest.mark.parametrize("of", ["block", "tombstone"])
def test_a_flip_is_told_with_the_path_and_the_table(tables: Tables, of: str, count: int) -> None:
    blobs = tables.warehouse.blobs
    good = block(blobs, "t", rows(0, count))
    gone = tombstone(blobs, "t", good, count // 2)
    tables.put(t=tables.entry([good], [gone]))
    assert checked(tables).problems == ()
    path = good.path if of == "block" else gone.path
    data = blobs.get(path)
    put(blobs, path, flipped(data, len(data) * 3))
    assert checked(tables, None).problems == (), "its size is what it was"
    (wrong,) = checked(tables).wrong_files
    assert (wrong.path, wrong.relation) == (path, "shop.t")
    (problem,) = checked(tables).problems
    assert problem.startswith(f"The data file {path} is ")
    assert "It belongs to shop.t." in problem
    assert "dbt-vcs repair" in problem


SMALL = rows(0, 60)


@given(st.data())
def test_every_flip_of_a_file_with_a_whole_digest_is_told(data: st.DataObject) -> None:
    blobs = MemoryBlobs()
    entry: Block | Tombstone = block(blobs, "t", SMALL)
    if data.draw(st.booleans()):
        entry = tombstone(blobs, "t", entry, 30)
    good = blobs.get(entry.path)
    assert wrong_bytes(blobs, needed(entry)) is None
    put(blobs, entry.path, flipped(good, data.draw(st.integers(0, len(good) * 8 - 1))))
    assert wrong_bytes(blobs, needed(entry)) is not None


@pytest.mark.parametrize("name", ["name", "a.b", "naïve", "list"])
def test_pages_of_every_column_are_read_where_there_is_no_whole_digest(name: str) -> None:
    blobs = MemoryBlobs()
    texts = [f"the text {number}" for number in range(2_000)]
    nested = [{"x": [number], "y": str(number)} for number in range(2_000)]
    table = pa.table({name: texts, "deep": nested})
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, write_page_checksum=True, use_dictionary=False, compression="none")
    good = sink.getvalue().to_pybytes()
    path = "data/t/w=x/part.parquet"
    file = NeededFile(path, len(good), 2_000)
    put(blobs, path, good)
    assert wrong_bytes(blobs, file) is None
    places = (b"the text 1999", b"1999", (1998).to_bytes(8, "little"))
    for place in {good.index(places[0]), good.rindex(places[1]), good.index(places[2])}:
        put(blobs, path, flipped(good, place * 8))
        told = wrong_bytes(blobs, file)
        assert told is not None and told.startswith("is damaged: ")


@pytest.mark.parametrize(
    ("harm", "told"),
    [
        (lambda blobs, path: blobs.delete(path), "is missing"),
        (lambda blobs, path: put(blobs, path, b"x"), "has 1 bytes, expected"),
        (lambda blobs, path: put(blobs, path, b"\0" * blobs.size(path)), "is damaged"),
    ],
)
@pytest.mark.parametrize("whole", [True, False])
def test_it_is_told_what_is_wrong(
    tables: Tables, harm: Callable[[Any, str], None], told: str, whole: bool
) -> None:
    blobs = tables.warehouse.blobs
    entry = block(blobs, "t", rows(0, 20_000), whole=whole)
    tables.put(t=tables.entry([entry]))
    harm(blobs, entry.path)
    (problem,) = checked(tables).problems
    assert problem.startswith(f"The data file {entry.path} {told}") or "not the file" in problem


def test_another_number_of_rows_is_told(tables: Tables) -> None:
    entry = block(tables.warehouse.blobs, "t", rows(0, 30))
    tables.put(t=tables.entry([msgspec.structs.replace(entry, rows=29)]))
    (problem,) = checked(tables).problems
    assert "has 30 rows, expected 29" in problem


@pytest.mark.parametrize("digests", [True, False])
@pytest.mark.parametrize("count", [100, 20_000])
def test_files_swapped_between_tables_are_told(tables: Tables, count: int, digests: bool) -> None:
    blobs = tables.warehouse.blobs
    one, two = block(blobs, "a", rows(0, count)), block(blobs, "b", rows(0, count))
    if not digests:
        one, two = (msgspec.structs.replace(each, footer="", whole="") for each in (one, two))
    tables.put(a=tables.entry([one]), b=tables.entry([two]))
    first, second = blobs.get(one.path), blobs.get(two.path)
    put(blobs, one.path, second)
    put(blobs, two.path, first)
    told = checked(tables).problems
    assert len(told) == 2
    assert "it was written as one of data/b/w=xb" in told[0]


def test_a_file_that_only_a_snapshot_shows_is_read_and_told(tables: Tables) -> None:
    warehouse = tables.warehouse
    old = block(warehouse.blobs, "t", rows(0, 30))
    tables.put(t=tables.entry([old]))
    create_snapshot(warehouse.repository, "shop.t", "s1", "main", author="ann")
    tables.put(t=None)
    warehouse.clock.now += 30 * 24 * 3_600 * 1_000_000
    put(warehouse.blobs, old.path, flipped(warehouse.blobs.get(old.path), 900))
    (problem,) = checked(tables).problems
    assert old.path in problem


class Failing:
    """A store whose disk can't read one file."""

    def __init__(self, inner: Any, path: str) -> None:
        self._inner = inner
        self._path = path

    def get(self, path: str) -> bytes:
        if path == self._path:
            raise StorageError(f"{path} can't be read: Input/output error.")
        data: bytes = self._inner.get(path)
        return data

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


def test_a_file_that_the_disk_cannot_read_stops_no_check(tables: Tables) -> None:
    blobs = tables.warehouse.blobs
    one, two = block(blobs, "a", rows(0, 10)), block(blobs, "b", rows(0, 10))
    tables.put(a=tables.entry([one]), b=tables.entry([two]))
    put(blobs, two.path, flipped(blobs.get(two.path), 99))
    broken = Repository.open(Failing(blobs, one.path), clock=tables.warehouse.clock)
    told = check_repository(broken, data=ALL).problems
    assert len(told) == 2
    assert "can't be read" in told[0]


@given(st.integers(1, 300), st.floats(0.01, 100), st.integers(0, 10))
def test_a_sample_is_a_share_and_the_same_for_the_same_seed(
    count: int, percent: float, seed: int
) -> None:
    files = {f"f{number}": NeededFile(f"f{number}", 1, 1) for number in range(count)}
    some = chosen(files, DataCheck(percent=percent, seed=seed))
    assert some == chosen(dict(reversed(files.items())), DataCheck(percent=percent, seed=seed))
    assert len(set(some)) == len(some)
    assert max(1, count * percent / 100) <= len(some) < count * percent / 100 + 1


def test_samples_of_many_seeds_read_every_file() -> None:
    files = {f"f{number}": NeededFile(f"f{number}", 1, 1) for number in range(50)}
    seen = {
        file for seed in range(200) for file in chosen(files, DataCheck(percent=10, seed=seed))
    }
    assert seen == set(files.values())


@pytest.mark.parametrize("percent", [0, -1, 101, float("nan"), float("inf")])
def test_a_sample_that_is_no_share_is_refused(percent: float) -> None:
    with pytest.raises(InputError, match="expected more than 0% and at most 100%"):
        DataCheck(percent=percent)


def test_a_sample_tells_what_was_read_and_progress_ends_at_all(tables: Tables) -> None:
    blobs = tables.warehouse.blobs
    tables.put(t=tables.entry([block(blobs, f"t{n}", rows(n, 5)) for n in range(10)]))
    told: list[str] = []
    report = checked(tables, DataCheck(percent=30, seed=4, progress=told.append))
    assert report.read is not None
    assert (report.read.files, report.read.seed, report.read.percent) == (3, 4, 30)
    whole_size = size(report.read.bytes)
    assert told[0] == f"Read 0 of 3 data files, 0 B of {whole_size}"
    assert told[-1] == f"Read 3 of 3 data files, {whole_size} of {whole_size}"
    whole = checked(tables).read
    assert whole is not None and (whole.files, whole.seed) == (10, None)


def test_digests_are_what_the_format_says() -> None:
    assert digest(b"") == "e3b0c44298fc1c149afbf4c8996fb924"
