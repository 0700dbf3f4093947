"""What a caller does past a connection, on the SparkSession that it was given.

Whatever writes there is refused, and nothing that is read there is old.
"""

import contextlib
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from dbt.adapters.vcs.api import Client, connect
from dbt.adapters.vcs.core.errors import InputError, VcsError
from dbt.adapters.vcs.engines.spark.context import private_root

from .bench import Bench

pytestmark = pytest.mark.spark

CUSTOMERS = [(1, "ann"), (2, "bob")]


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


REFUSED = re.compile(
    r"client\.sql|already exists|cannot be found|REPLACE TABLE|Cannot write into v1 table"
)

WRITES: dict[str, Callable[[Any, str], Any]] = {
    "save, append": lambda df, name: df.write.mode("append").saveAsTable(name),
    "save, overwrite": lambda df, name: df.write.mode("overwrite").saveAsTable(name),
    "save, error": lambda df, name: df.write.mode("error").saveAsTable(name),
    "save as json": lambda df, name: df.write.format("json").saveAsTable(name),
    "save, partitioned": lambda df, name: df.write.partitionBy("id").saveAsTable(name),
    "insert into": lambda df, name: df.write.insertInto(name),
    "insert overwrite": lambda df, name: df.write.insertInto(name, overwrite=True),
    "append": lambda df, name: df.writeTo(name).append(),
    "create": lambda df, name: df.writeTo(name).using("parquet").create(),
    "replace": lambda df, name: df.writeTo(name).using("parquet").createOrReplace(),
    "overwrite partitions": lambda df, name: df.writeTo(name).overwritePartitions(),
    "catalog": lambda df, name: df.sparkSession.catalog.createTable(name, schema=df.schema),
    "create table as": lambda df, name: df.sparkSession.sql(
        f"create table {name} using parquet as select 1 id"
    ),
    "insert": lambda df, name: df.sparkSession.sql(f"insert into {name} values (3, 'eve')"),
    "truncate": lambda df, name: df.sparkSession.sql(f"truncate table {name}"),
    "drop": lambda df, name: df.sparkSession.sql(f"drop table {name}"),
    "drop schema": lambda df, name: df.sparkSession.sql("drop schema analytics cascade"),
    "of another session": lambda df, name: df.sparkSession.newSession().sql(
        f"create or replace table {name} using parquet as select 1 id"
    ),
}


@pytest.mark.parametrize("name", ["analytics.customers", "analytics.new", "customers", "new"])
def test_rows_written_past_the_connection_are_refused(
    client: Client, spark: Any, name: str
) -> None:
    frame = spark.createDataFrame([(3, "eve")], "id bigint, name string")
    went = [door for door, write in WRITES.items() if not _is_refused(write, frame, name)]
    assert went == []
    assert client.sql("select * from customers order by id").to_pylist() == [
        {"id": id, "name": name} for id, name in CUSTOMERS
    ]
    assert "new" not in client.sql("show tables in analytics")["tableName"].to_pylist()
    assert not spark.catalog.tableExists("analytics.new")


def _is_refused(write: Callable[[Any, str], Any], frame: Any, name: str) -> bool:
    try:
        write(frame, name)
    except Exception as error:
        return bool(REFUSED.search(str(error)))
    return False


READS: dict[str, Callable[[Any], Any]] = {
    "table": lambda spark: spark.table("analytics.customers").collect(),
    "read": lambda spark: spark.read.table("customers").collect(),
    "sql": lambda spark: spark.sql("select count(*) from analytics.customers").collect(),
    "view": lambda spark: spark.table("analytics.names").collect(),
    "count of a view": lambda spark: spark.table("analytics.names").count(),
    "cache": lambda spark: spark.catalog.cacheTable("analytics.customers"),
    "other session": lambda spark: spark.newSession().table("analytics.customers").collect(),
}


@pytest.mark.parametrize("used", [False, True])
def test_rows_read_past_the_connection_are_refused_with_the_way_round(
    client: Client, spark: Any, used: bool
) -> None:
    for read in READS.values():
        if used:
            client.sql("select * from analytics.customers join analytics.names using (name)")
        with pytest.raises(Exception, match=r"analytics\.(customers|names) .*client\.sql"):
            read(spark)


def test_the_sessions_catalog_lists_what_the_branch_has(client: Client, spark: Any) -> None:
    def listed() -> dict[str, str]:
        return {table.name: table.tableType for table in spark.catalog.listTables("analytics")}

    assert listed() == {"customers": "MANAGED", "names": "VIEW"}
    columns = spark.catalog.listColumns("analytics.customers")
    assert [(c.name, c.dataType, c.description) for c in columns] == [
        ("id", "bigint", "its id"),
        ("name", "string", None),
    ]
    client.sql("create table more as select 1 a")
    client.sql("alter table customers add columns (age int)")
    client.sql("drop view names")
    client.sql("create schema marts")
    assert listed() == {"customers": "MANAGED", "more": "MANAGED"}
    assert len(spark.catalog.listColumns("analytics.customers")) == 3
    assert spark.catalog.databaseExists("marts")


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
    with pytest.raises(Exception, match=r"client\.sql"):
        spark.table("mine").collect()


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
    if own and "ct" in reads:
        with pytest.raises(Exception, match=r"client\.sql"):
            spark.table("ct").collect()


MADE = {
    "view": lambda spark, path: spark.sql("create view analytics.new as select 1 a"),
    "table": lambda spark, path: (
        spark.range(3).write.option("path", path).saveAsTable("analytics.new")
    ),
}


@pytest.mark.parametrize("kind", MADE)
def test_what_is_made_past_the_connection_is_named_at_its_next_statement(
    client: Client, spark: Any, tmp_path: Path, kind: str
) -> None:
    MADE[kind](spark, str(tmp_path / "made"))
    way = re.escape(f'analytics.new. Drop it there, spark.sql("drop {kind} `analytics`.`new`")')
    for statement in ("select * from analytics.new", "select 1", "create table new as select 1 a"):
        with pytest.raises(InputError, match=way):
            client.sql(statement)
    spark.sql(f"drop {kind} analytics.new")
    client.sql("create table new as select 1 a")
    assert client.sql("select * from new").to_pylist() == [{"a": 1}]


def test_what_is_made_past_the_connection_is_named_when_it_is_closed(
    spark: Any, tmp_path: Path
) -> None:
    spark.sql("create database mine")
    spark.sql("create view mine.before as select 1 a")
    with connect(str(tmp_path / "w"), create=True, spark=spark) as client:
        client.sql("create schema mine")
        client.sql("create table mine.t as select 1 a")
        spark.sql("create view mine.later as select 1 a")
        with pytest.warns(UserWarning, match=r"not on any branch: mine\.later\. Drop"):
            client.close()
    assert {table.name for table in spark.catalog.listTables("mine")} == {"before", "later"}


def test_a_table_of_the_branch_that_was_altered_past_the_connection_is_not_read(
    client: Client, spark: Any, tmp_path: Path
) -> None:
    spark.sql(f"alter table analytics.customers set location '{tmp_path / 'elsewhere'}'")
    for statement in ("select * from customers", "select * from names"):
        with pytest.raises(InputError, match=r"The branch has analytics\.customers, and so has"):
            client.sql(statement)
    spark.sql("drop table analytics.customers")
    assert client.sql("select * from customers").num_rows == 2


def test_a_view_of_the_sessions_owner_is_not_replaced(spark: Any, tmp_path: Path) -> None:
    spark.sql("create database mine")
    spark.sql("create view mine.t as select 'kept' a")
    with connect(str(tmp_path / "w"), create=True, spark=spark, schema="mine") as client:
        client.sql("create schema mine")
        client.sql("create table t as select 1 a")
        with pytest.raises(InputError, match=r"The branch has mine\.t, and so has"):
            client.sql("select * from t")
    assert [row.a for row in spark.table("mine.t").collect()] == ["kept"]


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
