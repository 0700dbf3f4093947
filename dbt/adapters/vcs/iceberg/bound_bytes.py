"""Bounds and partition values of blocks, as Iceberg writes them."""

from __future__ import annotations

import struct
from collections.abc import Callable
from datetime import date, datetime, timezone
from decimal import Context, Decimal
from typing import Any, Final

from dbt.adapters.vcs.core.errors import UnsupportedError
from dbt.adapters.vcs.core.ids import micros_of
from dbt.adapters.vcs.core.model import Field
from dbt.adapters.vcs.core.model.data_type import FLOATS, TEXTS, TIMESTAMPS, type_of
from dbt.adapters.vcs.core.model.snapshot import fitted

Encoder = Callable[[Any], bytes]

_EPOCH_DAY: Final = date(1970, 1, 1).toordinal()
_EXACT: Final = Context(prec=76)
"""More digits than a decimal has, else Python rounds to 28."""

_INT: Final = struct.Struct("<i").pack
_LONG: Final = struct.Struct("<q").pack
_FLOAT: Final = struct.Struct("<f").pack
_DOUBLE: Final = struct.Struct("<d").pack
_PACKED: Final[dict[str, Encoder]] = {
    **dict.fromkeys(("tinyint", "smallint", "int", "date"), _INT),
    **dict.fromkeys(("bigint", *TIMESTAMPS, "time"), _LONG),
    **dict.fromkeys(TEXTS, str.encode),
    "float": _FLOAT,
    "double": _DOUBLE,
    "boolean": lambda value: b"\1" if value else b"\0",
}


def encoder_of(field: Field) -> Encoder | None:
    """Return what turns a column's bounds into bytes; None for a type whose bounds stay out."""
    type_ = type_of(field.type)
    if type_.kind == "decimal":
        return lambda text: _unscaled_bytes(_unscaled(text, type_.scale, field))
    return _PACKED.get(type_.kind)


def lower_encoder_of(field: Field) -> Encoder | None:
    """Return what turns a lower bound into bytes.

    In SQL zero equals negative zero, which Iceberg's readers take for smaller.
    """
    encode = encoder_of(field)
    if encode is None or type_of(field.type).kind not in FLOATS:
        return encode
    plain = encode
    return lambda value: plain(-0.0 if value == 0 else value)


def upper_encoder_of(field: Field) -> Encoder | None:
    """Return what turns an upper bound into bytes; None for floating-point columns.

    NaN is larger than every number in SQL, and an upper bound leaves it out.
    """
    return None if type_of(field.type).kind in FLOATS else encoder_of(field)


def partition_value(field: Field, text: str | None) -> Any:
    """Return a partition's value as Avro has it, from its text in the folder's name.

    Raises:
        UnsupportedError: The text is no value of the column's type that Iceberg could hold.
    """
    if text is None:
        return None
    try:
        return _parsed(field, text)
    except (ValueError, ArithmeticError) as error:
        raise UnsupportedError(
            f"The partition column '{field.name}' of type {field.type} has the value {text!r}, "
            "which Iceberg can't hold. Other engines can't read this table; partition it by "
            "another column, or by a cast of this one."
        ) from error


def _parsed(field: Field, text: str) -> Any:
    type_ = type_of(field.type)
    if type_.kind in TEXTS:
        return fitted(text, field.type)
    if type_.kind == "boolean":
        return text == "true"
    if type_.kind in FLOATS:
        return float(text)
    if type_.kind == "date":
        return date.fromisoformat(text).toordinal() - _EPOCH_DAY
    if type_.kind in TIMESTAMPS:
        head, point, fraction = text.partition(".")
        padded = head + point + fraction.ljust(6, "0") if point else head
        return micros_of(datetime.fromisoformat(padded).replace(tzinfo=timezone.utc))
    if type_.kind == "decimal":
        return Decimal(text).quantize(Decimal(1).scaleb(-type_.scale), context=_EXACT)
    return int(text)


def value_bytes(field: Field, value: Any) -> bytes | None:
    """Return a partition's value as bytes; None if nothing can be ruled out by it."""
    kind = type_of(field.type).kind
    encode = _PACKED.get(kind)
    if kind in FLOATS or value is None:
        return None
    if kind == "decimal":
        return _unscaled_bytes(int(value.scaleb(type_of(field.type).scale, _EXACT)))
    return None if encode is None else encode(value)


def _unscaled(text: str, scale: int, field: Field) -> int:
    """Return a decimal's digits as a whole number.

    Raises:
        UnsupportedError: The file keeps another scale: Iceberg widens precision alone.
    """
    whole, _, fraction = text.partition(".")
    if len(fraction) != scale:
        raise UnsupportedError(
            f"The column '{field.name}' has the type {field.type}, and older files of the table "
            f"hold it with {len(fraction)} digits after the point, which Iceberg can't widen. "
            "Rebuild the table, and other engines can read it."
        )
    return int(whole + fraction)


def _unscaled_bytes(number: int) -> bytes:
    length = max(1, ((number if number >= 0 else ~number).bit_length() + 8) // 8)
    return number.to_bytes(length, "big", signed=True)
