"""Seeds: the rows of a CSV file as read by dbt, converted to Arrow without SQL."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from dbt.adapters.vcs.core.errors import InputError, UnsupportedError
from dbt.adapters.vcs.core.model import Field, Schema
from dbt.adapters.vcs.core.model.data_type import type_of
from dbt.adapters.vcs.table.types import arrow_type

if TYPE_CHECKING:
    import agate

_ZONED: Final = r":\d\d\S*(Z|[+-]\d\d(:?\d\d)?)$"
"""A timestamp with a time zone, as Arrow reads it."""

_TIME_OF_DAY: Final = r"^(\S+?)[ T].*$"
"""What Spark ignores when it reads a date."""

_LENGTH: Final = re.compile(r"(?:var)?char\((\d+)\)")


def seed_rows(table: agate.Table, schema: Schema, time_zone: str) -> pa.Table:
    """Return a seed's rows with the columns and types of its table, in the seed's order.

    Text with another column type (`column_types`) is cast by Arrow where Arrow reads it as Spark
    does: a date's time of day is dropped, and timestamps without a zone are in `time_zone`. A
    column with a text that Arrow doesn't read stays text, for Spark to cast.

    Raises:
        InputError: A value doesn't fit its column's type.
    """
    arrays = []
    names = []
    for name in table.column_names:
        field = schema.field(name)
        values = list(table.columns[name].values())
        arrays.append(_array(values, field, time_zone))
        names.append(field.name)
    return pa.table(arrays, names=names)


def _array(values: Sequence[Any], field: Field, time_zone: str) -> pa.Array:
    is_text = any(isinstance(value, str) for value in values)
    if is_text and not type_of(field.type).is_text:
        texts = pa.array(values, pa.string())
        # Spark reads many more spellings than Arrow: 12.0 as an int, Y, 2026-1-5, Europe/Berlin.
        try:
            return _of_text(texts, arrow_type(field.type), time_zone)
        except (pa.ArrowException, ValueError, UnsupportedError):
            return texts
    try:
        return _of_values(values, field, time_zone)
    except (pa.ArrowException, ValueError, OverflowError, TypeError) as error:
        raise misfit(field, str(error)) from error


def _of_values(values: Sequence[Any], field: Field, time_zone: str) -> pa.Array:
    type = arrow_type(field.type)
    if pa.types.is_string(type):
        texts = pa.array([None if v is None else str(v) for v in values], type)
        return _of_length(texts, field)
    if pa.types.is_floating(type):
        return pa.array([None if v is None else float(v) for v in values], type)
    if pa.types.is_integer(type):
        return pa.array([None if v is None else _whole(v, type) for v in values], type)
    if pa.types.is_timestamp(type):
        return _of_times(values, type, time_zone)
    return pa.array(values).cast(type)


def misfit(field: Field, found: str) -> InputError:
    """Return the error for a column with a value that isn't one of its type."""
    return InputError(
        f"The column {field.name} of the seed has a value that is not a valid {field.type}: "
        f"{found}. Fix the file, or give the column another type: column_types in the seed's "
        "config."
    )


def _whole(value: Any, type: pa.DataType) -> int:
    number = int(value)
    if number != value:
        raise ValueError(f"{value} is not a whole number")
    if number.bit_length() >= type.bit_width and number != -(2 ** (type.bit_width - 1)):
        raise ValueError(f"{value} is too large")
    return number


def _of_times(values: Sequence[Any], type: pa.DataType, time_zone: str) -> pa.Array:
    is_zoned = [isinstance(value, datetime) and value.tzinfo is not None for value in values]
    if not any(is_zoned):
        return _zoned(pa.array(values, pa.timestamp("us")), type, time_zone).cast(type)
    pairs = list(zip(values, is_zoned, strict=True))
    zoned = pa.array([v if z else None for v, z in pairs], pa.timestamp("us", "UTC"))
    plain = pa.array([None if z else v for v, z in pairs], pa.timestamp("us"))
    if type.tz is None:
        raise ValueError(f"{next(v for v, z in pairs if z)} has a time zone")
    return pc.coalesce(zoned, _zoned(plain, type, time_zone).cast(zoned.type)).cast(type)


def _of_text(array: pa.Array, type: pa.DataType, time_zone: str) -> pa.Array:
    if pa.types.is_binary(type):
        return array.cast(type)
    trimmed = pc.utf8_trim_whitespace(array)
    if pa.types.is_date(type):
        return pc.replace_substring_regex(trimmed, _TIME_OF_DAY, r"\1").cast(type)
    if not pa.types.is_timestamp(type) or type.tz is None:
        return trimmed.cast(type)
    is_zoned = pc.match_substring_regex(trimmed, _ZONED)
    nothing = pa.scalar(None, pa.string())
    zoned = pc.if_else(is_zoned, trimmed, nothing).cast(pa.timestamp("us", "UTC"))
    plain = pc.if_else(is_zoned, nothing, trimmed).cast(pa.timestamp("us"))
    return pc.coalesce(zoned, _zoned(plain, type, time_zone).cast(zoned.type)).cast(type)


def _of_length(array: pa.Array, field: Field) -> pa.Array:
    """Return text of a `varchar(n)` or `char(n)` column, which is plain text in Arrow."""
    match = _LENGTH.fullmatch(field.type)
    longest = pc.max(pc.utf8_length(array)).as_py()
    if match is not None and longest is not None and longest > int(match[1]):
        raise ValueError(f"a value has {longest} characters")
    return array


def _zoned(array: pa.Array, type: pa.DataType, time_zone: str) -> pa.Array:
    """Add the session's zone to timestamps without one, if the column's type has a zone."""
    if type.tz is None:
        return array
    # If the clock shows an hour twice, use the first one, as Spark does.
    return pc.assume_timezone(array, time_zone, ambiguous="earliest")
