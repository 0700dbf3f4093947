"""What a person writes for a key finds the row, however its value is held."""

from __future__ import annotations

import re
from datetime import date, datetime, timezone
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.core.model import RelationName
from dbt.adapters.vcs.table.equality import has_value
from dbt.adapters.vcs.table.exact_values import key_value
from dbt.adapters.vcs.table.types import arrow_type

NAME = RelationName("shop", "t")
NOON = datetime(2026, 11, 20, 12)


@pytest.mark.parametrize(
    ("type_", "text", "value"),
    [
        ("int", "7", 7),
        ("string", 'it\'s "q"=x\n', 'it\'s "q"=x\n'),
        ("string", "", ""),
        ("boolean", "true", True),
        ("date", "2026-11-20", date(2026, 11, 20)),
        ("decimal(20,5)", "1.5", Decimal("1.50000")),
        ("double", "1", 1.0),
        ("double", "nan", float("nan")),
        ("double", "0", -0.0),
        ("binary", "00ff", b"\x00\xff"),
        ("timestamp_ntz", "2026-11-20 12:00:00", NOON),
        ("timestamp", "2026-11-20 12:00:00", NOON.replace(tzinfo=timezone.utc)),
        ("timestamp", "2026-11-20 13:00:00+01:00", NOON.replace(tzinfo=timezone.utc)),
        ("timestamp", "2026-11-20T12:00:00Z", NOON.replace(tzinfo=timezone.utc)),
    ],
)
def test_a_text_finds_its_value(type_: str, text: str, value: Any) -> None:
    column = pa.chunked_array([pa.array([value, None], arrow_type(type_))])
    found = has_value(column, key_value(NAME, "k", type_, text))
    assert found.to_pylist() == [True, False]


@pytest.mark.parametrize(
    ("type_", "text"),
    [
        ("int", "x"),
        ("int", "1.5"),
        ("int", ""),
        ("int", " 1"),
        ("int", "1x"),
        ("int", "4294967297"),
        ("int", "1e999999999"),
        ("tinyint", "-129"),
        ("bigint", "9223372036854775808"),
        ("decimal(4,2)", "1.505"),
        ("decimal(4,2)", "100"),
        ("decimal(4,2)", "nan"),
        ("float", "16777217"),
        ("double", "0.10000000000000002345"),
        ("double", "1e400"),
        ("boolean", "1"),
        ("boolean", "yes"),
        ("varchar(2)", "abc"),
        ("char(2)", "abc"),
        ("date", "garbage"),
        ("date", "2026-02-30"),
        ("date", "2026-11-20 00:00:01"),
        ("timestamp", "noon"),
        ("timestamp", "2026-11-20 12:00:00.0000001"),
        ("timestamp", "0001-01-01 00:00:00+14:00"),
        ("timestamp_ntz", "2026-11-20 12:00:00Z"),
        ("binary", "0x"),
        ("binary", "ab cd"),
        ("array<int>", "1"),
    ],
)
def test_what_is_no_value_is_refused(type_: str, text: str) -> None:
    with pytest.raises(InputError, match=r" is not a value of the column k of shop\.t") as caught:
        key_value(NAME, "k", type_, text)
    assert repr(text) in str(caught.value)


INTEGERS = st.integers(-(2**63), 2**63 - 1)
NUMBERS = st.decimals(-(10**13), 10**13, places=6).filter(lambda x: x == x)
DAYS = st.dates()
TIMES = st.datetimes()


@given(
    st.one_of(
        st.tuples(st.sampled_from(["tinyint", "smallint", "int", "bigint"]), INTEGERS),
        st.tuples(st.sampled_from(["int", "decimal(6,2)", "decimal(38,0)"]), NUMBERS),
    )
)
def test_a_number_is_taken_if_and_only_if_it_comes_back_from_the_type(
    case: tuple[str, int | Decimal],
) -> None:
    type_, number = case
    given_ = pa.scalar(number, pa.int64() if isinstance(number, int) else pa.decimal128(20, 6))
    wanted = arrow_type(type_)
    # The oracle: Arrow's checked casts there and back.
    try:
        there = pc.cast(given_, wanted)
        fits = Decimal(there.as_py()) == number
    except pa.ArrowInvalid:
        fits = False
    for value in (str(number), given_):
        if fits:
            assert Decimal(key_value(NAME, "k", type_, value).as_py()) == number
        else:
            with pytest.raises(InputError, match=rf"of shop\.t, which is {re.escape(type_)}"):
                key_value(NAME, "k", type_, value)


@given(st.floats(width=64) | st.floats(width=32), st.sampled_from(["float", "double"]))
def test_a_float_is_found_by_the_text_that_shows_it(number: float, type_: str) -> None:
    column = pa.array([number], arrow_type(type_))
    # Spark and blame show a float by the fewest digits that make it out, as numpy does.
    text = str(column.to_numpy()[0])
    assert has_value(pa.chunked_array([column]), key_value(NAME, "k", type_, text)).to_pylist()[0]


@given(TIMES, st.sampled_from(["date", "timestamp", "timestamp_ntz"]))
def test_a_time_is_taken_if_and_only_if_it_comes_back_from_the_type(
    moment: datetime, type_: str
) -> None:
    fits = type_ != "date" or moment == datetime.combine(moment.date(), datetime.min.time())
    for value in (
        moment.isoformat(" "),
        moment.isoformat(),
        pa.scalar(moment, pa.timestamp("us")),
    ):
        if fits:
            found = key_value(NAME, "k", type_, value).as_py()
            if type_ == "date":
                found = datetime.combine(found, datetime.min.time())
            assert found.replace(tzinfo=None) == moment
        else:
            with pytest.raises(InputError, match="without a time"):
                key_value(NAME, "k", type_, value)


@given(DAYS, st.sampled_from(["date", "timestamp", "timestamp_ntz", "string"]))
def test_a_date_is_one_of_every_type_of_time(day: date, type_: str) -> None:
    for value in (str(day), pa.scalar(day)):
        assert str(key_value(NAME, "k", type_, value).as_py()).startswith(str(day))


@pytest.mark.parametrize(
    ("type_", "value", "words"),
    [
        ("int", pa.scalar(True), "in quotes"),
        ("boolean", pa.scalar(1), "in quotes"),
        ("string", pa.scalar(1.5), "in quotes"),
        ("binary", pa.scalar("ab"), "X'00ff'"),
        ("string", pa.scalar(b"ab"), "found a value of the type binary"),
        ("timestamp", pa.scalar(0), "in quotes"),
        ("date", pa.scalar(NOON), "without a time"),
        ("int", pa.scalar("1x"), "expected a number"),
        ("array<int>", pa.scalar([1.5]), "not a value of the column"),
    ],
)
def test_a_computed_value_of_another_kind_is_refused(
    type_: str, value: pa.Scalar, words: str
) -> None:
    with pytest.raises(InputError, match=words):
        key_value(NAME, "k", type_, value)


def test_a_time_without_an_offset_is_in_the_zone() -> None:
    berlin = ZoneInfo("Europe/Berlin")
    found = key_value(NAME, "k", "timestamp", "2026-11-20 13:00:00", berlin)
    assert found.as_py() == NOON.replace(tzinfo=timezone.utc)
    given_ = pa.scalar(NOON.replace(tzinfo=timezone.utc), pa.timestamp("us", "UTC"))
    assert key_value(NAME, "k", "timestamp_ntz", given_, berlin).as_py().hour == 13
    with pytest.raises(InputError, match="clocks were put forward"):
        key_value(NAME, "k", "timestamp", "2026-03-29 02:30:00", berlin)


def test_null_stays_null() -> None:
    assert key_value(NAME, "k", "int", pa.scalar(None)).as_py() is None


def test_a_value_of_char_is_filled_up() -> None:
    assert key_value(NAME, "k", "char(4)", "ab").as_py() == "ab  "
