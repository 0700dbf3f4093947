"""dbt's tests `not_null` and `unique` are answered from manifests, and say what a scan finds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.engines.spark.session import SparkView

from .shop import Shop

pytestmark = pytest.mark.spark

TEST = """
    select
      count(*) as failures,
      count(*) {warn} as should_warn,
      count(*) {error} as should_error
    from (

    {inner}

    ) dbt_internal_test
"""
NOT_NULL = "select {c}\nfrom {t}\nwhere {c} is null"
UNIQUE = """select
    {c} as unique_field,
    count(*) as n_records

from {t}
where {c} is not null
group by {c}
having count(*) > 1
"""
PASSED = {"failures": 0, "should_warn": False, "should_error": False}


class AskedError(Exception):
    """Spark was asked."""


def text_of(form: str, table: str, column: str = "id", **more: str) -> str:
    inner = form.format(t=table, c=column)
    return TEST.format(inner=inner, **{"warn": "!= 0", "error": "!= 0", **more})


def answer(shop: Shop, text: str) -> dict[str, Any] | None:
    """Return what the manifests answer; None if Spark is asked."""
    with patch.object(SparkView, "query", side_effect=AskedError):
        try:
            [row] = shop.sql(text).to_pylist()
        except AskedError:
            return None
    return row


def by_spark(shop: Shop, text: str) -> dict[str, Any]:
    """Return what Spark answers."""
    with patch("dbt.adapters.vcs.sql.query._passed_test", return_value=None):
        [row] = shop.sql(text).to_pylist()
    return row


STATEMENTS = (
    "insert into {t} (id, k) select 10 * {i} + id + 1000, id % 3 from range({n})",
    "insert into {t} (id, k) select id, id % 3 from range({n})",
    "insert into {t} select * from {t} where id = {n}",
    "delete from {t} where `{c}` is null",
    "delete from {t} where id % 7 = {n} % 7",
    "update {t} set `{c}` = null where id = {n}",
    "update {t} set k = coalesce(k, 0) + 1 where id > {n}",
    "merge into {t} using (select explode(sequence({n}, {n} + 2)) as id) s on {t}.id = s.id"
    " when matched then delete when not matched then insert (id, k) values (s.id, 9)",
    "alter table {t} add column x{i} int",
    "alter table {t} add column y{i} int default {n}",
    "alter table {t} rename column `{other}` to `z {i}`",
    "alter table {t} drop column `{other}`",
    "insert overwrite {t} (id, k) select id, 1 from range({n})",
    "truncate table {t}",
    "optimize {t}",
)
STEPS = st.tuples(st.sampled_from(STATEMENTS), st.integers(0, 20))


@pytest.mark.parametrize("properties", ["", "'primary_key' = 'id'"], ids=["plain", "keyed"])
@settings(max_examples=8)
@given(st.lists(STEPS, max_size=6))
def test_what_manifests_answer_is_what_spark_finds(
    shop: Shop, properties: str, history: list[tuple[str, int]]
) -> None:
    name = shop.make(
        "id bigint, v string, s struct<a: int>, d double, k bigint",
        "select id, if(id < 9, 'v', null), struct(int(nullif(id, 3))), double('nan'), 0"
        " from range(12)",
        by="k",
        properties=properties,
    )
    for place, (statement, number) in enumerate(history):
        columns = shop.version(name).schema.names
        # Statements name `id` and `k`.
        others = [column for column in columns if column not in ("id", "k")]
        if "{other}" in statement and not others:
            continue
        text = statement.format(
            t=name,
            n=number,
            i=place,
            c=columns[number % len(columns)],
            other=others[number % len(others)] if others else "",
        )
        try:
            shop.sql(text)
        except InputError:
            # A key that is NULL or there already, which only a key can forbid.
            assert properties
    answered = 0
    for column in shop.version(name).schema.names:
        for form in (NOT_NULL, UNIQUE):
            text = text_of(form, name, f"`{column}`")
            known = answer(shop, text)
            assert known in (None, by_spark(shop, text)), text
            answered += known is not None
    # The key of each version was checked.
    assert answered >= (2 if properties else 0)


@pytest.fixture(scope="module")
def orders(shop: Shop) -> str:
    name = shop.make(
        "id bigint, name string, kind string, `a b` date, folded string collate UTF8_LCASE",
        "select id, if(id = 3, null, 'x'), 'k', date'2026-01-02', 'f' from range(5)",
        properties="'primary_key' = 'id'",
    )
    shop.sql(f"create view {name}_seen as select * from {name}")
    shop.sql(f"create snapshot before_{name} for table {name}")
    return name


@pytest.mark.parametrize("form", [NOT_NULL, UNIQUE], ids=["not_null", "unique"])
@pytest.mark.parametrize("column", ["id", "`id`"])
@pytest.mark.parametrize("lead", ["", '/* {"app": "dbt"} */ ', "-- select\n"])
def test_spark_is_not_asked(shop: Shop, orders: str, form: str, column: str, lead: str) -> None:
    assert answer(shop, lead + text_of(form, f"s.`{orders}`", column)) == PASSED
    assert answer(shop, lead + text_of(f"{form}\n  limit 5", orders, column)) == PASSED


def test_names_with_spaces_and_other_columns_are_known(shop: Shop, orders: str) -> None:
    for column in ("kind", "`a b`", "folded"):
        assert answer(shop, text_of(NOT_NULL, orders, column)) == PASSED


@pytest.mark.parametrize("operator", ["!=", "<>", "=", "==", "<", "<=", ">", ">="])
@pytest.mark.parametrize("number", ["0", "3"])
def test_conditions_are_those_of_spark(
    shop: Shop, orders: str, operator: str, number: str
) -> None:
    text = text_of(NOT_NULL, orders, warn=f"{operator}{number}", error=f"{operator} {number}")
    known = answer(shop, text)
    assert known is not None and known == by_spark(shop, text)


OTHERS = {
    "has NULL": text_of(NOT_NULL, "{t}", "name"),
    "is no key": text_of(UNIQUE, "{t}", "name"),
    "no key either": text_of(UNIQUE, "{t}", "kind"),
    "a view": text_of(NOT_NULL, "{t}_seen"),
    "a version": text_of(NOT_NULL, "{t} version as of 'before_{t}'"),
    "where": text_of(NOT_NULL, "(select * from {t} where id > 1) dbt_subquery"),
    "of all columns": text_of("select * from {t} where {c} is null", "{t}"),
    "two columns": text_of("select {c}, {c} from {t} where {c} is null", "{t}"),
    "a condition more": text_of(NOT_NULL + " or true", "{t}"),
    "a join": text_of("select a.{c} from {t} a join {t} b where a.{c} is null", "{t}"),
    "other spelling": text_of(NOT_NULL, "{t}", "ID"),
    "an expression": text_of(NOT_NULL, "{t}", "id + 1"),
    "a range": text_of(NOT_NULL, "{t}", warn="between 0 and 3"),
    "a fraction": text_of(NOT_NULL, "{t}", warn="> 0.5"),
    "fail_calc": text_of(NOT_NULL, "{t}").replace("count(*)", "max(1)"),
    "another number": text_of(UNIQUE, "{t}").replace("count(*) > 1", "count(*) > 0"),
    "more after it": text_of(NOT_NULL, "{t}") + " union all select 1, true, true",
}


@pytest.mark.parametrize("text", OTHERS.values(), ids=OTHERS)
def test_anything_else_is_computed(shop: Shop, orders: str, text: str) -> None:
    text = text.replace("{t}", orders)
    assert answer(shop, text) is None
    assert shop.sql(text).num_rows


@pytest.mark.parametrize("word", ["null", "Distinct", "all", "join", "not"])
def test_a_word_that_is_no_column_is_computed(shop: Shop, word: str) -> None:
    name = shop.make(f"id int, `{word}` int", "values (1, 2)")
    for form in (NOT_NULL, UNIQUE):
        assert answer(shop, text_of(form, name, word)) is None
    assert answer(shop, text_of(NOT_NULL, name, f"`{word}`")) == PASSED


def test_a_key_that_is_not_checked_says_nothing(shop: Shop, orders: str) -> None:
    off = "'vcs.enforce_primary_key' = 'false'"
    name = shop.make("id int", "values (1), (1)", properties=f"'primary_key' = 'id', {off}")
    assert answer(shop, text_of(UNIQUE, name)) is None
    assert by_spark(shop, text_of(UNIQUE, name))["failures"] == 1
    pair = shop.make("a int, b int", "values (1, 1), (1, 2)", properties="'primary_key' = 'a, b'")
    assert answer(shop, text_of(UNIQUE, pair, "a")) is None
    # By its bytes, each value is another one.
    folded = shop.make(
        "v string collate UTF8_LCASE", "values ('a'), ('A')", properties="'primary_key' = 'v'"
    )
    assert answer(shop, text_of(UNIQUE, folded, "v")) is None
    assert by_spark(shop, text_of(UNIQUE, folded, "v"))["failures"] == 1


def test_deleted_rows_change_no_answer(shop: Shop) -> None:
    name = shop.make("id int, v string", "select id, if(id < 2, null, 'v') from range(50000)")
    assert answer(shop, text_of(NOT_NULL, name, "v")) is None
    shop.sql(f"delete from {name} where id = 7")
    assert shop.tombstones(name) or shop.blocks(name)
    assert answer(shop, text_of(NOT_NULL, name)) == PASSED
    # Whether the rows with NULL are those that were deleted, only the files know.
    assert answer(shop, text_of(NOT_NULL, name, "v")) is None
    assert by_spark(shop, text_of(NOT_NULL, name, "v"))["failures"] == 2


def test_a_temporary_view_hides_a_table(shop: Shop, orders: str) -> None:
    shop.sql(f"create temporary view {orders} as select int(null) as id")
    try:
        assert answer(shop, text_of(NOT_NULL, orders)) is None
        assert shop.sql(text_of(NOT_NULL, orders)).to_pylist()[0]["failures"] == 1
        assert answer(shop, text_of(NOT_NULL, f"s.{orders}")) == PASSED
    finally:
        shop.sql(f"drop view {orders}")


@pytest.fixture
def own_count(shop: Shop) -> Iterator[None]:
    shop.sql("create temporary function count() returns bigint return 3")
    yield
    shop.sql("drop temporary function count")


def test_a_function_of_that_name_is_asked(shop: Shop, orders: str, own_count: None) -> None:
    assert answer(shop, text_of(NOT_NULL, orders)) is None
