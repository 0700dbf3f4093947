"""Blocks that can't match are left out, and only these."""

from datetime import date
from decimal import Decimal
from typing import Any

import pytest

from dbt.adapters.vcs.changes.writes.pruning import matching, within
from dbt.adapters.vcs.core.model import Block, ColumnStats, Field, Schema
from dbt.adapters.vcs.sql.syntax.conditions import Comparison, Constant

ROWS = 10


def block(*stats: Any) -> Block:
    return Block(path="b", rows=ROWS, bytes=1, stats={"c": ColumnStats(*stats)} if stats else {})


def kept(
    type_: str,
    found: Block,
    operator: Any,
    *values: tuple[Any, str],
    initial: str | None = None,
) -> bool:
    schema = Schema(fields=(Field(id="c", name="C", type=type_, initial=initial),))
    comparison = Comparison("c", operator, tuple(Constant(*value) for value in values))
    return bool(matching([found], schema, [comparison]))


def number(text: str) -> tuple[Any, str]:
    return "number", text


def string(text: str) -> tuple[Any, str]:
    return "string", text


@pytest.mark.parametrize(
    ("operator", "value", "expected"),
    [
        ("=", "5", True),
        ("=", "10", True),
        ("=", "10.5", False),
        ("=", "11", False),
        ("=", "-1", False),
        ("<=>", "11", False),
        ("<", "0", True),  # as `<=`, which keeps more
        ("<", "-1", False),
        ("<=", "0", True),
        (">", "10.1", False),
        (">=", "10", True),
        (">", "-5", True),
        ("in", "11", False),
    ],
)
def test_integers(operator: str, value: str, expected: bool) -> None:
    assert kept("int", block(0, 10, 0), operator, number(value)) is expected


def test_any_value_of_a_list() -> None:
    found = block(0, 10, 0)
    assert kept("int", found, "in", number("50"), number("3"))
    assert not kept("int", found, "in", number("50"), number("60"))
    assert kept("int", found, "in", number("50"), string("60"))  # Spark casts: who knows what


def test_nulls() -> None:
    assert not kept("int", block(0, 1, 0), "is null")
    assert kept("int", block(0, 1, 1), "is null")
    assert kept("int", block(0, 1, -1), "is null")
    nothing_but_null = block(None, None, ROWS)
    assert not kept("int", nothing_but_null, "is not null")
    assert not kept("int", nothing_but_null, "=", number("1"))
    assert not kept("array<int>", nothing_but_null, "is not null")
    assert kept("int", block(None, None, -1), "=", number("1"))
    assert kept("int", block(), "=", number("1"))
    assert kept("int", block(None, 5, 0), "<", number("-100"))


def test_a_file_without_the_column_shows_its_initial_value() -> None:
    """Its manifest counts NULLs there."""
    without = block(None, None, ROWS)
    assert kept("int", without, "=", number("5"), initial="5")
    assert kept("int", without, "is not null", initial="5")
    assert not kept("int", block(7, 9, 0), "=", number("5"), initial="5")


def test_not_a_number_is_above_every_bound() -> None:
    found = block(0.5, 2.5, 0)
    assert kept("double", found, ">", number("3"))
    assert kept("double", found, ">=", number("3"))
    assert not kept("double", found, "=", number("3"))
    assert not kept("double", found, "<", number("0.4"))
    assert kept("double", block(0.1, 0.1, 0), "=", number("0.1"))
    assert kept("double", block(-0.0, -0.0, 0), "=", number("0"))


def test_decimals_by_value() -> None:
    assert kept("decimal(10,2)", block("9.50", "10.00", 0), "=", number("10"))
    assert not kept("decimal(10,2)", block("9.50", "10.00", 0), "=", number("9.4"))
    assert kept("decimal(38,2)", block("9.50", "10.00", 0), "=", number("1" * 35))


def test_texts_by_code_point_and_shortened_bounds() -> None:
    assert kept("string", block("a", "c", 0), "=", string("bzzz"))
    assert not kept("string", block("a", "c", 0), "=", string("cc"))
    assert not kept("varchar(9)", block("a", "c", 0), "=", string("B"))
    assert not kept("string", block("a", "\ue000", 0), ">", string("\U0001f600"))
    assert kept("string", block("a", None, 0), "=", string("zzz"))
    assert kept("string", block("x" * 64, "x" * 63 + "y", 0), "=", string("x" * 80))


@pytest.mark.parametrize(
    ("type_", "value"),
    [
        ("string collate utf8_lcase", string("B")),
        ("char(5)", string("B")),
        ("string", number("7")),
        ("int", string("B")),
        ("boolean", ("boolean", "true")),
        ("binary", string("B")),
        ("bigint", ("date", "2020-01-01")),
    ],
)
def test_what_is_not_sure_is_kept(type_: str, value: tuple[Any, str]) -> None:
    assert kept(type_, block("b", "b", 0), "=", value)


def test_dates() -> None:
    found = block(0, 10, 0)
    for kind in ("string", "date"):
        assert kept("date", found, "=", (kind, "1970-01-11"))
        assert not kept("date", found, "=", (kind, "1970-01-12"))
    assert kept("date", found, "=", string("1970-1-12"))
    assert kept("date", found, "=", string("1970-02-30"))
    assert kept("date", found, "=", ("timestamp", "2020-01-01"))


@pytest.mark.parametrize("type_", ["timestamp", "timestamp_ntz"])
def test_timestamps_in_any_time_zone(type_: str) -> None:
    hour = 3_600_000_000
    found = block(0, hour, 0)
    assert kept(type_, found, "=", ("timestamp", "1970-01-01 18:00:00"))
    assert kept(type_, found, "=", string("1970-01-02T00:59:00.5Z"))
    assert not kept(type_, found, "=", ("timestamp", "1970-01-02 01:30:00"))
    assert not kept(type_, found, ">=", ("timestamp", "1970-01-03"))
    assert kept(type_, found, "<", ("date", "1970-01-01"))
    assert not kept(type_, found, "<", ("date", "1969-12-30"))
    assert kept(type_, found, "=", string("2020-01-01 00:00:00 Europe/Rome"))
    assert kept(type_, found, "=", string("now"))


def test_all_comparisons_must_be_possible_and_unknown_columns_say_nothing() -> None:
    schema = Schema(fields=(Field(id="c", name="c", type="int"),))
    low = Comparison("c", ">=", (Constant("number", "5"),))
    high = Comparison("c", "<=", (Constant("number", "-5"),))
    other = Comparison("nope", "=", (Constant("number", "1"),))
    assert matching([block(0, 10, 0)], schema, [low, other])
    assert not matching([block(0, 10, 0)], schema, [low, high])


def test_keys_of_a_source() -> None:
    def left(type_: str, found: Block, low: Any, high: Any) -> bool:
        return bool(within([found], Field(id="c", name="c", type=type_), low, high))

    assert left("bigint", block(0, 10, 0), 10, 20)
    assert not left("bigint", block(0, 10, 0), 11, 20)
    assert not left("bigint", block(0, 10, 0), None, None)
    assert not left("decimal(4,1)", block("1.0", "2.0", 0), Decimal("2.1"), Decimal("3.0"))
    assert not left("date", block(0, 10, 0), date(1970, 1, 12), date(1971, 1, 1))
    assert left("date", block(0, 10, 0), date(1970, 1, 11), date(1971, 1, 1))
    assert left("double", block(0.0, 1.0, 0), 5.0, 6.0)
    assert left("timestamp", block(0, 1, 0), 5, 6)
