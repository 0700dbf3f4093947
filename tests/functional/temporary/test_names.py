"""Temporary names, one case after another: a branch answers what a plain session answers."""

from __future__ import annotations

import pytest

from dbt.adapters.vcs.core.errors import InputError

from .pair import REFUSED, Pair

pytestmark = pytest.mark.spark


def test_a_global_temporary_view_does_not_hide_a_table_of_its_name(pair: Pair) -> None:
    made = "create global temp view t as select 2 as x"
    assert pair.check(made, "insert into t select 5", "select * from t") == [(1,), (5,)]
    assert pair.check("select * from global_temp.t") == [(2,)]
    assert pair.check("drop table t", "select * from t") == REFUSED
    assert pair.check("drop view global_temp.t", "select * from global_temp.t") == REFUSED


@pytest.mark.parametrize(
    ("made", "name"),
    [
        ("create temp view v as select * from t", "session.v"),
        ("create temp view v as select * from t", "system.session.v"),
        ("create temp view session.v as select * from t", "v"),
        ("create temp view v as select * from t", "identifier('v')"),
        ("create global temp view v as select * from t", "global_temp.v"),
        ("create global temp view v as select * from t", "identifier('global_temp').v"),
        ("cache table v as select * from t", "v"),
        ("create table v as select * from t", "identifier('s').v"),
        ("create table v as select * from t", "s.identifier('v')"),
    ],
)
def test_what_a_name_reads_is_as_it_is_now(pair: Pair, made: str, name: str) -> None:
    pair.check(made, f"select * from {name}", "insert into t select 5")
    pair.check(f"select * from {name}", f"create table k as select * from {name}")
    pair.check("select * from k", f"insert into k select x + 1 from {name}", "select * from k")


@pytest.mark.parametrize("kind", ["temp", "global temp"])
def test_what_is_replaced_is_replaced_below_everything(pair: Pair, kind: str) -> None:
    name = "global_temp.a" if kind == "global temp" else "a"
    pair.check(
        f"create {kind} view a as select 1 as x",
        f"create temp view b as select x + 10 as x from {name}",
        "create global temp view g as select x + 20 as x from b",
        f"create temporary function f() returns int return (select max(x) from {name})",
        "create temporary function w() returns table (x int) return select f() + x from b",
    )
    looks = [f"select * from {read}" for read in ("b", "session.b", "global_temp.g", "w()")]
    pair.check(*looks, "select f()")
    pair.check(f"create or replace {kind} view a as select x * 7 as x from t")
    pair.check("insert into t select 3", *looks, "select f(), session.f()")
    assert pair.check("create table k as select * from b", "select * from k") == [(17,), (31,)]
    pair.check(f"drop view {name}", *looks, "select f()")


def test_a_name_below_a_view_means_what_it_meant_when_the_view_was_made(pair: Pair) -> None:
    pair.check("create temp view b as select * from t", "create temp view t as select 9 as x")
    assert pair.check("insert into s.t select 5", "select * from b") == [(1,), (5,)]
    pair.check("create temp view c as select * from t", "select * from c")
    assert pair.check("drop view t", "select * from c") == [(1,), (5,)]


def test_a_temporary_view_is_renamed_altered_and_dropped_before_a_table(pair: Pair) -> None:
    pair.check("create temp view t as select 9 as x", "alter view t rename to u")
    assert pair.check("select * from u", "select * from t") == [(1,)]
    pair.check("alter view u as select * from t", "insert into t select 5", "select * from u")
    pair.check("alter table u rename to t", "drop table t", "select * from t")
    pair.check("create temp view t as select 9 as x", "drop view session.t", "select * from t")


@pytest.mark.parametrize("name", ["v", "session.v", "system.session.v", "global_temp.v"])
def test_questions_about_a_temporary_view(pair: Pair, name: str) -> None:
    made = "select x, 'a' as y from t"
    pair.check(f"create temp view v as {made}", f"create global temp view v as {made}")
    assert pair.check(f"show columns in {name}") == [("x",), ("y",)]
    pair.check(f"describe {name}", f"show tblproperties {name}", f"show create table {name}")
    pair.check("show tables", "show views", "show tables in global_temp", "show views like 'v'")
    assert pair.check(f"create table k like {name} using parquet", "select * from k") == []


def test_functions_are_none_of_the_tables(pair: Pair) -> None:
    pair.check("create function f() returns int return 4", "create view v as select 1 as x")
    assert pair.check("show tables") == [("s", "t", False), ("s", "v", False)]


@pytest.mark.parametrize("name", ["v", "session.v", "global_temp.v"])
def test_no_row_is_written_to_a_temporary_view(pair: Pair, name: str) -> None:
    made = "create table v as select 1 as x"
    pair.check(made, "create temp view v as select 2 as x")
    pair.check("create global temp view v as select 2 as x")
    assert pair.check(f"insert into {name} values (5)") == REFUSED
    assert pair.check(f"insert overwrite {name} values (5)") == REFUSED
    assert pair.check(f"truncate table {name}") == REFUSED
    assert pair.check("select * from s.v") == [(1,)]
    for change in ("delete from {}", "update {} set x = 1"):
        with pytest.raises(InputError, match="is a temporary view"):
            pair.client.sql(change.format(name))


def test_a_schema_may_be_called_session(pair: Pair) -> None:
    pair.check("create table t2 as select 30 as x", "create schema session")
    pair.check("create table session.v as select * from t2", "select * from session.v")
    pair.check("create temp view v as select 2 as x", "select * from session.v")
    assert pair.check("select * from spark_catalog.session.v") == [(30,)]
    pair.check("drop view session.v")
    assert pair.check("select * from session.v") == [(30,)]
    pair.check("drop schema session cascade")


def test_the_schema_of_global_temporary_views_can_not_be_made(pair: Pair) -> None:
    assert pair.check("create schema global_temp") == REFUSED
    with pytest.raises(InputError, match="global temporary views"):
        pair.client.sql("create schema global_temp")


def test_a_temporary_function_hides_one_of_the_branch(pair: Pair) -> None:
    pair.check("create function f() returns int return 1", "select f(), s.f()")
    pair.check("create temporary function f() returns int return (select max(x) + 5 from t)")
    pair.check("create temp view v as select f() as x", "select f(), session.f(), s.f()")
    pair.check("insert into t select 4", "select f(), system.session.f(), s.f()")
    assert pair.check("select * from v") == [(9,)]
    pair.check("drop temporary function f")
    assert pair.check("select * from v") == [(1,)]
    assert pair.check("select identifier('f')() as y, identifier('s.f')() as z") == [(1, 1)]


def test_a_name_may_be_a_string(pair: Pair) -> None:
    pair.check("insert into identifier('s.t') select 5", "select * from identifier('s.t')")
    pair.check("create table identifier('kk') as select 1 as x", "select * from kk")
    pair.check("create function f() returns int return 3", "select identifier('s.f')()")
    pair.check("select identifier('x') from t", "drop table identifier('kk')")


def test_a_variable_keeps_what_it_was_set_to(pair: Pair) -> None:
    pair.check("declare or replace variable top int", "select top")
    pair.check("set variable top = (select max(x) from t)", "insert into t select 9", "select top")
