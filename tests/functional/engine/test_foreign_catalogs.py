"""A SparkSession with a catalog that dbt-vcs could not have: Hive's, and another plug-in's.

Each is a process of its own, since one Spark has one kind of catalog.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.spark

SCRIPT = """
import sys
from pyspark.sql import SparkSession
from dbt.adapters.vcs.api import connect

kind, folder = sys.argv[1:]
builder = (
    SparkSession.builder.master("local[1]")
    .config("spark.ui.enabled", "false")
    .config("spark.sql.warehouse.dir", f"{folder}/wh")
    .config("spark.driver.extraJavaOptions", f"-Dderby.system.home={folder}/derby")
)
if kind == "hive":
    builder = builder.enableHiveSupport().config(
        "spark.hadoop.javax.jdo.option.ConnectionURL",
        f"jdbc:derby:;databaseName={folder}/metastore;create=true",
    )
else:
    plugin = "spark.sql.catalog.spark_catalog"
    name = "org.apache.spark.sql.execution.datasources.v2.jdbc.JDBCTableCatalog"
    builder = (
        builder.config(plugin, name)
        .config(f"{plugin}.url", f"jdbc:derby:{folder}/other;create=true")
        .config(f"{plugin}.driver", "org.apache.derby.jdbc.EmbeddedDriver")
    )
spark = builder.getOrCreate()
if kind == "hive":
    spark.sql("create database analytics")
    spark.sql("create table analytics.orders using parquet as select 99 id, 'hive' name")
else:
    spark.sql("create namespace analytics")
before = [tuple(row) for row in spark.sql("show schemas").collect()]
client = connect(f"{folder}/repository", create=True, spark=spark)
client.sql("create schema analytics")
client.sql("create table orders (id bigint default 40 + 2, name string, day date)"
           " partitioned by (day)")
client.sql("insert into orders (name, day) values ('ann', date'2026-11-27')")
client.sql("insert into orders partition (day = '2026-11-28') select 2, 'bob'")
client.sql("delete from orders where id = 42")
client.sql("insert into orders values (cast(3 as int), 'eve', null)")
client.sql("create view named as select name from orders")
client.sql("create function twice (x bigint) returns bigint return x * 2")
found = client.sql("select analytics.twice(id) a, name from orders join named using (name)")
assert sorted(map(tuple, (row.values() for row in found.to_pylist()))) == [(4, "bob"), (6, "eve")]
spark.range(3).createOrReplaceTempView("mine")
assert client.sql("select count(*) n from mine").to_pylist() == [{"n": 3}]
with client.create("side") as side:
    side.sql("update orders set name = 'zoe' where id = 3")
    assert side.sql("select name from orders where id = 3").to_pylist() == [{"name": "zoe"}]
    assert client.sql("select name from orders where id = 3").to_pylist() == [{"name": "eve"}]
client.merge("side")
assert client.sql("select name from orders where id = 3").to_pylist() == [{"name": "zoe"}]
try:
    client.sql("select * from analytics.missing")
    raise SystemExit("a table that the branch lacks was read")
except Exception as error:
    assert "analytics.missing" in str(error), error
if kind == "hive":
    spark.sql("create table analytics.missing using parquet as select 1 a")
    try:
        client.sql("select * from analytics.missing")
        raise SystemExit("Hive's table was read as the branch's")
    except Exception as error:
        assert "analytics.missing" in str(error), error
    spark.sql("drop table analytics.missing")
    # Rows of the session's own catalog get into the branch by a temporary view.
    spark.table("analytics.orders").createOrReplaceTempView("old")
    client.sql("insert into orders (id, name) select id, name from old")
    assert client.sql("select count(*) n from orders").to_pylist() == [{"n": 3}]
    stored = client.sql("show create table orders").to_pylist()[0]["createtab_stmt"]
    assert "id BIGINT DEFAULT" in stored, stored
    # A connection without a session has a catalog of its own, in memory.
    with connect(f"{folder}/own", create=True) as own:
        own.sql("create schema analytics")
        own.sql("create table orders (id bigint) using parquet")
        own.sql("insert into orders values (7)")
        own.sql("create view named as select id from orders")
        assert own.sql("select * from named join orders using (id)").to_pylist() == [{"id": 7}]
        assert "BIGINT" in str(own.sql("show create table orders").to_pylist())
    assert spark.table("analytics.orders").collect() == [(99, "hive")]
assert [tuple(row) for row in spark.sql("show schemas").collect()] == before
client.close()
left = spark._jsparkSession.sessionState().catalog().getTempViewNames().mkString(" ")
assert sorted(left.split()) == (["mine", "old"] if kind == "hive" else ["mine"]), left
spark.stop()
print("as expected")
"""


@pytest.mark.parametrize("kind", ["hive", "plug-in"])
def test_a_session_with_any_catalog_is_used(kind: str, tmp_path: Path) -> None:
    # Hive's client writes a log, and Derby one, where they are started.
    settings = {"PYSPARK_PYTHON": sys.executable, **os.environ}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, kind, str(tmp_path)],
        cwd=tmp_path,
        env={k: v for k, v in settings.items() if k != "PYSPARK_SUBMIT_ARGS"},
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.stdout.strip().endswith("as expected"), done.stdout[-2_000:] + done.stderr[-4_000:]
