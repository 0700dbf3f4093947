"""What a text's result depends on: named cases that once had one key for two results."""

from __future__ import annotations

import pytest

from dbt.adapters.vcs.statements.syntax.canonical import (
    Meant,
    canonical,
    chance_in,
    filled_in,
    moment_in,
    names_place,
    names_user,
)
from dbt.adapters.vcs.statements.syntax.names import Name


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("select 1.e3", "select 1. e3"),
        ("select 1.D", "select 1. D"),
        ("select 1e-3", "select 1e - 3"),
        ("select 1e-3", "select 1e- 3"),
        ("select 1.5e-3", "select 1.5e - 3"),
        ("select 1", "select 1L"),
        ("select 1", "select 1.0"),
        ("select 'a' 'b'", "select 'a''b'"),
        ("select 'a -- b'", "select 'a '"),
        ("select 'a /* b */'", "select 'a '"),
        ("select '/*+ a */'", "select ''"),
        ("select r'a\\n'", "select 'a\\n'"),
        ("select r 'a'", "select r'a'"),
        ("select `a b`", "select a b"),
        ("select `a``b`", "select `a` `b`"),
        ("select a as Id", "select a as id"),
        ("select a as `Id`", "select a as `id`"),
        ("select `1`", "select 1"),
        ("select `x`", "select x"),
        ("select `'a'`", "select 'a'"),
        ("select 'A'", "select 'a'"),
        ('select "a"', "select 'a'"),
        ("select 'a\nb'", "select 'a b'"),
        ("select a --b\n, c", "select a --b, c"),
        ("select /* a /* b */ , c */ d", "select /* a */ , c */ d"),
        ("select not a", "select !a"),
        ("select :a", "select :b"),
        ("select ?", "select :a"),
        ("select '\\u0041'", "select 'A'"),
        ("select $a$x$a$", "select $b$x$b$"),
        ("select date '2020-01-01'", "select timestamp '2020-01-01'"),
        ("select - -1", "select --1\n"),
    ],
)
def test_different_texts_stay_different(left: str, right: str) -> None:
    assert canonical(left, {}) != canonical(right, {})


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("select a, b", "select a,b"),
        ("select a", "/* why */ select -- what\n a"),
        ("select a", "select /*+ broadcast(b) */ a"),
        ("select a", "select /* a /* b */ c */ a"),
        ("select a.b", "select a . b"),
        ("select a+1", "select a + 1"),
        ("select e-3", "select e - 3"),
        ("select 1-2", "select 1 - 2"),
        ("select a\r\nfrom b", "select a from b"),
    ],
)
def test_what_can_not_matter_does_not(left: str, right: str) -> None:
    assert canonical(left, {}) == canonical(right, {})


def named(text: str, *relations: str) -> str:
    """The canonical text where each of some relations means the same rows."""
    places = {}
    for relation in relations:
        schema, _, identifier = relation.rpartition(".")
        start = text.rindex(f" {relation}") + 1
        name = Name(schema=schema or None, identifier=identifier)
        places[start] = Meant(start, start + len(relation), name, "rows")
    return canonical(text, places)


def test_a_name_counts_only_where_columns_may_be_qualified_with_it() -> None:
    one = named("select id from s.a__dbt_tmp_1", "s.a__dbt_tmp_1")
    assert one == named("select id from t.b", "t.b")
    assert named("select a.id from s.a", "s.a") != named("select b.id from s.b", "s.b")
    assert named("select a.id from s.a", "s.a") == named("select a.id from t.a", "t.a")
    left = named("select s.a.id from s.a", "s.a")
    assert left != named("select t.a.id from t.a", "t.a")


@pytest.mark.parametrize(
    "text",
    [
        "select current_timestamp",
        "select now()",
        "select `now`()",
        "select system.builtin.now()",
        "select localtime()",
        "select unix_timestamp()",
        "select `unix_timestamp` ( )",
        "select date 'today'",
        "select timestamp'now'",
        "select cast(' Tomorrow CET ' as timestamp)",
        'select a < "yesterday"',
        "select to_date(r'today')",
    ],
)
def test_moments_are_found(text: str) -> None:
    assert moment_in(text) is not None


@pytest.mark.parametrize(
    "text",
    [
        "select now",
        "select a.now, `current_date`",
        "select unix_timestamp(a)",
        "select 'now or never'",
        "select 'todays'",
        "select date '2020-01-01'",
    ],
)
def test_what_only_looks_like_a_moment_is_none(text: str) -> None:
    assert moment_in(text) is None


def test_chance_users_and_places_are_found_by_quoted_names_too() -> None:
    assert chance_in("select `rand`()") == "rand"
    assert chance_in("select aes_encrypt(a, b)") == "aes_encrypt"
    assert chance_in("select rand, `uuid`") is None
    assert names_user("select `current_user`()") and not names_user("select `user`")
    assert names_place("select `current_schema`()") and not names_place("select `current_schema`")


def test_what_spark_fills_in_is_found() -> None:
    assert filled_in("select '${env:HOME}'") == "${env:HOME}"
    assert filled_in("select '${spark.app.name}'") == "${spark.app.name}"
    assert filled_in("select '$', '{}', '${}', '^a$'") is None
