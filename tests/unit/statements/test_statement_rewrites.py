"""A query's text with other relations in it."""

import pytest

from dbt.adapters.vcs.sql.syntax.lexer import edited
from dbt.adapters.vcs.sql.syntax.parser import Query, SparkCommand, parse, qualified, renames


def query(text: str) -> Query:
    found = parse(text)
    assert isinstance(found, Query)
    return found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("select t.a from t", "select t.a from X as `t`"),
        ("select t.a from s.t;", "select t.a from X as `t`"),
        ("select x.a from s.t x", "select x.a from X x"),
        ("select x.a from t as x", "select x.a from X as x"),
        ("table t", "table X"),
        ("select * from f(table(t))", "select * from f(table(X))"),
        ("select * from ((t))", "select * from ((X as `t`))"),
        ("select * from t join u using (a)", "select * from X as `t` join X as `u` using (a)"),
        ("select * from t version as of 'v1'", "select * from X as `t`"),
        ("select * from t{snapshot='v1'} a, `u`", "select * from X a, X as `u`"),
        (
            "select * from t tablesample (1 rows), u with (a=1) where b",
            "select * from X tablesample (1 rows) as `t`, X with (a=1) as `u` where b",
        ),
        (
            "select * from t pivot (sum(a) for b in (1)) p",
            "select * from X as `t` pivot (sum(a) for b in (1)) p",
        ),
        (
            "with t as (select * from t) select * from t",
            "with t as (select * from X as `t`) select * from t",
        ),
        ("select s.T.a, s.u.b from s.t", "select `t`.a, s.u.b from X as `t`"),
        ("select s.t.*, x.s.t.a from s.t{snapshot='v'}", "select `t`.*, x.s.t.a from X as `t`"),
        ("select s.t.a from s.t as t", "select s.t.a from X as t"),
        (
            "select spark_catalog.s.t.a from s.t for version as of 3 where s.t.b in (table s.t)",
            "select `t`.a from X as `t` where `t`.b in (table X)",
        ),
        (
            "select * from t timestamp as of '2026-01-01' join t version as of 'v' x, "
            "t{snapshot='v'}",
            "select * from X as `t` join X x, X as `t`",
        ),
        ("table s.t version as of 'v'", "table X"),
        (
            "select * from t version as of 1 tablesample (1 rows) where t.a",
            "select * from X tablesample (1 rows) as `t` where t.a",
        ),
        ("select * from identifier('s.t')", "select * from X as `t`"),
        ("select * from `a``b`", "select * from X as `a``b`"),
    ],
)
def test_every_reference_replaced(text: str, expected: str) -> None:
    found = query(text)
    assert found.rewritten(dict.fromkeys(found.reads, "X")) == expected


def test_only_the_references_given_are_replaced() -> None:
    found = query("select * from t, t b, u /* t */ where 't' = t.x")
    _, second, _ = found.reads
    assert found.rewritten({second: "s.x"}) == "select * from t, s.x b, u /* t */ where 't' = t.x"
    assert found.rewritten({}) == found.text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("select t.a from t, s.u, v x", "select t.a from `d`.`t`, s.u, `d`.`v` x"),
        ("with t as (table t) table t", "with t as (table `d`.`t`) table t"),
        ("select * from t version as of 'x'", "select * from `d`.`t` version as of 'x'"),
        ("select * from t{snapshot='x'} y", "select * from `d`.`t`{snapshot='x'} y"),
        ("select * from identifier('t')", "select * from `d`.`t`"),
        ("select * from tmp, Tmp, t", "select * from tmp, Tmp, `d`.`t`"),
        ("select * from spark_catalog.s.t", "select * from spark_catalog.s.t"),
        ("select * from parquet.`/x`, range(3)", "select * from parquet.`/x`, range(3)"),
    ],
)
def test_relations_without_a_schema_get_one(text: str, expected: str) -> None:
    assert qualified(query(text), "d", {"TMP"}) == expected


def test_what_is_qualified_stays_so() -> None:
    once = qualified(query("select * from a join b c on a.x = c.x where y in (table d)"), "s`q")
    assert qualified(query(once), "other") == once
    assert {read.name.schema for read in query(once).reads} == {"s`q"}


def test_a_command_is_rewritten_too() -> None:
    command = parse("explain extended select * from t{snapshot='v1'}")
    assert isinstance(command, SparkCommand)
    (mention,) = command.mentions
    assert (
        edited(command.text, renames({mention: "s.x"}, command.text))
        == "explain extended select * from s.x as `t`"
    )


def test_a_name_becomes_the_tree_s() -> None:
    first, second = query("select * from Orders, Raw.`Orders`").reads
    assert str(first.name.relation("Analytics")) == "analytics.orders"
    assert str(second.name.relation("analytics")) == "raw.orders"
