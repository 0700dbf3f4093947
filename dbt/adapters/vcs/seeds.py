"""Seeds: the rows of a CSV file as dbt read them, made Arrow without passing through SQL."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.core.model import Field, Schema
from dbt.adapters.vcs.engines.arrow import arrow_schema

if TYPE_CHECKING:
    import agate


def seed_rows(table: agate.Table, schema: Schema, time_zone: str) -> pa.Table:
    """Return a seed's rows with the columns and types of its table, in the seed's order.

    Text that is to be of another type (`column_types`) is cast as Arrow does; times without a
    zone are taken to be in `time_zone`.

    Raises:
        InputError: A value is not of its column's type.
    """
    target = arrow_schema(schema)
    arrays = []
    names = []
    for name in table.column_names:
        field = schema.field(name)
        values = list(table.columns[name].values())
        arrays.append(_array(values, field, target.field(field.id).type, time_zone))
        names.append(field.id)
    return pa.table(arrays, names=names)


def _array(values: Sequence[Any], field: Field, type: pa.DataType, time_zone: str) -> pa.Array:
    try:
        if any(isinstance(value, str) for value in values):
            return _cast_text(pa.array(values, pa.string()), type, time_zone)
        if pa.types.is_string(type):
            return pa.array([None if v is None else str(v) for v in values], type)
        if pa.types.is_floating(type):
            return pa.array([None if v is None else float(v) for v in values], type)
        if pa.types.is_integer(type):
            return pa.array([None if v is None else _whole(v) for v in values], type)
        return _zoned(pa.array(values), type, time_zone).cast(type)
    except (pa.ArrowException, ValueError, OverflowError, TypeError) as error:
        raise InputError(
            f"The column {field.name} of the seed holds a value that is no {field.type}: {error}. "
            "Mend the file, or give the column another type: column_types in the seed's config."
        ) from error


def _whole(value: Any) -> int:
    number = int(value)
    if number != value:
        raise ValueError(f"{value} is no whole number")
    return number


def _cast_text(array: pa.Array, type: pa.DataType, time_zone: str) -> pa.Array:
    if pa.types.is_string(type):
        return array
    trimmed = pc.utf8_trim_whitespace(array)
    if pa.types.is_timestamp(type):
        return _zoned(trimmed.cast(pa.timestamp("us")), type, time_zone).cast(type)
    if pa.types.is_binary(type):
        return array.cast(type)
    return trimmed.cast(type)


def _zoned(array: pa.Array, type: pa.DataType, time_zone: str) -> pa.Array:
    """Give times without a zone the session's, where the column's type has one."""
    is_naive = pa.types.is_timestamp(array.type) and array.type.tz is None
    if is_naive and pa.types.is_timestamp(type) and type.tz is not None:
        return pc.assume_timezone(array, time_zone)
    return array
