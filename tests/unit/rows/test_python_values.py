"""Python values: what Arrow has comes out, and goes back as it was, whatever its year."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbt.adapters.vcs.table.exact_values import exact_value
from dbt.adapters.vcs.table.python_values import (
    arrow_array,
    date_text,
    moment_text,
    python_rows,
    python_values,
)

DAY = 86_400_000_000
DAYS = st.integers(-(2**31), 2**31 - 1) | st.integers(-800_000, 4_000_000)
MICROS = st.integers(-(2**63), 2**63 - 1) | st.integers(-800_000 * DAY, 4_000_000 * DAY)
NESTED = pa.struct(
    [
        ("l", pa.list_(pa.date32())),
        ("m", pa.map_(pa.timestamp("us"), pa.timestamp("us", "UTC"))),
    ]
)


def counted(text: str) -> tuple[int, int, int]:
    """Return year, month and day of a date's text."""
    year, month, day = text.lstrip("+-").split("-")
    return (-int(year) if text.startswith("-") else int(year)), int(month), int(day)


@pytest.mark.parametrize(
    ("days", "text"),
    [
        (2932896, "9999-12-31"),
        (2932897, "+10000-01-01"),
        (-719162, "0001-01-01"),
        (-719163, "0000-12-31"),
        (-719529, "-0001-12-31"),
        (2**31 - 1, "+5881580-07-11"),
        (-(2**31), "-5877641-06-23"),
    ],
)
def test_dates_are_spelled_as_spark_does(days: int, text: str) -> None:
    assert date_text(days) == text


@given(DAYS)
def test_each_day_follows_the_one_before(days: int) -> None:
    (year, month, day), (y, m, d) = counted(date_text(days)), counted(date_text(days + 1))
    is_leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    length = [31, 29 if is_leap else 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month - 1]
    if day < length:
        assert (y, m, d) == (year, month, day + 1)
    else:
        assert (y, m, d) == ((year, month + 1, 1) if month < 12 else (year + 1, 1, 1))


@given(st.dates(), st.times())
def test_texts_of_near_years_are_python_s(day: date, clock: Any) -> None:
    days = (day - date(1970, 1, 1)).days
    assert date_text(days) == day.isoformat()
    micros = days * DAY + timedelta(
        hours=clock.hour, minutes=clock.minute, seconds=clock.second
    ) // timedelta(microseconds=1)
    assert moment_text(micros) == f"{day} {clock.replace(microsecond=0).isoformat()}"


@given(st.lists(st.none() | st.tuples(DAYS, MICROS, MICROS), max_size=4))
def test_what_comes_out_goes_back(rows: list[tuple[int, int, int] | None]) -> None:
    made: list[Any] = [
        None if row is None else {"l": [row[0], None], "m": [(row[1], row[2])]} for row in rows
    ]
    column = pa.array(made, NESTED)
    assert arrow_array(python_values(column), NESTED).equals(column)
    for place, type_ in enumerate((pa.date32(), pa.timestamp("us"), pa.timestamp("us", "UTC"))):
        flat = pa.array([None if row is None else row[place] for row in rows], type_)
        assert arrow_array(python_values(flat), type_).equals(flat)
        assert python_rows(pa.table({"a": flat})) == [{"a": v} for v in python_values(flat)]


@given(DAYS, MICROS)
def test_the_text_of_a_value_is_taken_for_it(days: int, micros: int) -> None:
    for number, type_ in ((days, "date"), (micros, "timestamp"), (micros, "timestamp_ntz")):
        wanted = exact_value("1970-01-01", type_).type
        (value,) = python_values(pa.array([number], wanted))
        assert exact_value(str(value), type_).value == number
