"""`execute immediate` and session variables."""

from __future__ import annotations

import datetime

import pytest

from dbt.adapters.vcs.core.errors import InputError, UnsupportedError, VcsError

from .shop import Shop

pytestmark = pytest.mark.spark


@pytest.fixture
def name(shop: Shop) -> str:
    return shop.clone("k int, v string", "values (1, 'a'), (2, 'b')")


@pytest.mark.parametrize(
    ("using", "values"),
    [
        ("'select v from {} where k = ?' using 2", [("b",)]),
        ("'select v from {} where k = :n' using 1 + 1 as n", [("b",)]),
        ("'select v from {} where k = :n and v = :t' using (2 as n, 'b' as t)", [("b",)]),
        ("'select ? from {} where k = 1' using date '2026-01-02'", [(datetime.date(2026, 1, 2),)]),
        ("'select ? from {} where k = 1' using 'it''s'", [("it's",)]),
        ("'select ? from {} where k = 1' using cast(null as int)", [(None,)]),
        ("'select ''?'', :x::int from {} where k = 1' using 3 as x", [("?", 3)]),
    ],
)
def test_a_query_in_a_string_reads_the_branch(
    shop: Shop, name: str, using: str, values: list[object]
) -> None:
    shop.sql(f"insert into {name} values (3, 'c')")
    assert shop.rows(f"execute immediate {using.format(name)}") == values


def test_a_change_in_a_string_is_a_commit_of_the_branch(shop: Shop, name: str) -> None:
    before = shop.repository.branch("main").head
    assert shop.change(f"execute immediate 'insert into {name} values (?, ?)' using 3, 'c'") == 1
    head = shop.repository.objects.commit(shop.repository.branch("main").head)
    assert head.parents == (before,)
    other = shop.branched()
    assert other.rows(name) == [(1, "a"), (2, "b"), (3, "c")]


def test_a_variable_holds_the_statement_and_takes_the_row(shop: Shop, name: str) -> None:
    shop.sql(f"declare or replace variable words string default 'select max(k) from {name}'")
    shop.sql("declare or replace variable top int")
    shop.sql("execute immediate words into top")
    assert shop.rows("select top") == [(2,)]
    shop.sql(f"execute immediate 'select k from {name} where false' into top")
    assert shop.rows("select top") == [(None,)]
    with pytest.raises(VcsError, match="More than one row"):
        shop.sql(f"execute immediate 'select k from {name}' into top")
    shop.sql(f"create snapshot bare for table {name}")
    shop.sql(f"insert into {name} values (9, 'z')")
    shop.sql(f"set variable top = (select max(k) from {name} version as of 'bare')")
    assert shop.rows("select top") == [(2,)]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("execute immediate null", "found NULL"),
        ("execute immediate 5", "type int"),
        ("execute immediate 'select ?'", "1 parameters"),
        ("execute immediate 'select 1' using 2", "0 parameters"),
        ("execute immediate 'select :a' using 1 as b", ":a has no value"),
        ("execute immediate 'select :a' using 1 as a, 2", "with and without names"),
        ("execute immediate 'drop table x' into y", "needs a query"),
        ("execute immediate 'execute immediate \"select 1\"'", "another `execute immediate`"),
        ("execute immediate 'select ?' using array(1)", "plain value"),
        ("execute immediate 'select ?' using nope", "a constant"),
        ("execute immediate", "Expected an expression"),
    ],
)
def test_what_a_string_can_not_say_is_refused(shop: Shop, text: str, words: str) -> None:
    with pytest.raises(InputError, match=words.replace("(", r"\(")):
        shop.sql(text)


@pytest.mark.parametrize(
    "script", ["begin\n select 1; select 2; end", "begin end", "l: begin drop table x; end l"]
)
def test_a_script_is_refused_as_a_whole(shop: Shop, script: str) -> None:
    with pytest.raises(UnsupportedError, match="one at a time"):
        shop.sql(script)
