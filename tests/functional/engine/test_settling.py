"""Rows are counted where they are written, and nothing else in a write's folder is a block."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from dbt.adapters.vcs.core.errors import EngineError
from dbt.adapters.vcs.core.store.blobs import BlobInfo
from dbt.adapters.vcs.core.store.local import LocalBlobs
from dbt.adapters.vcs.engines.session_settings import COMMIT_PROTOCOL
from dbt.adapters.vcs.engines.spark import few_rows
from dbt.adapters.vcs.engines.spark.engine import SparkEngine
from tests.functional.rows.shop import Shop

from .bench import Bench, schema_of

pytestmark = pytest.mark.spark

STREAMING = "org.apache.spark.sql.execution.streaming"
OUTPUT = "org.apache.hadoop.mapreduce.lib.output"


class Haunted(LocalBlobs):
    """A store in whose folders something happens between Spark's write and our look at it."""

    happens: Callable[[Path], None] = staticmethod(lambda folder: None)

    def walk(self, folder: str) -> Iterator[BlobInfo]:
        place = Path(self.uri) / folder
        if any(place.rglob("*.parquet")):
            self.happens(place)
        return super().walk(folder)


@pytest.fixture
def haunted(tmp_path: Path, spark_engine_factory: Any) -> tuple[Haunted, Bench]:
    blobs = Haunted(tmp_path / "ware house", fsync=False)
    engine: SparkEngine = spark_engine_factory(blobs)
    return blobs, Bench(blobs, engine, engine.session("test"))


def lose_one(folder: Path) -> None:
    sorted(folder.rglob("*.parquet"))[0].unlink()


def lose_all(folder: Path) -> None:
    shutil.rmtree(folder)


def double_one(folder: Path) -> None:
    file = sorted(folder.rglob("*.parquet"))[0]
    shutil.copy(file, file.with_name("part-00099-again.parquet"))


def leave(*names: str) -> Callable[[Path], None]:
    """Return what copies a block to other names in its folder."""

    def happen(folder: Path) -> None:
        file = sorted(folder.rglob("part-*.parquet"))[0]
        for name in names:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, folder / name)

    return happen


def left(bench: Bench) -> list[str]:
    return sorted(info.path for info in LocalBlobs.walk(bench.blobs, "data"))


@pytest.mark.parametrize("by", [(), ("p",)])
@pytest.mark.parametrize(
    ("happens", "found"), [(lose_one, "but (75|50) rows"), (lose_all, "but 0 rows")]
)
def test_files_that_are_gone_after_a_write_are_an_error(
    haunted: tuple[Haunted, Bench],
    happens: Callable[[Path], None],
    found: str,
    by: tuple[str, ...],
) -> None:
    blobs, bench = haunted
    blobs.happens = happens
    query = "select id, id % 2 p from range(0, 100, 1, 4)"
    if by:
        query = "select id, id % 2 p from range(0, 100, 1, 1)"
    with pytest.raises(EngineError, match=rf"Spark wrote 100 rows to file:.*, {found} are there"):
        bench.write(query, *by)
    assert left(bench) == []


def test_the_error_tells_what_to_do_on_a_cluster(haunted: tuple[Haunted, Bench]) -> None:
    blobs, bench = haunted
    blobs.happens = lose_all
    with pytest.raises(EngineError, match=r"Nothing was changed\. Every machine of the cluster"):
        bench.write("select 1 a")


@pytest.mark.parametrize("by", [(), ("p",)])
def test_a_file_that_a_failed_task_left_doubles_no_row(
    haunted: tuple[Haunted, Bench], by: tuple[str, ...]
) -> None:
    blobs, bench = haunted
    blobs.happens = double_one
    with pytest.raises(EngineError, match=r"2 rows are there, in 2 files\. Nothing was changed"):
        bench.write("select 1 id, 0 p", *by)
    assert left(bench) == []


@pytest.mark.parametrize("by", [(), ("p",), ("_p",)])
def test_what_committers_leave_is_no_block(
    haunted: tuple[Haunted, Bench], by: tuple[str, ...]
) -> None:
    blobs, bench = haunted
    blobs.happens = leave(
        "_temporary/0/_temporary/attempt_1/part-0.parquet",
        "_temporary/0/task_1/p=1/part-0.parquet",
        "_delta_log/part-0.parquet",
        ".spark-staging-1/p=7/part-0.parquet",
        "_started_123",
        "_committed_123.parquet",
        ".part-0.parquet",
    )
    query = "select id, id % 2 p, id % 2 _p from range(10)"
    written = bench.write(query, *by)
    blobs.happens = Haunted.happens
    table = bench.mount(written.files, schema_of(written))
    assert bench.rows(f"select count(*), sum(id), sum(p), sum(_p) from {table}") == [
        (10, 45, 5, 5)
    ]
    assert left(bench) == list(written.files)


def test_another_place_for_spark_than_for_us_is_an_error(
    tmp_path: Path, spark_engine_factory: Any
) -> None:
    blobs = LocalBlobs(tmp_path / "here", fsync=False)
    blobs.uri = str(tmp_path / "on another machine")
    engine = spark_engine_factory(blobs)
    bench = Bench(blobs, engine, engine.session("test"))
    with pytest.raises(EngineError, match=r"Spark wrote 1000 rows .* 0 rows are there"):
        bench.write("select id from range(1000)")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        # A plain write of Spark fails with each.
        (next(iter(COMMIT_PROTOCOL)), f"{STREAMING}.ManifestFileCommitProtocol"),
        ("spark.sql.parquet.output.committer.class", f"{OUTPUT}.BindingPathOutputCommitter"),
    ],
)
def test_another_commit_protocol_is_not_used(bench: Bench, key: str, value: str) -> None:
    spark = bench.session.spark
    spark.conf.set(key, value)
    with pytest.raises((Py4JJavaError, PySparkException), match=r"BindingPath|setupManifest"):
        spark.range(1).write.parquet(f"{bench.blobs.uri}/plain")
    written = bench.write("select id, id % 2 p from range(10)", "p")
    assert sum(footer.rows for footer in written.footers.values()) == 10


@pytest.mark.parametrize(
    "query",
    [
        "select id, 1 p from range(0)",
        "select 1 id, 2 p where false",
        "select * from values (1, 2), (3, 4) as t(id, p)",
        "select id, 1 p from range(100) order by id limit 7",
        "select a.id, b.id p from range(100) a join range(100) b on a.id = b.id",
        "select id, 1 p from range(5) union all select id, 2 p from range(5)",
        "select id, count(*) p from range(50) group by id",
    ],
)
@pytest.mark.parametrize(
    ("by", "cluster"), [((), ()), (("p",), ()), ((), ("id",)), (("p",), ("id",))]
)
def test_rows_are_counted_once_whatever_the_plan(
    bench: Bench, query: str, by: tuple[str, ...], cluster: tuple[str, ...]
) -> None:
    written = bench.write(query, *by, cluster_by=cluster)
    [(count,)] = bench.rows(f"select count(*) from ({query})")
    assert sum(footer.rows for footer in written.footers.values()) == count


STATEMENTS = {
    "create table as": "create table new as select id from range(10)",
    "insert": "insert into t select id, id, 0 from range(10)",
    "overwrite": "insert overwrite t select id, id, 0 from range(10)",
    "replace where": "insert into t replace where id < 5 select id, 1, 0 from range(5)",
    "update": "update t set a = a + 1 where id < 50",
    "delete": "delete from t where a % 3 = 1 and id < 50",
    "merge": "merge into t using (select 3L id) s on t.id = s.id when matched then delete",
    "optimize": "optimize t cluster by (a)",
    "rebuild": "create or replace table t as select id, id + 1 a, 0 v from range(10)",
}


@pytest.mark.parametrize("statement", STATEMENTS)
def test_every_statement_that_writes_with_spark_notices(
    tmp_path: Path, spark_engine_factory: Any, monkeypatch: pytest.MonkeyPatch, statement: str
) -> None:
    # Few rows are written here (decision 54), and many take long.
    monkeypatch.setattr(few_rows, "_FEW_ROWS", -1)
    with Shop.open(tmp_path, spark_engine_factory) as shop:
        shop.sql(
            "create table t (id bigint, a bigint, v int) tblproperties ('vcs.rebuild' = 'delta')"
        )
        shop.sql("insert into t select id, id, 0 from range(0, 100, 1, 2)")
        before = shop.version("t")
        blobs = shop.repository.blobs
        walk = blobs.walk

        def walked(folder: str) -> Iterator[BlobInfo]:
            place = Path(blobs.uri) / folder
            if "w=" in folder and any(place.rglob("*.parquet")):
                lose_all(place)
            return walk(folder)

        blobs.walk = walked
        with pytest.raises(EngineError, match="0 rows are there"):
            shop.sql(STATEMENTS[statement])
        blobs.walk = walk
        assert shop.version("t") == before
        assert shop.rows("select count(*), sum(a) from t") == [(100, 4950)]
        assert [row["tableName"] for row in shop.sql("show tables in s").to_pylist()] == ["t"]
