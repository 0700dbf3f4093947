"""`create table` in its forms, clones, views, `drop` and `truncate`."""

from typing import Any

import pytest

from dbt.adapters.vcs.sql.create_table import CreateTable
from dbt.adapters.vcs.sql.syntax.parser import CreateTemporaryView, parse
from tests.unit.statements.statement_shapes import column, of, parsed

DBT_TABLE = """/* {"app": "dbt", "dbt_version": "1.11.16", "node_id": "model.shop.orders"} */



        create or replace table analytics.orders


    using parquet

      options (
      compression "zstd" , batch "10"
    )

    tblproperties (
      'team' = 'finance' , 'primary_key' = 'id, `day`'
    )

    partitioned by (day,region)


      comment 'What\\'s sold'


      as


with src as (
    -- every order; even void ones
    select * from raw.orders
)

select * from src
"""

TABLES: dict[str, tuple[str, Any]] = {
    "ctas": (
        "create table s.t as select 1 as a",
        of("CreateTable", target="s.t", query="select 1 as a"),
    ),
    "ctas without as": (
        "create table t select 1 as a",
        of("CreateTable", target="t", query="select 1 as a"),
    ),
    "ctas in parentheses": (
        "create table t (select 1 as a)",
        of("CreateTable", target="t", query="(select 1 as a)"),
    ),
    "ctas with a union in parentheses": (
        "create table t as (select 1) union (select 2);",
        of("CreateTable", target="t", query="(select 1) union (select 2)"),
    ),
    "ctas with table": (
        "create table t as table s.u",
        of("CreateTable", target="t", query="table s.u"),
    ),
    "ctas with values": (
        "create table t as values (1, 2)",
        of("CreateTable", target="t", query="values (1, 2)"),
    ),
    "dbt's own": (
        DBT_TABLE,
        of(
            "CreateTable",
            target="analytics.orders",
            query="with src as (\n    -- every order; even void ones\n"
            "    select * from raw.orders\n)\n\nselect * from src",
            replace=True,
            provider="parquet",
            partition_by=("day", "region"),
            primary_key=("id", "day"),
            comment="What's sold",
            properties={"team": "finance", "primary_key": "id, `day`"},
            options={"compression": "zstd", "batch": "10"},
        ),
    ),
    "if not exists": (
        "create table if not exists t using parquet as select 1",
        of("CreateTable", target="t", query="select 1", if_not_exists=True, provider="parquet"),
    ),
    "dbt's seed": (
        "create table s.countries (`code` string,`people` bigint, area double)\n"
        "    using parquet\n    partitioned by (code)\n",
        of(
            "CreateTable",
            target="s.countries",
            columns=(
                column("code", "string"),
                column("people", "bigint"),
                column("area", "double"),
            ),
            provider="parquet",
            partition_by=("code",),
        ),
    ),
    "column options": (
        "create table t (a int not null comment 'x' default 1 + f(2, 3), b string default 'n/a')",
        of(
            "CreateTable",
            target="t",
            columns=(
                column("a", "int", nullable=False, comment="x", default="1 + f(2, 3)"),
                column("b", "string", default="'n/a'"),
            ),
        ),
    ),
    "default before not null": (
        "create table t (a int default 3 not null, b boolean default c is not null comment 'b')",
        of(
            "CreateTable",
            target="t",
            columns=(
                column("a", "int", nullable=False, default="3"),
                column("b", "boolean", comment="b", default="c is not null"),
            ),
        ),
    ),
    "typed partition columns come last": (
        "create table t (a int) partitioned by (p date comment 'day', q int not null)",
        of(
            "CreateTable",
            target="t",
            columns=(
                column("a", "int"),
                column("p", "date", comment="day"),
                column("q", "int", nullable=False),
            ),
            partition_by=("p", "q"),
        ),
    ),
    "primary key constraint": (
        "create table t (a int, b int, constraint pk primary key (a, `b`) not enforced rely)",
        of(
            "CreateTable",
            target="t",
            columns=(column("a", "int"), column("b", "int")),
            primary_key=("a", "b"),
        ),
    ),
    "primary key of a column": (
        "create table t (a int constraint pk primary key not enforced, b int)",
        of(
            "CreateTable",
            target="t",
            columns=(column("a", "int"), column("b", "int")),
            primary_key=("a",),
        ),
    ),
    "constraint beats property": (
        "create table t (a int, b int, primary key (b)) tblproperties ('primary_key' = 'a')",
        of(
            "CreateTable",
            target="t",
            columns=(column("a", "int"), column("b", "int")),
            primary_key=("b",),
            properties={"primary_key": "a"},
        ),
    ),
    "columns named like keywords": (
        "create table t (`primary` int, constraint string, unique int, values int, table string)",
        of(
            "CreateTable",
            target="t",
            columns=(
                column("primary", "int"),
                column("constraint", "string"),
                column("unique", "int"),
                column("values", "int"),
                column("table", "string"),
            ),
        ),
    ),
    "first column named values": (
        "create table t (values int)",
        of("CreateTable", target="t", columns=(column("values", "int"),)),
    ),
    "first column named from": (
        "create table t (from int, `to` date not null, select string)",
        of(
            "CreateTable",
            target="t",
            columns=(
                column("from", "int"),
                column("to", "date", nullable=False),
                column("select", "string"),
            ),
        ),
    ),
    "queries in parentheses that begin as a column does": (
        "create table t (from date, int select 1 as a)",
        of("CreateTable", target="t", query="(from date, int select 1 as a)"),
    ),
    "query in parentheses of a column named like a type": (
        "create table t (select date from s.u)",
        of("CreateTable", target="t", query="(select date from s.u)"),
    ),
    "stored as, location, cluster by": (
        "create external table t (a int, b int) stored as PARQUET location '/x' cluster by (b, a)",
        of(
            "CreateTable",
            target="t",
            columns=(column("a", "int"), column("b", "int")),
            provider="parquet",
            cluster_by=("b", "a"),
            location="/x",
        ),
    ),
    "properties in every spelling": (
        "create table t (a int) "
        "tblproperties (a.b = 'x', 'c' 'd', e = 1.5, f true, 'g' = 'h' 'i')",
        of(
            "CreateTable",
            target="t",
            columns=(column("a", "int"),),
            properties={"a.b": "x", "c": "d", "e": "1.5", "f": "true", "g": "hi"},
        ),
    ),
    "spark's own catalog": (
        "create table spark_catalog.s.t (a int)",
        of("CreateTable", target="s.t", columns=(column("a", "int"),)),
    ),
    "identifier clause": (
        "create table identifier('s.`t`') (a int)",
        of("CreateTable", target="s.t", columns=(column("a", "int"),)),
    ),
    "like": (
        "create table if not exists t like s.u using parquet tblproperties ('a' = 'b') "
        "comment 'c'",
        of(
            "CreateTableLike",
            source="s.u",
            table=of(
                "CreateTable",
                target="t",
                if_not_exists=True,
                provider="parquet",
                comment="c",
                properties={"a": "b"},
            ),
        ),
    ),
    "clone": (
        "create or replace table a.t shallow clone b.t",
        of("Clone", target="a.t", source="b.t", replace=True),
    ),
    "clone as of a version": (
        "create table t deep clone u version as of 'v1'",
        of("Clone", target="t", source="u", at=of("At", kind="version", value="v1")),
    ),
    "clone as of a time": (
        "create table if not exists t clone u timestamp as of '2026-01-01'",
        of(
            "Clone",
            target="t",
            source="u",
            if_not_exists=True,
            at=of("At", kind="timestamp", value="2026-01-01"),
        ),
    ),
    "clone from a snapshot": (
        "create table c from snapshot s.t{snapshot = 'sn1'}",
        of("Clone", target="c", source="s.t", at=of("At", kind="version", value="sn1")),
    ),
    "drop table": (
        "drop table if exists s.t",
        of("DropRelation", kind="table", target="s.t", if_exists=True),
    ),
    "drop table purge": ("drop table t purge", of("DropRelation", kind="table", target="t")),
    "drop view": (
        "drop view if exists `s`.`t__dbt_tmp`",
        of("DropRelation", kind="view", target="s.t__dbt_tmp", if_exists=True),
    ),
    "truncate": ("truncate table s.t", of("Truncate", target="s.t")),
    "truncate a partition": (
        "truncate table t partition (p = date '2026-01-01', q)",
        of(
            "Truncate",
            target="t",
            partition=(
                of("PartitionSpec", name="p", value_sql="date '2026-01-01'"),
                of("PartitionSpec", name="q"),
            ),
        ),
    ),
    "view": (
        "create or replace view s.v\n  \n  as\n    select * from t -- all of it\n",
        of("CreateView", target="s.v", query="select * from t", replace=True),
    ),
    "view with documented columns": (
        "create or replace view v ( `id` comment 'it\\'s the key', `n` ) comment 'c' "
        "tblproperties ('a' = 'b') as select id, n from t",
        of(
            "CreateView",
            target="v",
            query="select id, n from t",
            columns=(
                ("id", "it's the key"),
                ("n", None),
            ),
            replace=True,
            comment="c",
            properties={"a": "b"},
        ),
    ),
    "view if not exists with a binding": (
        "create view if not exists v (a) with schema type evolution as with q as (select 1) "
        "select * from q",
        of(
            "CreateView",
            target="v",
            query="with q as (select 1) select * from q",
            columns=(("a", None),),
            if_not_exists=True,
        ),
    ),
    "alter view as": (
        "alter view s.v as select 2",
        of("AlterViewAs", target="s.v", query="select 2"),
    ),
    "temporary view": (
        "create or replace temporary view t__dbt_tmp as\n select * from s.t",
        of(
            "CreateTemporaryView",
            target="t__dbt_tmp",
            query="select * from s.t",
            replace=True,
            global_=False,
        ),
    ),
    "global temp view": (
        "create global temp view v (a comment 'x') comment 'as' as select 1",
        of("CreateTemporaryView", target="v", query="select 1", replace=False, global_=True),
    ),
    "temporary view over files": (
        "create temporary view v (a int) using csv options (path '/x')",
        of("CreateTemporaryView", target="v", query=None, replace=False, global_=False),
    ),
}


@pytest.mark.parametrize("case", TABLES)
def test_what_a_statement_about_relations_means(case: str) -> None:
    text, expected = TABLES[case]
    assert parsed(text) == expected


def test_a_target_is_found_by_position() -> None:
    text = "-- s.t\ncreate table spark_catalog . s\n.`t` (a int)"
    statement = parse(text)
    assert isinstance(statement, CreateTable)
    assert text[statement.target.start : statement.target.end] == "spark_catalog . s\n.`t`"


def test_reads_of_a_ctas_count_from_its_query() -> None:
    statement = parse(DBT_TABLE)
    assert isinstance(statement, CreateTable)
    assert statement.query is not None
    (read,) = statement.query.reads
    assert statement.query.text[read.start : read.end] == "raw.orders"


def test_a_temporary_view_takes_another_query() -> None:
    statement = parse("create temporary view v /* q */ as select * from a.t;")
    assert isinstance(statement, CreateTemporaryView)
    assert statement.query is not None
    query = statement.query.rewritten({statement.query.reads[0]: "x.y"})
    assert statement.rewritten(query) == (
        "create temporary view v /* q */ as select * from x.y as `t`"
    )
