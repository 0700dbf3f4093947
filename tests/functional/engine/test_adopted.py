"""A SparkSession of the caller's: its temporary views show, its catalog is left alone."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.core.model import Function, Parameter, RelationName
from dbt.adapters.vcs.core.store.local import LocalBlobs
from dbt.adapters.vcs.engines.spark.adopted import AdoptedEngine
from dbt.adapters.vcs.engines.spark.context import private_root

from .bench import Bench

pytestmark = pytest.mark.spark
TIMES = "spark.sql.parquet.outputTimestampType"


@pytest.fixture
def spark(bench: Bench, tmp_path: Path) -> Any:
    """Return a session as a caller would make it, with its own catalog."""
    context = bench.session.spark.sparkContext
    return private_root(
        context,
        {"spark.sql.warehouse.dir": str(tmp_path / "wh"), TIMES: "INT96"},
    )


def test_its_temporary_views_show(spark: Any, blobs: LocalBlobs) -> None:
    spark.sql("create temporary view mine as select 1 a")
    engine = AdoptedEngine(blobs, spark)
    session = engine.session("notebook")
    assert session.query("select * from mine").fetch() == [(1,)]
    bench = Bench(blobs, engine, session)  # type: ignore[arg-type]
    table, blocks = bench.table("select a, timestamp'2026-01-01' t from mine")
    assert bench.rows(f"select a from {table}") == [(1,)]
    assert blocks[0].stats["t"].min == 1767225600000000
    assert not spark.catalog.tableExists(table)
    engine.close()
    assert [database.name for database in spark.catalog.listDatabases()] == ["default"]
    assert [view.name for view in spark.catalog.listTables()] == ["mine"]
    assert spark.conf.get(TIMES) == "INT96"
    assert spark.table("mine").count() == 1


def test_functions_are_given_back(spark: Any, blobs: LocalBlobs) -> None:
    engine = AdoptedEngine(blobs, spark)
    session = engine.session("notebook")
    written = Function(
        text="def f(x): return x * 3", language="python", handler="f", returns="int",
        parameters=(Parameter(name="x", type="int"),),
    )  # fmt: skip
    session.mount_function(RelationName("s", "one"), "1", Function(text="1"))
    session.mount_function(RelationName("s", "three"), "3", written)
    assert session.query("select s.one(), s.three(2)").fetch() == [(1, 6)]
    engine.close()
    assert spark.sql("show user functions").collect() == []


def test_a_session_shows_each_connection_its_own(spark: Any, blobs: LocalBlobs) -> None:
    engines = [AdoptedEngine(blobs, spark) for _ in range(2)]
    sessions = [engine.session("cell") for engine in engines]
    for number, session in enumerate(sessions):
        session.mount_view(RelationName("s", "v"), f"select {number} a")
    assert [session.query("select a from s.v").fetch() for session in sessions] == [
        [(0,)], [(1,)],
    ]  # fmt: skip
    engines[0].close()
    # The settings are the session's until the last connection ends.
    assert spark.conf.get(TIMES) == "TIMESTAMP_MICROS"
    assert sessions[1].query("select a from s.v").fetch() == [(1,)]
    engines[1].close()
    assert spark.conf.get(TIMES) == "INT96"
    assert spark.catalog.listTables() == []


def test_defaults_are_checked_without_a_table(spark: Any, blobs: LocalBlobs) -> None:
    engine = AdoptedEngine(blobs, spark)
    session = engine.session("cell")
    session.check_default("40 + 2", "int")
    for wrong in ("'a'", "id", "(select 1)", "sum(1)"):
        with pytest.raises(Exception, match=r"."):
            session.check_default(wrong, "int")
    assert spark.catalog.listDatabases()[0].name == "default"
    engine.close()


def test_a_connect_client_is_refused(blobs: LocalBlobs) -> None:
    with pytest.raises(InputError, match="Spark Connect"):
        AdoptedEngine(blobs, SimpleNamespace())  # type: ignore[arg-type]
