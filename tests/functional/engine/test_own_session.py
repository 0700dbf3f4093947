"""A connection and its caller on one SparkSession: neither changes what the other reads."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dbt.adapters.vcs.api import Client, connect
from dbt.adapters.vcs.core.errors import VcsError
from dbt.adapters.vcs.engines.spark.context import private_root

from .bench import Bench

pytestmark = pytest.mark.spark


@pytest.fixture
def spark(bench: Bench, tmp_path: Path) -> Any:
    """Return a session as a caller would make it, with its own catalog."""
    context = bench.session.spark.sparkContext
    settings = {
        "spark.sql.warehouse.dir": str(tmp_path / "wh"),
        # Spark can't list a catalog's tables without compiling what decodes them.
        "spark.sql.codegen.factoryMode": "FALLBACK",
    }
    return private_root(context, settings)


@pytest.fixture
def client(spark: Any, tmp_path: Path) -> Iterator[Client]:
    repository = str(tmp_path / "warehouse")
    with connect(repository, create=True) as made:
        made.sql("create schema analytics")
        made.sql("create table analytics.customers (id bigint comment 'its id', name string)")
        made.sql("insert into analytics.customers values (1, 'ann'), (2, 'bob')")
        made.sql("create view analytics.names as select name from analytics.customers")
    with connect(repository, spark=spark) as client:
        yield client


def test_the_sessions_catalog_has_nothing_of_the_branch(client: Client, spark: Any) -> None:
    assert client.sql("select * from analytics.names").num_rows == 2
    assert [database.name for database in spark.catalog.listDatabases()] == ["default"]
    with pytest.raises(Exception, match="cannot be found"):
        spark.table("analytics.customers").collect()


def test_a_table_of_the_session_is_not_read_as_the_branchs(client: Client, spark: Any) -> None:
    spark.sql("create database analytics")
    spark.sql("create table analytics.more using parquet as select 1 a")
    with pytest.raises(VcsError, match=r"no table or view analytics\.more"):
        client.sql("select * from analytics.more")
    spark.sql("create table analytics.customers using parquet as select 'own' a")
    assert client.sql("select * from customers").num_rows == 2
    assert [row.a for row in spark.table("analytics.customers").collect()] == ["own"]


def test_statements_that_a_catalog_answers(client: Client, spark: Any) -> None:
    [made] = client.sql("show create table customers").to_pylist()
    assert made["createtab_stmt"].startswith("CREATE TABLE spark_catalog.analytics.customers")
    described = client.sql("describe extended analytics.names").to_pylist()
    assert {"col_name": "Type", "data_type": "VIEW", "comment": ""} in described
    found = client.sql("show table extended in analytics like '*'")["tableName"].to_pylist()
    assert sorted(found) == ["customers", "names"]
    assert client.sql("show table extended in analytics like 'none'").num_rows == 0
    assert client.sql("select * from customers").num_rows == 2
    assert [database.name for database in spark.catalog.listDatabases()] == ["default"]


def test_a_frame_gets_into_the_branch_by_a_temporary_view(client: Client, spark: Any) -> None:
    frame = spark.createDataFrame([(3, "eve")], "id bigint, name string")
    frame.createOrReplaceTempView("arrived")
    client.sql("insert into customers select * from arrived")
    assert client.sql("select * from customers").num_rows == 3
    client.sql("create table analytics.copy as select * from arrived")
    assert client.sql("select * from copy").num_rows == 1
    spark.catalog.dropTempView("arrived")
    with pytest.raises(VcsError, match="arrived"):
        client.sql("select * from arrived")


def test_a_temporary_view_over_the_branch_is_read_through_the_connection(
    client: Client, spark: Any
) -> None:
    client.sql("create temporary view mine as select * from customers")
    assert client.sql("select * from mine").num_rows == 2
    client.sql("insert into customers values (3, 'eve')")
    assert client.sql("select * from mine").num_rows == 3
    # A DataFrame has the versions that the last statement with the view read.
    assert spark.table("mine").count() == 3
    spark.sql("create or replace temporary view mine as select 5 a")
    client.sql("insert into customers values (4, 'joe')")
    assert client.sql("select * from mine").to_pylist() == [{"a": 5}]


def test_a_function_of_the_branch_is_called_through_the_connection(
    client: Client, spark: Any
) -> None:
    client.sql("create function analytics.twice (x int) returns int return x * 2")
    client.sql("create view analytics.doubled as select analytics.twice(id::int) d from customers")
    assert client.sql("select analytics.twice(2) a, max(d) b from doubled").to_pylist() == [
        {"a": 4, "b": 4}
    ]
    with pytest.raises(Exception, match="UNRESOLVED_ROUTINE"):
        spark.sql("select analytics.twice(2)")
    assert client.sql("select analytics.twice(3) a").to_pylist() == [{"a": 6}]


CACHES: dict[str, list[str]] = {
    "a query": ["cache table ct as select * from {t}", "uncache table ct"],
    "a query, lazy": ["cache lazy table ct as select * from {t}", "clear cache"],
    "a table": ["cache table {t}", "uncache table {t}"],
    "a table, lazy": ["cache lazy table {t}", "clear cache"],
    "nothing": ["uncache table if exists nope", "clear cache"],
}


@pytest.mark.parametrize("what", CACHES)
@pytest.mark.parametrize("own", [True, False])
def test_a_cached_table_reads_as_plain_sparks_and_is_never_old(
    client: Client, spark: Any, bench: Bench, tmp_path: Path, what: str, own: bool
) -> None:
    plain = private_root(
        bench.session.spark.sparkContext, {"spark.sql.warehouse.dir": str(tmp_path / "plain")}
    )
    plain.sql("create table t as select * from values (1, 'ann'), (2, 'bob') as v(id, name)")
    first, last = CACHES[what]
    reads = ["t", "ct"] if "ct" in first else ["t"]
    repository = str(tmp_path / "warehouse")
    with connect(repository) if not own else contextlib.nullcontext(client) as ours:
        for step in (first, "insert into {t} values (3, 'eve')", last):
            ours.sql(step.format(t="customers"))
            plain.sql(step.format(t="t"))
            for read in reads:
                name = "customers" if read == "t" else read
                found = ours.sql(f"select * from {name} order by id")
                expected = plain.sql(f"select * from {read} order by id").collect()
                assert found.to_pylist() == [row.asDict() for row in expected], (step, read)


def test_the_session_is_given_back_as_it_was(spark: Any, tmp_path: Path) -> None:
    spark.sql("create database mine")
    spark.range(3).write.saveAsTable("mine.kept")
    with connect(str(tmp_path / "w"), create=True, spark=spark, schema="mine") as client:
        client.sql("create schema mine")
        client.sql("create table t as select 1 a")
        client.sql("select * from t")
        assert spark.table("mine.kept").count() == 3
    assert [table.name for table in spark.catalog.listTables("mine")] == ["kept"]
    spark.range(4).write.mode("overwrite").saveAsTable("mine.kept")
    spark.range(2).write.saveAsTable("mine.more")
    assert spark.table("mine.kept").count() == 4


def test_two_connections_to_one_branch_share_a_session(
    client: Client, spark: Any, tmp_path: Path
) -> None:
    with connect(str(tmp_path / "warehouse"), spark=spark) as other:
        client.sql("insert into customers values (3, 'eve')")
        assert other.sql("select * from customers").num_rows == 3
        other.sql("drop table customers")
        with pytest.raises(VcsError, match="customers"):
            client.sql("select * from customers")
        client.sql("undrop table customers")
        assert other.sql("select * from customers").num_rows == 3
