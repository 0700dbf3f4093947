"""Answers survive the way into a result and back, each value with its type."""

from __future__ import annotations

import math
import struct
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dbt.adapters.vcs.reuse.answer_rows import count_rows, decoded_rows, encoded_rows

PLAIN = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(),
    # Two of them may be one character of the text that is stored.
    st.text(st.characters(categories=["Cs"]), max_size=1),
    st.binary(),
    st.decimals(allow_nan=False),
    st.dates(),
    st.times(),
    st.datetimes(),
    st.datetimes(timezones=st.just(timezone(timedelta(hours=5, minutes=30)))),
    st.timedeltas(),
)
KEYS = st.one_of(st.booleans(), st.integers(), st.text(), st.dates(), st.tuples(st.text()))
VALUES = st.recursive(
    PLAIN,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.tuples(inner, inner),
        st.dictionaries(KEYS, inner, max_size=3),
    ),
    max_leaves=8,
)
ROWS = st.lists(st.lists(VALUES, max_size=4).map(tuple), max_size=5)


def exact(value: Any) -> Any:
    """A value with its type, in a form that tells apart what `==` doesn't."""
    kind = type(value)
    if kind is float:
        return kind, "nan" if math.isnan(value) else struct.pack("d", value)
    if kind is Decimal:
        return kind, value.as_tuple()
    if kind in (list, tuple):
        return kind, [exact(item) for item in value]
    if kind is dict:
        return kind, [(exact(key), exact(item)) for key, item in value.items()]
    if kind is datetime:
        return kind, value, value.fold, value.utcoffset()
    return kind, value


@given(ROWS)
@example([(0.0, -0.0, math.nan, math.inf, -math.inf)])
@example([(1, 1.0, True, Decimal("1"), Decimal("1.00"), 2**63, -(2**63), 2**70)])
@example([(date.min, datetime.max, time.max, timedelta.min, Decimal("1E+5"))])
@example([([None, [None]], {"a": None, "b": {}}, {}, [], ())])
@example([(["float", "1.0"], ["bytes", None], {"float": ["x"]})])
@example([(datetime(2026, 10, 25, 2, 30, fold=1), time(2, 30, fold=1))])
@example([(b"", b"\x00\xff", "\x00", "\ud800", "\N{GRINNING FACE}")])
@example([({1: "a", "1": "b"}, {("a",): [1]})])
@example([])
def test_rows_come_back_exactly(rows: list[tuple[Any, ...]]) -> None:
    text = encoded_rows(rows)
    if text is None:
        return
    assert [exact(row) for row in decoded_rows(text)] == [exact(row) for row in rows]
    assert count_rows(text) == len(rows)


@pytest.mark.parametrize(
    "value", [object(), bytearray(b"a"), frozenset(), type("T", (int,), {})()]
)
def test_what_has_no_text_is_not_kept(value: Any) -> None:
    assert encoded_rows([(value,)]) is None
    assert encoded_rows([([value],)]) is None


def test_long_answers_are_not_kept() -> None:
    assert encoded_rows([(1,)] * 10_001) is None
    assert encoded_rows([("x" * 70_000,)]) is None
    assert encoded_rows([(1,)] * 10_000) is not None
