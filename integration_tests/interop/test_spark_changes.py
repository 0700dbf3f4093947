"""Spark with Iceberg changes tables through the catalog, and this package sees it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from dbt.adapters.vcs.api import Client
from tests.property.test_iceberg_laws import rows_of
from tests.unit.iceberg.lake import Lake
from tests.unit.serve.server_process import serving

from .iceberg_spark import IcebergSpark, SparkError, served


@pytest.fixture(scope="module")
def spark(shop: Lake) -> Iterator[IcebergSpark]:
    """Spark with Iceberg, with a catalog of each branch."""
    with serving(Path(shop.blobs.uri)) as server:
        catalogs = {name: served(server.url, name) for name in ("main", "dev")}
        with IcebergSpark(catalogs) as session:
            yield session


def test_a_table_that_it_creates_and_alters(dev: Client, spark: IcebergSpark, shop: Lake) -> None:
    main = shop.repository.branch("main").head
    spark.sql(
        "create table dev.s.orders (id bigint not null, name string comment 'whose',"
        " price decimal(9, 2), day date) using iceberg partitioned by (day)"
    )
    dev.sql("insert into orders (id, name, price, day) values (1, 'a', 2.5, date'2026-11-20')")
    spark.sql("alter table dev.s.orders add column more array<int>")
    spark.sql("alter table dev.s.orders rename column name to title")
    spark.sql("alter table dev.s.orders drop column price")
    spark.sql("alter table dev.s.orders alter column id type bigint")
    dev.sql("insert into orders (id, title, day, more) values (2, 'b', null, array(1, null))")
    rows = rows_of(dev.sql("select id, title, day, more from orders"))
    assert sum(rows.values()) == 2
    assert rows_of(spark.sql("select id, title, day, more from dev.s.orders")) == rows
    assert shop.repository.branch("main").head == main


def test_a_table_that_it_renames_and_drops(dev: Client, spark: IcebergSpark) -> None:
    dev.sql("create table old as select 1 as id")
    spark.sql("alter table dev.s.old rename to s.new")
    assert dev.table("new").count() == 1
    spark.sql("drop table dev.s.new")
    shown = spark.sql("show tables in dev.s").column("tableName").to_pylist()
    assert "old" not in shown and "new" not in shown


def test_two_clients_that_alter_a_table_at_once(dev: Client, spark: IcebergSpark) -> None:
    dev.sql("create table raced as select 1 as id")
    columns = [f"c{number}" for number in range(4)]
    answers = spark.at_once(
        *(f"alter table dev.s.raced add column {name} int" for name in columns)
    )
    won = {
        c for c, found in zip(columns, answers, strict=True) if not isinstance(found, SparkError)
    }
    assert won
    there = set(dev.table("raced").schema.names) - {"id"}
    assert there == won


def test_a_view_that_it_creates_replaces_and_drops(dev: Client, spark: IcebergSpark) -> None:
    dev.sql("create table sold as select id, id * 2 as price from range(4)")
    spark.sql("use dev.s")
    spark.sql("create view dear (id, euros comment 'paid') as select * from sold where price > 2")
    for shown in ("select * from dev.s.dear", "select id, euros from dear"):
        assert rows_of(spark.sql(shown)) == Counter({(2, 4): 1, (3, 6): 1})
    assert rows_of(dev.sql("select euros, id from dear")) == Counter({(4, 2): 1, (6, 3): 1})
    spark.sql("create or replace view dear as select id from s.sold where price > 4")
    spark.sql("alter view dear set tblproperties ('team' = 'sales')")
    assert rows_of(dev.sql("select * from dear")) == Counter({(3,): 1})
    assert rows_of(spark.sql("select * from dear")) == Counter({(3,): 1})
    spark.sql("drop view dear")
    assert "dear" not in spark.sql("show views in dev.s").column("viewName").to_pylist()
