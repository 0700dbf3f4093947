"""Files that Spark knows from a list: it asks the store for none of them to mount a table."""

import dataclasses
import shutil
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import pyarrow as pa
import pytest

from dbt.adapters.vcs.core.errors import DamagedError, EngineError, VcsError
from dbt.adapters.vcs.core.model import Block, Field, RelationName
from dbt.adapters.vcs.core.store.local import LocalBlobs
from dbt.adapters.vcs.engines.engine_errors import StatementError
from dbt.adapters.vcs.engines.port import TableMount
from dbt.adapters.vcs.engines.spark import catalog as spark_catalog
from dbt.adapters.vcs.engines.spark import engine as spark_engine
from dbt.adapters.vcs.table.files.parquet import write_rows, write_tombstone

from .bench import Bench
from .conftest import EngineFactory
from .counted_store import CountedStore, counted_store

pytestmark = pytest.mark.spark

FIELDS = (Field(id="a", name="a", type="bigint"), Field(id="p", name="p", type="string"))


@pytest.fixture
def store() -> Iterator[CountedStore]:
    with counted_store() as server:
        yield server


@pytest.fixture
def remote(
    store: CountedStore,
    blobs: LocalBlobs,
    spark_engine_factory: EngineFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> Bench:
    """A bench whose Spark reaches the repository over the counting store."""
    root = f"{store.root}{Path(blobs.uri).absolute()}"
    monkeypatch.setattr(spark_engine, "spark_root", lambda *_: root)
    made = spark_engine_factory(blobs)
    return Bench(blobs, made, made.session("test"))


def blocks(bench: Bench, count: int, *partition_by: str) -> tuple[Block, ...]:
    """Write blocks of one row each: its number, and that modulo 5."""
    found: list[Block] = []
    for number in range(count):
        rows = pa.table({"a": [number], "p": [f"x {number % 5}"]})
        folder = f"data/t/w=y{number}"
        files = write_rows(bench.blobs, rows, folder=folder, partition_by=partition_by)
        found += [
            Block(path=path, rows=1, bytes=footer.bytes, footer=footer.digest)
            for path, footer in files.items()
        ]
    return tuple(found)


def version(id: str, entries: Sequence[Block]) -> TableMount:
    files = tuple(entry.path for entry in entries)
    return TableMount(
        id=id,
        folder="data/t",
        files=files,
        fields=FIELDS,
        entries=tuple(entries),
    )


@pytest.mark.parametrize("count", [10, 200])
@pytest.mark.parametrize("partition_by", [(), ("p",)])
def test_a_mount_asks_the_store_for_nothing(
    remote: Bench, store: CountedStore, count: int, partition_by: tuple[str, ...]
) -> None:
    entries = blocks(remote, count, *partition_by)
    name = remote.session.mount_physical(version("m", entries))
    located = remote.session.mount_located(version("m", entries))
    assert store.asked() == {}
    for session in (remote.session, remote.engine.session("other")):
        assert len(session.query(f"select a from {name} limit 1").fetch()) == 1
        assert sum(store.asked().values()) <= 8
    assert remote.rows(f"select count(*), sum(a) from {name} where p = 'x 3'") == [
        (count // 5, sum(range(3, count, 5)))
    ]
    opened = store.asked()
    if partition_by:
        assert opened["OPEN"] <= 3 * count // 5
    assert "LISTSTATUS" not in opened
    assert sorted(remote.rows(f"select __vcs_file, __vcs_pos from {located}")) == [
        (entry.path, 0) for entry in sorted(entries, key=lambda entry: entry.path)
    ]


def test_a_file_that_is_deleted_later_is_an_error_of_the_query(remote: Bench) -> None:
    entries = blocks(remote, 3)
    name = remote.session.mount_physical(version("m", entries))
    remote.session.query("set spark.sql.files.ignoreMissingFiles = true")
    remote.blobs.delete(entries[1].path)
    with pytest.raises(StatementError, match=r"(?s)does not exist.*restore") as caught:
        remote.rows(f"select sum(a) from {name}")
    assert caught.value.condition == "FAILED_READ_FILE.FILE_NOT_EXIST"
    assert "REFRESH" not in str(caught.value)
    assert "To find all such files: dbt-vcs fsck --data." in str(caught.value)


def test_a_file_that_is_missing_on_disk_is_told_by_the_mount(bench: Bench) -> None:
    entries = blocks(bench, 3)
    bench.blobs.delete(entries[1].path)
    with pytest.raises(DamagedError, match=r"have 3 files .* 2 are there.* the retention"):
        bench.session.mount_physical(version("m", entries))


@pytest.mark.parametrize("has_digest", [True, False])
@pytest.mark.parametrize("change", [-100, 100])
def test_a_size_that_is_wrong_in_an_entry_is_an_error_of_the_mount(
    bench: Bench, change: int, has_digest: bool
) -> None:
    one, *others = blocks(bench, 3)
    one = msgspec.structs.replace(one, footer=one.footer if has_digest else "")
    right, wrong = (
        version(name, (msgspec.structs.replace(one, bytes=one.bytes + more), *others))
        for name, more in (("right", 0), ("wrong", change))
    )
    assert bench.rows(f"select sum(a) from {bench.session.mount_physical(right)}") == [(3,)]
    for mount in (bench.session.mount_physical, bench.session.mount_located):
        with pytest.raises(DamagedError, match=f"{one.path} has .* bytes, and its entry says"):
            mount(wrong)


def test_a_list_that_is_gone_is_never_an_empty_table(bench: Bench) -> None:
    entries = blocks(bench, 3)
    name = bench.session.mount_physical(version("m", entries))
    assert bench.rows(f"select count(*) from {name}") == [(3,)]
    catalog = bench.session._catalog
    shutil.rmtree(Path(catalog.warehouse) / "lists")
    with pytest.raises(VcsError, match="PATH_NOT_FOUND"):
        bench.engine.session("other").query(f"select count(*) from {name}").fetch()


def test_a_list_that_spark_ignores_is_never_an_empty_table(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dbt.adapters.vcs.engines.spark.catalog_relations._LOG", "_something")
    entries = blocks(bench, 3)
    with pytest.raises(EngineError, match="Spark sees 0 of the 3 files"):
        bench.session.mount_physical(version("m", entries))


T = RelationName("s", "t")


def holed(bench: Bench, entries: Sequence[Block], number: int) -> TableMount:
    """Return a version that lacks the row of its last block: it has links, and an array."""
    gone = pa.table({"__vcs_file": [entries[-1].path], "__vcs_pos": pa.array([0], pa.int64())})
    tombstone = write_tombstone(bench.blobs, gone, folder=f"data/t/w=z{number}")
    return dataclasses.replace(version(f"m{number}", entries), tombstones=(tombstone,))


def kept(bench: Bench) -> tuple[int, int, int]:
    """Return how many private relations and functions, and files of lists, there are."""
    spark = bench.session.spark
    catalog = spark._jsparkSession.sharedState().externalCatalog()
    lists = Path(bench.session._catalog.warehouse, "lists")
    return (
        catalog.listTables("__vcs").size(),
        catalog.listFunctions("__vcs", "*").size(),
        len(list(lists.rglob("*"))),
    )


def test_a_long_session_keeps_a_few_versions(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spark_catalog, "_UNUSED", 2)
    entries = blocks(bench, 3)
    found = []
    for number in range(13):
        bench.session.begin_statement()
        mount = holed(bench, entries, number)
        bench.session.mount_table(T, mount)
        bench.session.mount_located(mount)
        bench.session.mount_version(dataclasses.replace(mount, id=f"old{number}"))
        found.append(kept(bench))
    assert bench.rows("select sum(a) from s.t") == [(1,)]
    early, late = found[3:8], found[8:]
    assert [max(counts) for counts in zip(*early, strict=True)] == [
        max(counts) for counts in zip(*late, strict=True)
    ]
    assert len(bench.session._catalog._locks) == 0


def test_what_may_be_read_is_not_dropped(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spark_catalog, "_UNUSED", 0)
    entries = blocks(bench, 3)
    mounts = [holed(bench, entries, number) for number in range(9)]
    other = bench.engine.session("other")
    bench.session.mount_table(T, mounts[0])
    pinned = bench.session.mount_version(mounts[1])
    other.query(f"create temporary view mine as select * from {pinned}")
    text = f"select a from {other.mount_version(mounts[2])}"
    bench.session.mount_view(RelationName("s", "v"), text)
    other.begin_statement()
    named = other.mount_located(mounts[3])
    bench.session.begin_statement()
    rows = bench.session.query(f"select * from {bench.session.mount_physical(mounts[4])}")
    gone = bench.session.mount_physical(mounts[5])
    assert other.query(f"select sum(a) from {gone}").fetch() == [(1,)]

    for mount in mounts[6:]:
        bench.session.begin_statement()
        bench.session.mount_physical(mount)
    with pytest.raises(StatementError, match="cannot be found"):
        bench.rows(f"select * from {gone}")
    assert rows.fetch() == [(0, "x 0"), (1, "x 1")]
    for query in ("s.t", "s.v"):
        assert bench.rows(f"select sum(a) from {query}") == [(1,)]
    for query in ("mine", named):
        assert other.query(f"select sum(a) from {query}").fetch() == [(1,)]
    # What was dropped is mounted again, with other links.
    assert bench.session.mount_physical(mounts[5]) == gone
    for session in (bench.session, other):
        assert session.query(f"select sum(a) from {gone}").fetch() == [(1,)]


def test_threads_mount_while_versions_are_dropped(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spark_catalog, "_UNUSED", 0)
    entries = blocks(bench, 3)
    mounts = [holed(bench, entries, number) for number in range(3)]

    def read(start: int) -> list[object]:
        session = bench.engine.session(f"thread {start}")
        sums: list[object] = []
        for number in range(5):
            session.begin_statement()
            name = session.mount_physical(mounts[(start + number) % len(mounts)])
            sums += session.query(f"select sum(a) from {name}").fetch()
        return sums

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(read, range(2))) == [[(1,)] * 5] * 2
