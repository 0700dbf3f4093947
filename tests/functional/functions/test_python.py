"""Functions in Python: of a row and of a group."""

from __future__ import annotations

import platform

import pytest

from dbt.adapters.vcs.core.errors import EngineError, InputError

from .conftest import Sql

pytestmark = pytest.mark.spark

HERE = ".".join(platform.python_version_tuple()[:2])


def python(signature: str, source: str, *, handler: str = "f", clauses: str = "") -> str:
    return (
        f"create or replace {signature} language python handler = '{handler}' {clauses} "
        f"as $$\n{source}\n$$"
    )


TWICE = python(
    "function twice(price float default 100) returns float",
    "import math\n\ndef half(x):\n    return x / 2\n\n"
    "def f(price):\n    return None if price is None else half(price) * 4 + math.floor(0.5)",
)
SQUARED = """
class Squared:
    def __init__(self):
        self.sum = 0

    def accumulate(self, value):
        self.sum += value

    def finish(self):
        return self.sum ** 2
"""


def test_a_row(sql: Sql) -> None:
    sql(TWICE)
    assert sql("select twice(3), twice(), shop.twice(price => 1.5), twice(null)") == [
        (6.0, 200.0, 3.0, None)
    ]
    sql("create view v as select twice(id) d from range(3)")
    sql("create function nest(x float) returns float return twice(x) + 1")
    assert sql("select sum(nest(d)) from v where twice(d) > 1") == [(14.0,)]
    sql(TWICE.replace("* 4", "* 8"))
    assert sql("select nest(1), max(d) from v") == [(5.0, 8.0)]


def test_what_does_not_fit_the_type_is_an_error(sql: Sql) -> None:
    sql(python("function half(x int) returns bigint", "def f(x): return x / 2"))
    assert sql("select half(4)") == [(2,)]
    with pytest.raises(EngineError, match=r"shop\.half should return bigint, and returned float"):
        sql("select half(3)")
    sql(python("function many(x int) returns array<int>", "def f(x): return [x, None]"))
    assert sql("select many(3)") == [([3, None],)]
    sql(python("function said(x int) returns string", "def f(x): return x"))
    with pytest.raises(EngineError, match="should return string, and returned int"):
        sql("select said(3)")


def test_a_group(sql: Sql) -> None:
    statement = python(
        "aggregate function squared(x float) returns double", SQUARED, handler="Squared"
    )
    sql(statement)
    sql("create table t as select id from range(4)")
    assert sql("select squared(id) from t") == [(36.0,)]
    assert sql("select id % 2, squared(id) from t group by 1 order by 1") == [(0, 4.0), (1, 16.0)]
    sql("create view v as select squared(id) s from t")
    assert sql("select * from v") == [(36.0,)]
    sql(statement.replace("** 2", "** 3"))
    assert sql("select * from v") == [(216.0,)]
    sql("create or replace function squared(x int) returns int return x * x")
    assert sql("select squared(3)") == [(9,)]


@pytest.mark.parametrize(
    ("source", "clauses", "words"),
    [
        ("def g(x): return x", "", "defines no f, .* It defines: g"),
        ("def f(x) return x", "", "does not run: SyntaxError"),
        ("import nix_of_nix", "", "does not run: ModuleNotFoundError"),
        ("def f(x): return x", "packages = ('nix-of-nix>=1')", "pip install 'nix-of-nix>=1'"),
    ],
)
def test_a_source_that_is_none_is_refused(sql: Sql, source: str, clauses: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        sql(python("function f(x int) returns int", source, clauses=clauses))


def test_an_aggregate_is_a_class(sql: Sql) -> None:
    with pytest.raises(InputError, match="a class with accumulate and finish"):
        sql(python("aggregate function f(x int) returns int", "def f(x): return x"))


def test_another_version_of_python_is_told_of(sql: Sql) -> None:
    with pytest.warns(UserWarning, match=rf"asks for Python 2\.7; .* which is {HERE}"):
        sql(
            python(
                "function f(x int) returns int",
                "def f(x): return x",
                clauses="runtime_version = '2.7'",
            )
        )
    assert sql("select f(1)") == [(1,)]
