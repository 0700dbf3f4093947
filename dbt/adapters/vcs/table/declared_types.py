"""Declared types: the types of a new table's columns, from those of Arrow."""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from dbt.adapters.vcs.core.errors import UnsupportedError
from dbt.adapters.vcs.core.model.data_type import Type

_KINDS: Final[dict[pa.DataType, str]] = {
    pa.bool_(): "boolean",
    pa.int8(): "tinyint",
    pa.uint8(): "smallint",
    pa.int16(): "smallint",
    pa.uint16(): "int",
    pa.int32(): "int",
    pa.uint32(): "bigint",
    pa.int64(): "bigint",
    pa.float16(): "float",
    pa.float32(): "float",
    pa.float64(): "double",
    pa.string(): "string",
    pa.large_string(): "string",
    pa.string_view(): "string",
    pa.binary(): "binary",
    pa.large_binary(): "binary",
    pa.binary_view(): "binary",
    pa.date32(): "date",
    pa.date64(): "date",
}
_MOST_DIGITS: Final = 38


def declared_type(column: str, type_: pa.DataType) -> str:
    """Return the text of the type that holds an Arrow type's values.

    Args:
        column: What errors call the column.
        type_: Its type.

    Raises:
        UnsupportedError: No type of Spark holds them.
    """
    return str(_type(column, type_))


def _type(column: str, type_: pa.DataType) -> Type:
    found = _KINDS.get(type_)
    if found is not None:
        return Type(found)
    if pa.types.is_dictionary(type_):
        return _type(column, type_.value_type)
    nested = _nested(column, type_) if pa.types.is_nested(type_) else _sized(type_)
    if nested is None:
        raise UnsupportedError(
            f"The column {column} is {type_}, which tables don't have. Convert its values first, "
            "or create the table with SQL."
        )
    return nested


def _sized(type_: pa.DataType) -> Type | None:
    if type_ == pa.uint64():
        return Type("decimal", size=(20, 0))
    if pa.types.is_decimal(type_) and 0 <= type_.scale <= type_.precision <= _MOST_DIGITS:
        return Type("decimal", size=(type_.precision, type_.scale))
    if pa.types.is_timestamp(type_):
        return Type("timestamp_ntz" if type_.tz is None else "timestamp")
    return Type("binary") if pa.types.is_fixed_size_binary(type_) else None


def _nested(column: str, type_: pa.DataType) -> Type | None:
    if pa.types.is_map(type_):
        return Type("map", parts=(_type(column, type_.key_type), _type(column, type_.item_type)))
    if pa.types.is_struct(type_):
        names = tuple(field.name for field in type_)
        parts = tuple(_type(column, field.type) for field in type_)
        return Type("struct", names=names, parts=parts)
    lists = pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list
    if any(is_one(type_) for is_one in lists):
        return Type("array", parts=(_type(column, type_.value_type),))
    return None
