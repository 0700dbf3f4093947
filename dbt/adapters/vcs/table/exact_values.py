"""Exact values: a value given for a column is accepted only if its type holds it exactly.

A value is given as text, as on a command line, or was computed by an engine. It is accepted if and
only if it comes back unchanged from the type:

| type                     | text                                                                 |
|--------------------------|----------------------------------------------------------------------|
| boolean                  | `true`, `false`, in any case                                         |
| tinyint ... bigint       | a number without a fraction, within the type's range                 |
| decimal(p,s)             | a number with at most s digits after the point and p - s before it   |
| float, double            | a number that the type shows as it was given; `nan`, `inf`, `-inf`   |
| string, varchar, char    | any text that is not too long; char(n) is padded with spaces         |
| date                     | `2026-11-20`, `+12026-11-20`; a time only if it is midnight          |
| timestamp, timestamp_ntz | `2026-11-20 12:00:00.123456`, or with T; the date alone for midnight |
| binary                   | hex digits, two a byte                                               |

Of an engine's values, numbers are accepted for numbers, dates and times for each other, and texts
for everything but binary. Spark's own store assignment would drop digits and the time of day.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime, time, timezone, tzinfo
from decimal import Decimal
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dbt.adapters.vcs.core.model.data_type import type_of
from dbt.adapters.vcs.table.python_values import FarMoment, near_year, number_of, python_value
from dbt.adapters.vcs.table.types import arrow_type

Given: TypeAlias = str | pa.Scalar
"""A value as text, or as an engine or YAML computed it."""

_NUMBER: Final = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,9})?")
_NO_NUMBER: Final = re.compile(r"nan|[+-]?inf(inity)?", re.IGNORECASE)
_MOMENT: Final = re.compile(
    r"(?P<year>[+-]?[0-9]{4,7})(?P<day>-[0-9]{2}-[0-9]{2})"
    r"([T ](?P<time>[0-9]{2}:[0-9]{2}(:[0-9]{2})?)(\.(?P<fraction>[0-9]+))?"
    r" ?(?P<zone>[zZ]|[+-][0-9]{2}(:?[0-9]{2})?)?)?"
)
_MICROS: Final = 6


def exact_value(given: Given, type_: str, zone: tzinfo = timezone.utc) -> pa.Scalar:
    """Convert a value to a type by the table above; NULL stays NULL.

    Args:
        given: The value.
        type_: The text of a Spark type.
        zone: The time zone of a time without an offset.

    Raises:
        ValueError: The type doesn't hold it; the message is a clause that says why.
        UnsupportedError: Arrow has no such type (intervals, VARIANT).
    """
    wanted = arrow_type(type_)
    if isinstance(given, str):
        return pa.scalar(_of_text(given, type_, wanted, zone), wanted)
    if not given.is_valid:
        return pa.scalar(None, wanted)
    if pa.types.is_nested(wanted) or pa.types.is_nested(given.type):
        return _nested(given, wanted)
    if pa.types.is_binary(given.type) or pa.types.is_binary(wanted):
        if given.type != wanted:
            hint = "; binary is written X'00ff'" if pa.types.is_binary(wanted) else ""
            raise ValueError(f"found a value of the type {given.type}{hint}")
        return given
    text = _text_of(given, wanted, zone)
    return pa.scalar(_of_text(text, type_, wanted, zone), wanted)


def _of_text(text: str, type_: str, wanted: pa.DataType, zone: tzinfo) -> Any:
    """Parse a text as a Python value."""
    if pa.types.is_string(wanted):
        return _limited(text, type_)
    if pa.types.is_boolean(wanted):
        return _word(text)
    if pa.types.is_integer(wanted):
        return _integer(text, wanted)
    if pa.types.is_decimal(wanted):
        return _decimal(text, wanted)
    if pa.types.is_floating(wanted):
        return _float(text, wanted)
    if pa.types.is_date(wanted) or pa.types.is_timestamp(wanted):
        return _time(text, wanted, zone)
    if pa.types.is_binary(wanted):
        if not re.fullmatch(r"([0-9a-fA-F]{2})*", text):
            raise ValueError("expected hex digits, two a byte")
        return bytes.fromhex(text)
    raise ValueError("values of this type can't be written as text")


def _text_of(given: pa.Scalar, wanted: pa.DataType, zone: tzinfo) -> str:
    """Return the text for a value from an engine."""
    kind = given.type
    for kinds, fits, text_of in _TEXTS:
        if any(is_kind(kind) for is_kind in kinds):
            if not fits(wanted):
                raise ValueError(f"found a value of the type {kind}; write it in quotes")
            return text_of(given, wanted, zone)
    raise ValueError(f"found a value of the type {kind}; write it in quotes, as the column has it")


def _plain(given: pa.Scalar, wanted: pa.DataType, zone: tzinfo) -> str:
    return str(given.as_py())


def _fixed_point(given: pa.Scalar, wanted: pa.DataType, zone: tzinfo) -> str:
    return format(given.as_py(), "f")


def _floating(given: pa.Scalar, wanted: pa.DataType, zone: tzinfo) -> str:
    return _shown(given.as_py(), given.type)


def _date_or_time(given: pa.Scalar, wanted: pa.DataType, zone: tzinfo) -> str:
    """Convert a date or time to the wanted type: an instant in UTC, else in the zone."""
    moment = python_value(given)
    if isinstance(moment, FarMoment) and given.type != wanted:
        raise ValueError("a date of another type has a year from 1 to 9999")
    if isinstance(moment, datetime) and moment.tzinfo is not None:
        is_instant = pa.types.is_timestamp(wanted) and wanted.tz is not None
        moment = moment.astimezone(timezone.utc if is_instant else zone)
        moment = moment if is_instant else moment.replace(tzinfo=None)
    return str(moment)


def _is_number(type_: pa.DataType) -> bool:
    return bool(
        pa.types.is_integer(type_) or pa.types.is_decimal(type_) or pa.types.is_floating(type_)
    )


def _takes_numbers(type_: pa.DataType) -> bool:
    return bool(pa.types.is_string(type_)) or _is_number(type_)


def _takes_times(type_: pa.DataType) -> bool:
    return bool(pa.types.is_string(type_) or pa.types.is_temporal(type_))


def _takes_all(type_: pa.DataType) -> bool:
    return True


_TextOf: TypeAlias = Callable[[pa.Scalar, pa.DataType, tzinfo], str]
_Test: TypeAlias = Callable[[pa.DataType], bool]
# Types of values from an engine, the types that accept them, and their text form.
_TEXTS: Final[tuple[tuple[tuple[_Test, ...], _Test, _TextOf], ...]] = (
    ((pa.types.is_string, pa.types.is_large_string), _takes_all, _plain),
    ((pa.types.is_boolean,), pa.types.is_boolean, _plain),
    ((pa.types.is_integer,), _takes_numbers, _plain),
    ((pa.types.is_decimal,), _takes_numbers, _fixed_point),
    ((pa.types.is_floating,), _is_number, _floating),
    ((pa.types.is_date, pa.types.is_timestamp), _takes_times, _date_or_time),
)


def _word(text: str) -> bool:
    words = {"true": True, "false": False}
    if text.lower() not in words:
        raise ValueError("expected true or false")
    return words[text.lower()]


def _number(text: str) -> Decimal:
    if not _NUMBER.fullmatch(text):
        raise ValueError("expected a number")
    return Decimal(text)


def _integer(text: str, wanted: pa.DataType) -> int:
    number = _number(text)
    low, high = -(2 ** (wanted.bit_width - 1)), 2 ** (wanted.bit_width - 1) - 1
    if not low <= number <= high:
        raise ValueError(f"expected a number from {low} to {high}")
    if number != int(number):
        raise ValueError("expected a number without a fraction")
    return int(number)


def _decimal(text: str, wanted: pa.DataType) -> Decimal:
    number = _number(text)
    if not number:
        return Decimal(0)
    sign, digits, exponent = number.as_tuple()
    assert isinstance(exponent, int)
    shown = "".join(map(str, digits)).lstrip("0")
    significant = shown.rstrip("0")
    exponent += len(shown) - len(significant)
    if exponent < -wanted.scale:
        raise ValueError(f"expected at most {wanted.scale} digits behind the point")
    if len(significant) + exponent > wanted.precision - wanted.scale:
        before = wanted.precision - wanted.scale
        raise ValueError(f"expected at most {before} digits before the point")
    filled = significant + "0" * (exponent + wanted.scale)
    return Decimal((sign, tuple(map(int, filled)), -wanted.scale))


def _float(text: str, wanted: pa.DataType) -> float:
    if _NO_NUMBER.fullmatch(text):
        return float(text)
    number = _number(text)
    value = float(text)
    if wanted.bit_width == 32:
        with np.errstate(over="ignore"):
            value = float(np.float32(text))
    shown = _shown(value, wanted)
    if number not in (Decimal(shown), Decimal(value)):
        raise ValueError(f"the nearest one is {shown}")
    return value


def _shown(value: float, type_: pa.DataType) -> str:
    """Return the shortest text for a number."""
    return str(np.float32(value)) if type_.bit_width == 32 else repr(value)


def _limited(text: str, type_: str) -> str:
    declared = type_of(type_)
    if declared.length is None:
        return text
    if len(text) > declared.length:
        raise ValueError(f"expected at most {declared.length} characters, found {len(text)}")
    return text if declared.kind == "varchar" else text.ljust(declared.length)


def _time(text: str, wanted: pa.DataType, zone: tzinfo) -> int:
    """Parse a date or time as Arrow's number: days or microseconds since 1970."""
    found = _MOMENT.fullmatch(text)
    if found is None:
        raise ValueError("expected a date or time such as 2026-11-20 or 2026-11-20 12:00:00")
    fraction = found["fraction"] or ""
    if fraction[_MICROS:].strip("0"):
        raise ValueError("expected at most 6 digits of a second")
    year, later = near_year(int(found["year"]))
    moment = datetime.fromisoformat(f"{year:04}{found['day']} {found['time'] or '00:00'}")
    moment = moment.replace(microsecond=int(fraction[:_MICROS].ljust(_MICROS, "0")))
    if pa.types.is_timestamp(wanted) and wanted.tz is not None:
        return number_of(_instant(moment, found["zone"], zone), later)
    if found["zone"]:
        raise ValueError("the type has no time zone; leave the offset out")
    if pa.types.is_timestamp(wanted):
        return number_of(moment, later)
    if moment.time() != time():
        raise ValueError("expected a date without a time")
    return number_of(moment.date(), later)


def _instant(moment: datetime, offset: str | None, zone: tzinfo) -> datetime:
    if offset and offset not in "zZ":
        digits = offset[1:].replace(":", "").ljust(4, "0")
        written = f"{moment.isoformat()}{offset[0]}{digits[:2]}:{digits[2:]}"
        return datetime.fromisoformat(written).astimezone(timezone.utc)
    here = moment.replace(tzinfo=timezone.utc if offset else zone)
    instant = here.astimezone(timezone.utc)
    if instant.astimezone(here.tzinfo).replace(tzinfo=None) != moment:
        raise ValueError(f"there is no such time in the time zone {zone}: clocks were put forward")
    return instant


def _nested(given: pa.Scalar, wanted: pa.DataType) -> pa.Scalar:
    try:
        value = pc.cast(given, wanted)
        back = pc.cast(value, given.type)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise ValueError(f"found a value of the type {given.type}") from error
    if not back.equals(given):
        raise ValueError(f"found a value of the type {given.type} with more digits")
    return value
