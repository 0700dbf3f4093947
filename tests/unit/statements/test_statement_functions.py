"""Statements that make, drop, describe and list functions, and the calls in a text."""

import pytest

from dbt.adapters.vcs.core.errors import InputError, UnsupportedError
from dbt.adapters.vcs.core.model import Parameter, ViewColumn
from dbt.adapters.vcs.sql.function import (
    CreateFunction,
    DescribeFunction,
    DropFunction,
    ShowFunctions,
)
from dbt.adapters.vcs.sql.syntax.mentions import calls_of
from dbt.adapters.vcs.sql.syntax.parser import SparkCommand, parse, qualified, read


def made(text: str) -> CreateFunction:
    statement = parse(text)
    assert isinstance(statement, CreateFunction)
    return statement


def test_a_function_in_sql() -> None:
    function = made(
        "create or replace function S.`F` (price decimal(10, 2) default greatest(1, 2) "
        "comment 'gross', n int) returns float not deterministic comment 'net' contains sql "
        "language sql return price / (select max(rate) from s.rates where k = n) -- end"
    )
    assert (function.target.name.schema, function.target.name.identifier) == ("S", "F")
    assert function.parameters == (
        Parameter(name="price", type="decimal(10,2)", default="greatest(1, 2)", comment="gross"),
        Parameter(name="n", type="int"),
    )
    assert (function.returns, function.language, function.shape) == ("float", "sql", "scalar")
    assert function.body.text == "price / (select max(rate) from s.rates where k = n)"
    assert [str(item.name) for item in function.body.reads] == ["s.rates"]
    assert (function.deterministic, function.comment) == (False, "net")
    assert function.replace and not function.if_not_exists


def test_a_function_without_parameters_and_type() -> None:
    function = made("create function if not exists f() return select 1")
    assert (function.parameters, function.returns) == ((), None)
    assert (function.if_not_exists, function.deterministic) == (True, None)


@pytest.mark.parametrize(
    "body", ["select * from t", "(select * from t)", "with c as (table t) table c"]
)
def test_the_body_may_be_any_query(body: str) -> None:
    function = made(f"create function f() returns table return {body}")
    assert function.shape == "table"
    assert [str(item.name) for item in function.body.reads] == ["t"]


def test_the_columns_of_rows() -> None:
    function = made(
        "create function f(a int) returns table (x int comment 'c', y string) return t"
    )
    assert function.columns == (
        ViewColumn(name="x", type="int", comment="c"),
        ViewColumn(name="y", type="string"),
    )


def test_a_function_in_python() -> None:
    source = '\nimport math\n\ndef f(x):\n    return "\'; $" + str(x)\n'
    function = made(
        "CREATE OR REPLACE FUNCTION s.f (x int DEFAULT 1) RETURNS string LANGUAGE PYTHON "
        f"RUNTIME_VERSION = '3.11' HANDLER = 'f' PACKAGES = ('numpy','pandas>=2') AS $${source}$$;"
    )
    assert (function.language, function.handler, function.runtime) == ("python", "f", "3.11")
    assert function.packages == ("numpy", "pandas>=2")
    assert function.body.text == source
    assert function.body.reads == ()


def test_an_aggregate_in_python() -> None:
    function = made(
        "create aggregate function f(x int) returns int language python handler = 'F' "
        "as 'class F: 1'"
    )
    assert (function.shape, function.body.text) == ("aggregate", "class F: 1")


@pytest.mark.parametrize(
    ("text", "error", "words"),
    [
        (
            "create aggregate function f(x int) returns int return sum(x)",
            UnsupportedError,
            "Python",
        ),
        ("create function f as 'com.x.F'", UnsupportedError, "create temporary function"),
        ("create function f(x int) language scala as 'x'", UnsupportedError, "in scala"),
        (
            "create function f(x int) sql security definer return x",
            UnsupportedError,
            "Remove the clause",
        ),
        (
            "create function f(x int) returns null on null input return x",
            UnsupportedError,
            "Remove the clause",
        ),
        ("create function f(x int) returns int language python as 'x'", InputError, "handler"),
        ("create function f(x int) language python handler='x' as 'x'", InputError, "returns"),
        (
            "create function f(x int) returns table language python handler='x' as 'x'",
            UnsupportedError,
            "Python model",
        ),
        ("create aggregate function f(x int) returns table return x", InputError, "one value"),
        ("create or replace function if not exists f() return 1", InputError, "Leave one out"),
        (
            "create function f(x int) immutable return x",
            InputError,
            "a clause of `create function`",
        ),
        ("create function f(x int not null) return x", InputError, "`default`, `comment`"),
        ("create function f(x int) return", InputError, "Expected a query"),
        ("create function f return 1", InputError, "Expected '('"),
    ],
)
def test_what_is_refused_says_the_next_step(text: str, error: type, words: str) -> None:
    with pytest.raises(error) as caught:
        parse(text)
    assert words in str(caught.value)


def test_temporary_functions_are_sparks() -> None:
    statement = parse(
        "/* dbt */ CREATE OR REPLACE TEMPORARY FUNCTION IF NOT EXISTS `F` (x int) "
        "return (select max(a) from s.t) + x"
    )
    assert isinstance(statement, SparkCommand)
    assert "s.t" in {str(mention.name) for mention in statement.mentions}
    assert statement.text.endswith("+ x")


def test_dropping_describing_and_listing() -> None:
    dropped = parse("drop function if exists s.f")
    assert isinstance(dropped, DropFunction)
    assert (str(dropped.target.name), dropped.if_exists) == ("s.f", True)
    described = parse("desc function extended s.f")
    assert isinstance(described, DescribeFunction) and described.extended
    assert parse("show functions") == ShowFunctions()
    assert parse("show user functions in s like 'a*'") == ShowFunctions(
        kind="user", schema="s", pattern="a*"
    )
    assert parse("show all functions s.f") == ShowFunctions(schema="s", pattern="f")
    assert type(parse("describe function")).__name__ == "Describe"


def test_calls_are_names_before_a_parenthesis() -> None:
    text = "select f(x), s.`g` (1), 'h(1)', c.d -- i(1)\nfrom a.b.c.j(2) /* k(1) */ where l.m.n(1)"
    calls = calls_of(text)
    assert [str(call.name) for call in calls] == ["f", "s.g"]
    assert [text[call.start : call.end] for call in calls] == ["f", "s.`g`"]
    assert [str(name) for name in read("select f(f(1)), spark_catalog.s.g()").calls] == [
        "f",
        "s.g",
    ]


def test_a_query_says_where_its_relations_and_functions_are() -> None:
    text = "select f(a), sum(b), s.f(c) from t, u"
    statement = read("create view v as " + text).statement
    query = statement.query  # type: ignore[union-attr]
    calls = [call for call in calls_of(text) if call.name.identifier == "f"]
    assert qualified(query, "shop", ["U"], calls) == (
        "select `shop`.`f`(a), sum(b), s.f(c) from `shop`.`t`, u"
    )
