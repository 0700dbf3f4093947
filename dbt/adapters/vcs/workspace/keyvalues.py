"""Key values: what a person writes for a row's column, as a value of the column's type."""

from __future__ import annotations

from datetime import datetime, timezone

import pyarrow as pa
import pyarrow.compute as pc

from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.core.model import RelationName
from dbt.adapters.vcs.engines.types import arrow_type


def key_value(name: RelationName, column: str, type_: str, text: str) -> pa.Scalar:
    """Return a text as a value of a column's type.

    Binary values are written in hex; a time without an offset is in UTC.

    Raises:
        InputError: It is none.
    """
    wanted = arrow_type(type_)
    try:
        if pa.types.is_binary(wanted) or pa.types.is_large_binary(wanted):
            return pa.scalar(bytes.fromhex(text), wanted)
        if pa.types.is_timestamp(wanted):
            return pa.scalar(_moment(text, in_zone=wanted.tz is not None), wanted)
        return pc.cast(pa.scalar(text), wanted)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, ValueError) as error:
        raise InputError(
            f"{text!r} is no value of the column {column} of {name}, which is {type_} ({error})."
        ) from error


def is_value(column: pa.ChunkedArray, value: pa.Scalar) -> pa.ChunkedArray:
    """Tell for each row whether it has the value: NaN is NaN, -0.0 is 0.0, NULL is none."""
    same = pc.equal(column, pc.cast(value, column.type))
    if pa.types.is_floating(column.type) and pc.is_nan(value).as_py():
        same = pc.is_nan(column)
    return pc.fill_null(same, False)


def _moment(text: str, *, in_zone: bool) -> datetime:
    moment = datetime.fromisoformat(text.strip().replace("Z", "+00:00"))
    if not in_zone:
        return moment
    return (
        moment.replace(tzinfo=timezone.utc)
        if moment.tzinfo is None
        else moment.astimezone(timezone.utc)
    )
