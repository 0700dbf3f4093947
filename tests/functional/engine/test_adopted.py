"""A SparkSession of the caller's: its temporary views show, its catalog is given back."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.core.model import Function, Parameter, RelationName
from dbt.adapters.vcs.core.store.local import LocalBlobs
from dbt.adapters.vcs.engines.spark.context import private_root
from dbt.adapters.vcs.engines.spark.engine import SparkEngine

from .bench import Bench

pytestmark = pytest.mark.spark


@pytest.fixture
def spark(bench: Bench, tmp_path: Path) -> Any:
    """Return a session as a caller would make it, with its own catalog."""
    context = bench.session.spark.sparkContext
    return private_root(
        context,
        {
            "spark.sql.warehouse.dir": str(tmp_path / "wh"),
            "spark.sql.parquet.outputTimestampType": "INT96",
        },
    )


def test_its_temporary_views_show(spark: Any, blobs: LocalBlobs) -> None:
    spark.sql("create temporary view mine as select 1 a")
    engine = SparkEngine(blobs, spark=spark, owner="w@main")
    session = engine.session("notebook")
    assert session.query("select * from mine").fetch() == [(1,)]
    bench = Bench(blobs, engine, session)
    table, blocks = bench.table("select a, timestamp'2026-01-01' t from mine")
    assert bench.rows(f"select a from {table}") == [(1,)]
    assert blocks[0].stats["t"].min == 1767225600000000
    assert spark.table(table).count() == 1
    engine.close()
    assert not spark.catalog.databaseExists("__vcs")
    assert not spark.catalog.tableExists(table)
    assert spark.conf.get("spark.sql.parquet.outputTimestampType") == "INT96"
    assert spark.table("mine").count() == 1


def test_functions_are_given_back(spark: Any, blobs: LocalBlobs) -> None:
    engine = SparkEngine(blobs, spark=spark, owner="w@main")
    session = engine.session("notebook")
    written = Function(
        text="def f(x): return x * 3", language="python", handler="f", returns="int",
        parameters=(Parameter(name="x", type="int"),),
    )  # fmt: skip
    session.mount_function(RelationName("s", "one"), "1", Function(text="1"))
    session.mount_function(RelationName("s", "three"), "3", written)
    assert spark.sql("select s.one(), s.three(2)").collect() == [(1, 6)]
    engine.close()
    assert not spark.catalog.functionExists("s.one")
    assert not spark.catalog.functionExists("s.three")


def test_one_catalog_shows_one_owner(spark: Any, blobs: LocalBlobs) -> None:
    first = SparkEngine(blobs, spark=spark, owner="w@main")
    first.session("a")
    other = SparkEngine(blobs, spark=spark.newSession(), owner="w@feature")
    with pytest.raises(InputError, match="already shows w@main, so it can't show w@feature"):
        other.session("b")
    first.close()
    other.session("b").mount_view(RelationName("s", "v"), "select 1 a")
    assert spark.table("s.v").count() == 1
    other.close()


def test_the_same_owner_may_come_again(spark: Any, blobs: LocalBlobs) -> None:
    engines = [SparkEngine(blobs, spark=spark, owner="w@main") for _ in range(2)]
    first, second = (Bench(blobs, engine, engine.session("cell")) for engine in engines)
    table, _ = first.table("select 1 a")
    first.engine.close()
    assert second.rows(f"select * from {table}") == [(1,)]
    next(second.numbers), next(second.numbers)
    again, _ = second.table("select 2 a")
    assert second.rows(f"select * from {again}") == [(2,)]
    second.engine.close()
    assert not spark.catalog.databaseExists("__vcs")


def test_a_catalog_that_is_not_in_memory_is_refused(blobs: LocalBlobs) -> None:
    hive = SimpleNamespace(_jsparkSession=None, conf=SimpleNamespace(get=lambda key: "hive"))
    with pytest.raises(InputError, match=r"of kind hive.*without enableHiveSupport"):
        SparkEngine(blobs, spark=hive).session("a")  # type: ignore[arg-type]


def test_a_process_with_hives_catalog_is_refused() -> None:
    context = SimpleNamespace(getConf=lambda: {"spark.sql.catalogImplementation": "hive"})
    with pytest.raises(InputError, match="Hive's catalog"):
        private_root(context, {})  # type: ignore[arg-type]


def test_a_connect_client_is_refused(blobs: LocalBlobs) -> None:
    with pytest.raises(InputError, match="Spark Connect"):
        SparkEngine(blobs, spark=SimpleNamespace()).session("a")  # type: ignore[arg-type]
