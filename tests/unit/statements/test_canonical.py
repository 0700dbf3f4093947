"""What a text's result depends on: named cases that once had one key for two results."""

from __future__ import annotations

import pytest

from dbt.adapters.vcs.sql.syntax.canonical import (
    Meant,
    canonical,
    filled_in,
    moment_in,
    names_place,
    names_user,
    variation_in,
)
from dbt.adapters.vcs.sql.syntax.names import Name


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


def test_users_and_places_are_found_by_quoted_names_too() -> None:
    assert names_user("select `current_user`()") and not names_user("select `user`")
    assert names_place("select `current_schema`()") and not names_place("select `current_schema`")


def test_what_spark_fills_in_is_found() -> None:
    assert filled_in("select '${env:HOME}'") == "${env:HOME}"
    assert filled_in("select '${spark.app.name}'") == "${spark.app.name}"
    assert filled_in("select '$', '{}', '${}', '^a$'") is None


@pytest.mark.parametrize(
    "text",
    [
        "select `rand`()",
        "select system.builtin.rand()",
        "select aes_encrypt(a, b)",
        "select x.array_agg(a) from t",
        "select array_agg(a) from t",
        "select reflect('java.lang.System', 'nanoTime')",
        "select try_reflect ('java.lang.System', 'nanoTime')",
        "select /*+ coalesce(1) */ java_method('java.lang.System', 'nanoTime')",
        "select a, rand() as (b) from t",
        "select function_of_a_later_spark(a) from t",
        "select `identifier`('rand')()",
        "select identifier('rand')()",
        "select transform(a) using 'python3 x.py' as (b string) from t",
        "from t select transform(*) row format delimited using r'/bin/date' as (b)",
        "select a from t where b in (select curdate())",
    ],
)
def test_what_may_vary_is_found(text: str) -> None:
    assert variation_in(text) is not None


@pytest.mark.parametrize(
    "text",
    [
        "select rand, `uuid`, 'rand()' from t",
        "with q (a) as (select 1), r(b) as (select 2) select * from q join r using (a)",
        "select * from (values (1), (2)) v(a) join (select 1) as w (b) on (a = b)",
        "select cast(a as decimal(10, 2)), stack(1, 1, 2) as (x, y), a::varchar(3) from t",
        "select sum(a) filter (where a in (1, 2)) over (partition by (b) order by c) from t",
        "select transform(a, x -> (x + 1)), exists(b, x -> not (x)), if(c, 1, 2) from t",
        "select a, count(*) from t group by grouping sets ((a), ()) having (count(*) > 1)",
        "select * from t lateral view outer explode(m) k as a, b where exists (select 1)",
        "select * from t pivot (sum(a) for b in (1, 2)) where a between (1) and (2)",
        "select case when (a) then (b) else (c) end, current_user(), current_schema() from t",
        "select builtin.abs(a), system.builtin.`abs`(a), interval (3) days from t",
        "merge into t using (select 1 as a) s on (t.a = s.a) when not matched then insert (a)"
        " values (s.a)",
    ],
)
def test_what_gives_the_same_each_time_is_let_pass(text: str) -> None:
    assert variation_in(text) is None


def test_functions_of_the_branch_and_lists_of_columns_are_no_builtin() -> None:
    assert variation_in("select tax(a)") == "tax"
    assert variation_in("select shop.tax(a)", lambda name: str(name) == "shop.tax") is None
    assert variation_in("insert into t (a) values (1)") == "t"
    assert variation_in("insert into t (a) values (1)", places=[12]) is None
