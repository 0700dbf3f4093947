"""Type texts: from Spark's types, and to Arrow's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from dbt.adapters.vcs.core.errors import UnsupportedError
from dbt.adapters.vcs.core.model.data_type import Type, type_of

if TYPE_CHECKING:
    from pyspark.sql.types import DataType, StructField

RAW_TYPE_KEY: Final = "__CHAR_VARCHAR_TYPE_STRING"
"""Key in a field's metadata under which Spark keeps a declared char(n) or varchar(n)."""

_SIMPLE: Final[dict[str, pa.DataType]] = {
    "boolean": pa.bool_(),
    "tinyint": pa.int8(),
    "smallint": pa.int16(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "char": pa.string(),
    "varchar": pa.string(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
    "timestamp_ntz": pa.timestamp("us"),
    "void": pa.null(),
}
_PLAIN_TEXTS: Final[dict[pa.DataType, str]] = {
    _SIMPLE[text]: text
    for text in (
        "boolean",
        "tinyint",
        "smallint",
        "int",
        "bigint",
        "float",
        "double",
        "string",
        "binary",
        "date",
        "timestamp_ntz",
    )
}


def type_text(data_type: DataType) -> str:
    """Return the text of a Spark type; struct fields are quoted where necessary."""
    return str(_type(data_type))


def field_type_text(field: StructField) -> str:
    """Return the type text of a column, with the length of char(n) and varchar(n) if declared."""
    raw = (field.metadata or {}).get(RAW_TYPE_KEY)
    return raw if isinstance(raw, str) else type_text(field.dataType)


def arrow_type(text: str) -> pa.DataType:
    """Return the Arrow type that a Spark type is written as.

    Raises:
        UnsupportedError: Arrow has no such type (intervals, VARIANT, TIME).
        InputError: The text is not a type.
    """
    return _arrow(type_of(text), text)


def plain_type_text(type_: pa.DataType) -> str | None:
    """Return the Spark type of plain values; None for times with a zone and nested values.

    Plain values read the same from Spark and from Arrow.
    """
    if pa.types.is_decimal(type_):
        return f"decimal({type_.precision},{type_.scale})"
    return _PLAIN_TEXTS.get(type_)


def _type(data_type: DataType) -> Type:
    kind = data_type.typeName()
    some: Any = data_type
    if kind == "struct":
        names = tuple(field.name for field in some.fields)
        return Type(kind, names=names, parts=tuple(_type(field.dataType) for field in some.fields))
    if kind == "array":
        return Type(kind, parts=(_type(some.elementType),))
    if kind == "map":
        return Type(kind, parts=(_type(some.keyType), _type(some.valueType)))
    return type_of(data_type.simpleString())


def _arrow(type_: Type, text: str) -> pa.DataType:
    if type_.kind == "decimal":
        return pa.decimal128(type_.precision, type_.scale)
    if type_.kind in _SIMPLE:
        return _SIMPLE[type_.kind]
    parts = [_arrow(part, text) for part in type_.parts]
    if type_.kind == "array":
        return pa.list_(pa.field("element", parts[0]))
    if type_.kind == "map":
        return pa.map_(*parts)
    if type_.kind == "struct":
        return pa.struct(list(map(pa.field, type_.names, parts)))
    raise UnsupportedError(
        f"Values of type {text} can't be written from Arrow; write them with a query."
    )
