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

Rows that come as Arrow tables are converted a column at a time, by `fitted_rows`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import datetime, time, timezone, tzinfo
from decimal import Decimal
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dbt.adapters.vcs.core.errors import InputError, UnsupportedError
from dbt.adapters.vcs.core.model import Field, RelationName, Schema
from dbt.adapters.vcs.core.model.data_type import type_of
from dbt.adapters.vcs.core.model.snapshot import fitted
from dbt.adapters.vcs.table.python_values import (
    FarMoment,
    near_year,
    number_of,
    python_value,
    python_values,
)
from dbt.adapters.vcs.table.types import arrow_type

Given: TypeAlias = str | pa.Scalar
"""A value as text, or as an engine or YAML computed it."""

_NUMBER: Final = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,9})?")
_NO_NUMBER: Final = re.compile(r"nan|[+-]?inf(inity)?", re.IGNORECASE)
# Dates are days in 32 bits, and reach the year 5881580: seven digits.
_MOMENT: Final = re.compile(
    r"(?P<year>[+-]?[0-9]{4,7})(?P<day>-[0-9]{2}-[0-9]{2})"
    r"([T ](?P<time>[0-9]{2}:[0-9]{2}(:[0-9]{2})?)(\.(?P<fraction>[0-9]+))?"
    r" ?(?P<zone>[zZ]|[+-][0-9]{2}(:?[0-9]{2})?)?)?"
)
_MICROS: Final = 6


def exact_value(given: Given, type_: str, zone: tzinfo = timezone.utc) -> pa.Scalar:
    """Convert a value to a type by the table above; NULL stays NULL.

    Args:
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


def key_value(
    name: RelationName,
    column: str,
    type_: str,
    given: Given,
    zone: tzinfo = timezone.utc,
) -> pa.Scalar:
    """Convert a given value to a column's type, without loss.

    All values that people give for rows pass through here; `exact_value` has the rules. A time
    without an offset is in the given zone.

    Raises:
        InputError: The type doesn't hold it.
        UnsupportedError: Arrow has no such type (intervals, VARIANT).
    """
    try:
        return exact_value(given, type_, zone)
    except (ValueError, OverflowError) as error:
        shown = repr(given) if isinstance(given, str) else str(given)
        raise InputError(
            f"{shown} is not a value of the column {column} of {name}, which is {type_} ({error})."
        ) from error


def _of_text(text: str, type_: str, wanted: pa.DataType, zone: tzinfo) -> Any:
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
    kind, for_text = given.type, pa.types.is_string(wanted)
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return str(given.as_py())
    if pa.types.is_boolean(kind):
        fits = pa.types.is_boolean(wanted)
    elif _is_number(kind):
        # An engine computed with all digits of a float; its text would be one of several.
        fits = _is_number(wanted) or (for_text and not pa.types.is_floating(kind))
    elif pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        fits = for_text or pa.types.is_temporal(wanted)
    else:
        raise ValueError(
            f"found a value of the type {kind}; write it in quotes, as the column has it"
        )
    if not fits:
        raise ValueError(f"found a value of the type {kind}; write it in quotes")
    if pa.types.is_temporal(kind):
        return _moment_text(given, wanted, zone)
    if pa.types.is_floating(kind):
        return _shortest(given.as_py(), kind)
    return format(given.as_py(), "f") if pa.types.is_decimal(kind) else str(given.as_py())


def _moment_text(given: pa.Scalar, wanted: pa.DataType, zone: tzinfo) -> str:
    """Convert a date or time to the wanted type: an instant in UTC, else in the zone."""
    moment = python_value(given)
    if isinstance(moment, FarMoment) and given.type != wanted:
        raise ValueError("a date of another type has a year from 1 to 9999")
    if isinstance(moment, datetime) and moment.tzinfo is not None:
        is_instant = pa.types.is_timestamp(wanted) and wanted.tz is not None
        moment = moment.astimezone(timezone.utc if is_instant else zone)
        moment = moment if is_instant else moment.replace(tzinfo=None)
    return str(moment)


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
    # First, as int() of 1e999999999 would fill the memory.
    if not low <= number <= high:
        raise ValueError(f"expected a number from {low} to {high}")
    if number != int(number):
        raise ValueError("expected a number without a fraction")
    return int(number)


def _decimal(text: str, wanted: pa.DataType) -> Decimal:
    number = _number(text)
    # Zero fits, however many zeros it is written with.
    if not number:
        return Decimal(0)
    sign, digits, exponent = number.as_tuple()
    # It is a letter for NaN and infinities, which `_NUMBER` doesn't match.
    assert isinstance(exponent, int)
    # Zeros at the end need no digit of the type: 1.50 fits decimal(2,1).
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
        # From the text, as by way of a double it could be rounded twice.
        with np.errstate(over="ignore"):
            value = float(np.float32(text))
    # A float is written with just enough digits to tell it from others, or with all of them.
    shown = _shortest(value, wanted)
    if number not in (Decimal(shown), Decimal(value)):
        raise ValueError(f"the nearest one is {shown}")
    return value


def _shortest(value: float, type_: pa.DataType) -> str:
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
        # Python 3.10 reads no offsets but those like +01:00.
        written = f"{moment.isoformat()}{offset[0]}{digits[:2]}:{digits[2:]}"
        return datetime.fromisoformat(written).astimezone(timezone.utc)
    here = moment.replace(tzinfo=timezone.utc if offset else zone)
    instant = here.astimezone(timezone.utc)
    # Python moves a time that a clock skipped by an hour, without a word.
    if instant.astimezone(here.tzinfo).replace(tzinfo=None) != moment:
        raise ValueError(f"there is no such time in the time zone {zone}: clocks were put forward")
    return instant


def _nested(given: pa.Scalar, wanted: pa.DataType) -> pa.Scalar:
    # Some of Arrow's casts round without a word, so the value has to come back.
    try:
        value = pc.cast(given, wanted)
        back = pc.cast(value, given.type)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise ValueError(f"found a value of the type {given.type}") from error
    if not back.equals(given):
        raise ValueError(f"found a value of the type {given.type} with more digits")
    return value


_SHOWN: Final = 3


def fitted_rows(name: RelationName, rows: pa.Table, schema: Schema) -> pa.Table:
    """Return rows with a table's columns, named by field id, in its types.

    Columns are found by name, in any case. One that is not given is NULL. Values are kept as they
    are: numbers become wider or narrower numbers, a time without a zone is in UTC, and texts are
    padded or cut as char(n) and varchar(n) are. Of what a type can't hold nothing is rounded,
    except floats in narrower ones.

    Args:
        name: What errors call the table.
        schema: The table's columns.

    Raises:
        InputError: A column is unknown, lacking or given twice, or doesn't hold a value.
        UnsupportedError: Only Spark can write a column's type or default.
    """
    given = _by_name(name, rows.schema, schema)
    columns = [_column(name, rows, given.get(field.id), field) for field in schema.fields]
    return pa.table(columns, names=[field.id for field in schema.fields])


def _by_name(name: RelationName, given: pa.Schema, schema: Schema) -> Mapping[str, int]:
    """Return the places of the given columns, by field id."""
    places: dict[str, int] = {}
    for place, column in enumerate(given.names):
        field = schema.find(column)
        if field is None:
            raise InputError(
                f"{name} has no column {column}; it has: {', '.join(schema.names)}. Nothing was "
                "changed. Leave the column out, or add it: alter table "
                f"{name} add columns ({column} ...)."
            )
        if field.id in places:
            raise InputError(f"The column {field.name} of {name} was given twice.")
        places[field.id] = place
    return places


def _column(name: RelationName, rows: pa.Table, place: int | None, field: Field) -> Any:
    wanted = arrow_type(field.type)
    if place is None:
        if field.default is not None:
            raise UnsupportedError(
                f"The column {field.name} of {name} has the default {field.default}, which only "
                "SQL computes. Nothing was changed. Give its values, or write with SQL."
            )
        return pa.nulls(rows.num_rows, wanted)
    column = _decoded(rows.column(place))
    try:
        found = _exact(column, wanted)
    except (pa.ArrowException, ValueError, OverflowError) as error:
        raise InputError(
            f"The column {field.name} of {name} is {field.type}, and a value that was given as "
            f"{column.type} doesn't fit: {error}. Nothing was changed; convert the values first."
        ) from error
    if found is None:
        raise InputError(
            f"The column {field.name} of {name} is {field.type}, and was given as {column.type}. "
            "Nothing was changed; convert the values first."
        )
    return limited(str(name), found, field)


def _decoded(column: Any) -> Any:
    """Return a column without dictionaries and views."""
    type_ = column.type
    if pa.types.is_dictionary(type_):
        return _decoded(column.cast(type_.value_type))
    if pa.types.is_string_view(type_):
        return column.cast(pa.large_string())
    if pa.types.is_binary_view(type_):
        return column.cast(pa.large_binary())
    return column


def _exact(column: Any, wanted: pa.DataType) -> Any:
    """Return values in another type; None if it has other values altogether.

    Raises:
        ArrowException: A value doesn't fit. ValueError: It would be rounded.
    """
    given = column.type
    if given == wanted:
        return column
    if pa.types.is_null(given):
        return pa.nulls(len(column), wanted)
    if pa.types.is_nested(wanted):
        return column.cast(wanted) if _is_alike(given, wanted) else None
    if pa.types.is_floating(given) and pa.types.is_floating(wanted):
        return column.cast(wanted)
    if _is_number(given) and _is_number(wanted):
        return _same_back(column, column.cast(wanted))
    if pa.types.is_temporal(wanted):
        return _moments(column, wanted)
    return column.cast(wanted) if _kind(given) == _kind(wanted) is not None else None


def _moments(column: Any, wanted: pa.DataType) -> Any:
    given = column.type
    zoned = pa.types.is_timestamp(given) and given.tz is not None
    if not (pa.types.is_date(given) or pa.types.is_timestamp(given)):
        return None
    if pa.types.is_timestamp(wanted):
        if wanted.tz is None:
            return None if zoned else column.cast(wanted)
        # Between a zone and another one, or from none, which is UTC here.
        return column.cast(wanted) if zoned else column.cast(pa.timestamp("us")).cast(wanted)
    return None if zoned else _same_back(column, column.cast(wanted))


def _same_back(column: Any, found: Any) -> Any:
    """Return the values found if they lead back to those given.

    Raises:
        ValueError: One was rounded.
    """
    if pa.types.is_decimal(column.type) and pa.types.is_floating(found.type):
        # Hardly any decimal has an exact float, so nobody can expect one to come back.
        return found
    # Unsafe, so that what doesn't fit back is found as a difference below, with its value.
    back = found.cast(column.type, safe=False)
    differs = pc.fill_null(pc.not_equal(back, column), pa.scalar(False))
    if pc.any(differs).as_py():
        some = python_values(column.filter(differs).slice(0, _SHOWN))
        raise ValueError(f"{', '.join(map(str, some))} would be rounded")
    return found


def _is_alike(given: pa.DataType, wanted: pa.DataType) -> bool:
    """Return whether nested values have the same shape, and Arrow casts their parts exactly."""
    if given == wanted or pa.types.is_null(given):
        return True
    one, other = _shape(given), _shape(wanted)
    return one[0] == other[0] is not None and all(map(_is_alike, one[1], other[1]))


def _shape(type_: pa.DataType) -> tuple[object, tuple[pa.DataType, ...]]:
    """Return what nested values have in common, None if nothing, and the types of their parts."""
    if pa.types.is_struct(type_):
        names = tuple(field.name for field in type_)
        return names, tuple(field.type for field in type_)
    if pa.types.is_map(type_):
        return "map", (type_.key_type, type_.item_type)
    if _is_one_of(type_, pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list):
        return "list", (type_.value_type,)
    if pa.types.is_timestamp(type_):
        return ("timestamp", type_.tz), ()
    for is_one in (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal):
        if is_one(type_):
            return is_one.__name__, ()
    return _kind(type_), ()


def _kind(type_: pa.DataType) -> str | None:
    """Return what types that differ only in how values are laid out have in common."""
    if pa.types.is_string(type_) or pa.types.is_large_string(type_):
        return "text"
    binaries = pa.types.is_binary, pa.types.is_large_binary, pa.types.is_fixed_size_binary
    return "binary" if _is_one_of(type_, *binaries) else None


def _is_number(type_: pa.DataType) -> bool:
    return _is_one_of(type_, pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal)


def _is_one_of(type_: pa.DataType, *tests: Callable[[pa.DataType], bool]) -> bool:
    return any(is_one(type_) for is_one in tests)


def limited(name: str, column: Any, field: Field) -> Any:
    """Return a column with the lengths that char(n) and varchar(n) prescribe.

    Args:
        name: What errors call the table or file.
        column: The values.
        field: The table's column.

    Raises:
        InputError: A text is too long.
        UnsupportedError: The texts are within nested values.
    """
    length = type_of(field.type).length
    if length is None:
        if "char(" in field.type:
            raise UnsupportedError(
                f"The column {field.name} of {name} is {field.type}: only Spark checks lengths "
                "within nested values. Nothing was changed. Write with SQL."
            )
        return column
    # Texts of a bounded length repeat, so each is padded and measured once.
    texts = column.combine_chunks().dictionary_encode()
    values = [fitted(text, field.type) for text in texts.dictionary.to_pylist()]
    longest = max(values, key=len, default="")
    if len(longest) > length:
        raise InputError(
            f"The column {field.name} of {name} is {field.type}, and {longest!r} has "
            f"{len(longest)} characters. Nothing was changed; shorten the values first."
        )
    return pa.array(values, pa.string()).take(texts.indices)
