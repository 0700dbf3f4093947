"""Statements about schemas, and those that ask the catalog."""

from typing import Any

import pytest

from dbt.adapters.vcs.core.errors import InputError, UnsupportedError
from dbt.adapters.vcs.sql.describe import Describe, DescribeSchema
from dbt.adapters.vcs.sql.syntax.parser import SparkCommand, parse
from tests.unit.statements.statement_shapes import of, parsed

CATALOG: dict[str, tuple[str, Any]] = {
    "create schema": (
        "create schema if not exists analytics",
        of("CreateSchema", name="analytics", if_not_exists=True),
    ),
    "create database": (
        "create database `a b` comment 'c' with dbproperties ('x' = 'y')",
        of("CreateSchema", name="a b", comment="c", properties={"x": "y"}),
    ),
    "create namespace in spark's catalog": (
        "create namespace spark_catalog.s",
        of("CreateSchema", name="s"),
    ),
    "drop schema": (
        "drop schema if exists s cascade",
        of("DropSchema", name="s", if_exists=True, cascade=True),
    ),
    "drop database": ("drop database s restrict", of("DropSchema", name="s")),
    "use": ("use s", of("Use", schema="s")),
    "use schema": ("use schema `s`", of("Use", schema="s")),
    "use a schema named so": ("use schema", of("Use", schema="schema")),
    "use with the catalog": ("use spark_catalog.s", of("Use", schema="s")),
    "show schemas": ("show schemas", of("ShowSchemas")),
    "show databases like": ("show databases like 'a*'", of("ShowSchemas", pattern="a*")),
    "show namespaces in": ("show namespaces in spark_catalog", of("ShowSchemas")),
    "show tables": ("show tables", of("ShowTables")),
    "show tables in": (
        "show tables in s like '*'",
        of("ShowTables", schema="s", pattern="*"),
    ),
    "show tables, pattern alone": ("SHOW TABLES 'a|b'", of("ShowTables", pattern="a|b")),
    "show views": (
        "show views from `s` 'v*'",
        of("ShowTables", schema="s", pattern="v*", views_only=True),
    ),
    "show table extended": (
        "show table extended in analytics like '*'",
        of("ShowTableExtended", schema="analytics", pattern="*"),
    ),
    "show table extended here": (
        "show table extended like 't'",
        of("ShowTableExtended", schema=None, pattern="t"),
    ),
    "show columns": ("show columns in s.t", of("ShowColumns", target="s.t")),
    "show columns, schema apart": ("show columns from t from s", of("ShowColumns", target="s.t")),
    "show partitions": (
        "show partitions t partition (p = 1)",
        of(
            "ShowPartitions",
            target="t",
            partition=(of("PartitionSpec", name="p", value_sql="1"),),
        ),
    ),
    "show tblproperties": (
        "SHOW TBLPROPERTIES s.t",
        of("ShowTableProperties", target="s.t"),
    ),
    "show one property": (
        "show tblproperties t ('a.b')",
        of("ShowTableProperties", target="t", key="a.b"),
    ),
    "show one bare property": (
        "show tblproperties t (a.b)",
        of("ShowTableProperties", target="t", key="a.b"),
    ),
    "show create table": ("show create table t as serde", of("ShowCreateTable", target="t")),
    "describe": ("describe s.t", of("Describe", target="s.t")),
    "describe extended": (
        "\n      describe extended s.t\n  ",
        of("Describe", target="s.t", extended=True),
    ),
    "desc formatted": (
        "desc table formatted t",
        of("Describe", target="t", extended=True),
    ),
    "describe a column": ("describe t a.`b`", of("Describe", target="t", column="a.b")),
    "describe as json": (
        "describe extended t as json",
        of("Describe", target="t", extended=True, json=True),
    ),
    "describe a table named table": ("describe table", of("Describe", target="table")),
    "describe a table named extended": ("describe extended", of("Describe", target="extended")),
    "describe a table named query": ("describe query", of("Describe", target="query")),
    "describe in a schema named query": ("describe query.t", of("Describe", target="query.t")),
}


@pytest.mark.parametrize("case", CATALOG)
def test_what_a_statement_about_the_catalog_means(case: str) -> None:
    text, expected = CATALOG[case]
    assert parsed(text) == expected


def test_a_schema_is_described_and_a_table_of_that_name_too() -> None:
    assert parse("describe schema s") == DescribeSchema(name="s")
    assert parse("desc database extended s") == DescribeSchema(name="s", extended=True)
    assert isinstance(parse("describe schema"), Describe)


@pytest.mark.parametrize(
    "text",
    [
        "show system functions",
        "show catalogs",
        "show current schema",
        "describe function <=>",
        "describe query select 1",
        "describe select 1",
        "desc (select 1)",
    ],
)
def test_spark_answers_the_rest(text: str) -> None:
    assert isinstance(parse(text), SparkCommand)


@pytest.mark.parametrize(
    ("text", "error", "words"),
    [
        ("create schema s location '/x'", UnsupportedError, "in the repository"),
        ("create schema s managed", InputError, "found 'managed'"),
        ("drop schema s now", InputError, "found 'now'"),
        ("show tables extended", InputError, "found 'extended'"),
        ("show columns t", InputError, "`in` and a table"),
        ("describe t partition (p = 1)", UnsupportedError, "Select the rows"),
        ("use", InputError, "Expected a name"),
    ],
)
def test_what_is_refused_says_the_next_step(text: str, error: type, words: str) -> None:
    with pytest.raises(error) as caught:
        parse(text)
    assert words in str(caught.value)
