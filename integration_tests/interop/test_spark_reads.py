"""Spark with Iceberg reads every table of a repository as this package does."""

from __future__ import annotations

import re
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

from dbt.adapters.vcs.api import Client
from dbt.adapters.vcs.core.model import RelationName
from dbt.adapters.vcs.iceberg.metadata_files import place_of
from dbt.adapters.vcs.iceberg.table_metadata import table_metadata
from tests.functional.rows.test_open_tables import PARTS, VALUES
from tests.property.test_iceberg_laws import rows_of
from tests.unit.iceberg.lake import Lake

from .iceberg_spark import IcebergSpark, SparkError

PAGES = Path(__file__).parents[2] / "docs" / "clients"

# Each table, and the statements that make it.
MADE: dict[str, tuple[str, ...]] = {
    "every_type": (f"create table every_type as {VALUES}",),
    "parted": (
        f"create table parted partitioned by (k, at, d, c, n) as {PARTS}",
        "insert into parted select id + 100, null, at, null, c, n from parted",
    ),
    "deleted": (
        "create table deleted partitioned by (part)"
        " as select id, id % 7 as part, concat('v', id) as v from range(20000)",
        "delete from deleted where id % 50 = 3",
        "update deleted set v = 'changed' where id between 1000 and 1500",
        "delete from deleted where part = 4",
    ),
    "merged": (
        "create table merged (id bigint, v string) tblproperties ('primary_key' = 'id')",
        "insert into merged select id, concat('v', id) from range(5000)",
        "merge into merged using (select id * 3 as id from range(2000)) as new"
        " on merged.id = new.id when matched and new.id % 2 = 0 then delete"
        " when matched then update set v = 'M' when not matched then insert (id, v)"
        " values (new.id, 'N')",
    ),
    "moved": (
        "create table moved as select 1 as id, 'a' as v, cast(1.5 as float) as f,"
        " cast(1 as decimal(9, 2)) as d, named_struct('x', 1, 'y', 'z') as s",
        "alter table moved rename column v to w",
        "alter table moved alter column id type bigint",
        "alter table moved alter column f type double",
        "alter table moved alter column d type decimal(20, 2)",
        "alter table moved add columns (v array<int> comment 'some', gone int, nix int)",
        "insert into moved values (5000000000, 'b', 2.5, 3, named_struct('x', 2, 'y', 'q'),"
        " array(1), 8, 9)",
        "alter table moved drop columns (gone)",
        "alter table moved rename column nix to gone",
    ),
    "cloned": (
        "create table cloned shallow clone deleted",
        "delete from cloned where id < 700",
        "insert into cloned values (-1, 'new', 4)",
    ),
    "nothing": ("create table nothing (id bigint, `a b` string) partitioned by (`a b`)",),
    "new_spec": (
        "create table new_spec (id bigint, kind string, day date) partitioned by (day)",
        "insert into new_spec values (1, 'a/b', date'2026-11-20'), (2, null, null)",
    ),
}


@pytest.fixture(scope="session", autouse=True)
def tables(main: Client, lake: Lake) -> None:
    """All tables, a branch and a tag, of which `main` is ahead."""
    for statements in MADE.values():
        for statement in statements:
            main.sql(statement)
    fields = lake.snapshot("new_spec").schema.fields
    lake.partition("new_spec", (fields[1].id, fields[2].id))
    main.sql(
        "insert into new_spec (id, kind, day) values (3, 'a/b', date'2026-11-21'), (4, 'c', null)"
    )
    main.sql("delete from new_spec where id in (1, 4)")
    main.sql("create view named as with c as (select * from merged where v = 'M') select * from c")
    head = lake.repository.branch("main").head
    lake.repository.create_branch("feature/tax", head, author="ann")
    lake.repository.create_tag("v1", head, author="ann")
    main.sql("delete from merged where id < 100")


def expected(main: Client, table: str, at: str | None = None) -> Any:
    """The rows of a table as both readers of this package give them."""
    rows = rows_of(main.table(table, at=at).to_arrow())
    if at is None:
        assert rows_of(main.sql(f"select * from {table}")) == rows
    return rows


@pytest.mark.parametrize("table", MADE)
def test_rows_of_each_table(main: Client, spark: IcebergSpark, table: str) -> None:
    found = spark.sql(f"select * from main.s.{table}")
    assert rows_of(found) == expected(main, table)
    assert found.num_rows == main.table(table).count()


@pytest.mark.parametrize("table", MADE)
def test_rows_of_each_table_in_format_version_3(
    main: Client, spark: IcebergSpark, lake: Lake, table: str
) -> None:
    repository = lake.repository
    head, place = repository.branch("main").head, place_of(repository)
    relation = RelationName("s", table)
    shown = table_metadata(repository, head, relation, place=place, format_version=3)
    assert rows_of(spark.read(shown.location)) == expected(main, table)


@pytest.mark.parametrize("table", MADE)
def test_filters_and_aggregates_on_each_column(
    main: Client, spark: IcebergSpark, table: str
) -> None:
    for field in main.table(table).schema:
        name = f"`{field.name}`"
        for query in (
            f"select count(*), count({name}) from {{}}",
            f"select * from {{}} where {name} is null",
            *_comparisons(main, table, field.name, str(field.type)),
        ):
            found = spark.sql(query.format(f"main.s.{table}"))
            assert rows_of(found) == rows_of(main.sql(query.format(table))), query


def _comparisons(main: Client, table: str, column: str, type_: str) -> list[str]:
    if type_.startswith(("map", "list", "struct")):
        return []
    some = f"(select min(`{column}`) from {table})"
    (text,) = main.sql(f"select cast({some} as string) as v").column("v").to_pylist()
    kind = main.sql(f"select typeof({some}) as t").column("t")[0].as_py()
    least = "null" if text is None else f"cast('{text}' as {kind})"
    asked = [f"select * from {{}} where `{column}` {sign} {least}" for sign in ("=", ">", "<=")]
    return [*asked, f"select min(`{column}`), max(`{column}`) from {{}}"]


def test_partition_columns_that_are_not_selected(main: Client, spark: IcebergSpark) -> None:
    query = "select id from {} where k = 'k/1=ü%' and at > timestamp'2026-11-20 12:00:00'"
    assert rows_of(spark.sql(query.format("main.s.parted"))) == rows_of(
        main.sql(query.format("parted"))
    )


@pytest.mark.parametrize(
    ("catalog", "at"),
    [("tax.s", "feature/tax"), ("tag.s", "v1"), ("before.s", "main~1"), ("main.s", "main")],
)
def test_a_warehouse_is_any_revision(
    main: Client, spark: IcebergSpark, catalog: str, at: str
) -> None:
    found = spark.sql(f"select * from {catalog}.merged")
    assert rows_of(found) == expected(main, "merged", at)


def test_branches_are_namespaces_of_one_catalog(main: Client, spark: IcebergSpark) -> None:
    found = spark.sql("show namespaces in every").column(0).to_pylist()
    assert found == ["`feature/tax`", "main"]
    shown = spark.sql("show tables in every.`feature/tax`.s").column("tableName").to_pylist()
    assert sorted(shown) == sorted(MADE)
    joined = spark.sql(
        "select count(*) from every.`feature/tax`.s.merged as a"
        " left anti join every.main.s.merged as b on a.id = b.id"
    )
    old = main.table("merged", at="feature/tax").count()
    assert joined.column(0).to_pylist() == [old - main.table("merged").count()]


def test_time_travel_by_snapshot_and_time(main: Client, spark: IcebergSpark) -> None:
    history = spark.sql(
        "select snapshot_id, committed_at, summary['vcs.commit'] as at"
        " from main.s.merged.snapshots order by committed_at"
    ).to_pylist()
    assert len(history) == 4
    for shown in history:
        rows = expected(main, "merged", shown["at"])
        version, time = shown["snapshot_id"], shown["committed_at"].isoformat(sep=" ")
        for asked in (f"version as of {version}", f"timestamp as of '{time}'"):
            assert rows_of(spark.sql(f"select * from main.s.merged {asked}")) == rows, asked


def test_views(main: Client, spark: IcebergSpark) -> None:
    assert rows_of(spark.sql("select * from main.s.named")) == rows_of(
        main.sql("select * from named")
    )
    assert spark.sql("show views in main.s").column("viewName").to_pylist() == ["named"]


def test_comments_and_identifier_fields(main: Client, spark: IcebergSpark) -> None:
    described = spark.sql("describe main.s.moved").to_pylist()
    assert {row["comment"] for row in described if row["col_name"] == "v"} == {"some"}
    main.sql(
        "create table keyed (id bigint not null, primary key (id)) "
        "tblproperties ('vcs.identifier_fields' = 'true')"
    )
    shown = spark.sql("show tblproperties main.s.keyed").to_pylist()
    assert {"key": "identifier-fields", "value": "[id]"} in shown
    main.sql("drop table keyed")


def test_what_can_not_go_over_is_named(main: Client, spark: IcebergSpark) -> None:
    main.sql("create table spans (id bigint, length interval day to second)")
    with pytest.raises(SparkError, match="length"):
        spark.sql("select * from main.s.spans")
    main.sql("drop table spans")


def test_the_statements_of_the_guide(main: Client, spark: IcebergSpark) -> None:
    main.sql("create schema analytics")
    main.sql("create table analytics.orders as select id from range(3)")
    main.sql("create view analytics.large_orders as select * from analytics.orders where id > 1")
    head = main.repository.branch("main").head
    main.repository.create_branch("feature/page", head, author="ann")
    page = (PAGES / "spark.md").read_text()
    blocks = re.findall(r"^```sql\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    assert len(blocks) == 6
    now = datetime.now(timezone.utc).isoformat(sep=" ")
    statements = re.sub(r" --.*", "", "".join(blocks)).split(";")
    assert statements.pop().strip() == ""
    for statement in statements:
        text = statement.strip().replace("vcs.analytics", "main.analytics")
        text = text.replace("feature/tax", "feature/page").replace("2026-11-20 12:00:00", now)
        found = spark.sql(text)
        assert found.num_rows > 0 or not text.startswith("s"), text
