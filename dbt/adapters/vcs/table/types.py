"""Types: the texts in manifests, made from Spark's types or Arrow's, and turned into Arrow's."""

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
# Of the three kinds of text, which are one to Arrow, string takes any value.
_PLAIN: Final[dict[pa.DataType, str]] = {
    type_: text
    for text, type_ in _SIMPLE.items()
    if text not in ("char", "varchar", "timestamp", "void")
}
# Spark has no unsigned numbers, so each becomes the next wider one.
_DECLARED: Final[dict[pa.DataType, str]] = {
    **_PLAIN,
    pa.uint8(): "smallint",
    pa.uint16(): "int",
    pa.uint32(): "bigint",
    pa.float16(): "float",
    pa.large_string(): "string",
    pa.string_view(): "string",
    pa.large_binary(): "binary",
    pa.binary_view(): "binary",
    pa.date64(): "date",
}
# Spark's limit, and that of Arrow's decimal128.
_MOST_DIGITS: Final = 38


def type_text(data_type: DataType) -> str:
    """Return the text of a Spark type; struct fields are quoted where necessary."""
    return str(_of_spark(data_type))


def field_type_text(field: StructField) -> str:
    """Return the type text of a column, with the length of char(n) and varchar(n) if declared."""
    raw = (field.metadata or {}).get(RAW_TYPE_KEY)
    return raw if isinstance(raw, str) else type_text(field.dataType)


def _of_spark(data_type: DataType) -> Type:
    kind = data_type.typeName()
    some: Any = data_type
    # `simpleString` doesn't quote names of fields, so nested types are put together here.
    if kind == "struct":
        names = tuple(field.name for field in some.fields)
        parts = tuple(_of_spark(field.dataType) for field in some.fields)
        return Type(kind, names=names, parts=parts)
    if kind == "array":
        return Type(kind, parts=(_of_spark(some.elementType),))
    if kind == "map":
        return Type(kind, parts=(_of_spark(some.keyType), _of_spark(some.valueType)))
    return type_of(data_type.simpleString())


def unlimited(text: str) -> str:
    """Return the type for values already stored: their length is not checked again."""
    return text if type_of(text).length is None else "string"


def arrow_type(text: str) -> pa.DataType:
    """Return the Arrow type that a Spark type is written as.

    Raises:
        UnsupportedError: Arrow has no such type (intervals, VARIANT, TIME).
        InputError: The text is not a type.
    """
    return _arrow(type_of(text), text)


def _arrow(type_: Type, text: str) -> pa.DataType:
    if type_.kind == "decimal":
        return pa.decimal128(type_.precision, type_.scale)
    if type_.kind in _SIMPLE:
        return _SIMPLE[type_.kind]
    parts = [_arrow(part, text) for part in type_.parts]
    if type_.kind == "array":
        # Spark and Parquet name the part so; Arrow's own name, item, would change its number.
        return pa.list_(pa.field("element", parts[0]))
    if type_.kind == "map":
        return pa.map_(*parts)
    if type_.kind == "struct":
        return pa.struct(list(map(pa.field, type_.names, parts)))
    raise UnsupportedError(
        f"Values of type {text} can't be written from Arrow; write them with a query."
    )


def plain_type_text(type_: pa.DataType) -> str | None:
    """Return the Spark type of plain values; None for times with a zone and nested values.

    Plain values read the same from Spark and from Arrow.
    """
    if pa.types.is_decimal(type_):
        return f"decimal({type_.precision},{type_.scale})"
    return _PLAIN.get(type_)


def declared_type(column: str, type_: pa.DataType) -> str:
    """Return the text of the type of a new table's column that holds an Arrow type's values.

    Args:
        column: What errors call the column.

    Raises:
        UnsupportedError: No type of Spark holds them.
    """
    return str(_declared(column, type_))


def _declared(column: str, type_: pa.DataType) -> Type:
    kind = _DECLARED.get(type_)
    if kind is not None:
        return Type(kind)
    if pa.types.is_dictionary(type_):
        return _declared(column, type_.value_type)
    found = _nested(column, type_) if pa.types.is_nested(type_) else _sized(type_)
    if found is None:
        raise UnsupportedError(
            f"The column {column} is {type_}, which tables don't have. Convert its values first, "
            "or create the table with SQL."
        )
    return found


def _sized(type_: pa.DataType) -> Type | None:
    if type_ == pa.uint64():
        # Spark has no wider whole number than bigint, and 2**64 has 20 digits.
        return Type("decimal", size=(20, 0))
    if pa.types.is_decimal(type_) and 0 <= type_.scale <= type_.precision <= _MOST_DIGITS:
        return Type("decimal", size=(type_.precision, type_.scale))
    if pa.types.is_timestamp(type_):
        return Type("timestamp_ntz" if type_.tz is None else "timestamp")
    return Type("binary") if pa.types.is_fixed_size_binary(type_) else None


def _nested(column: str, type_: pa.DataType) -> Type | None:
    if pa.types.is_map(type_):
        entry = type_.key_type, type_.item_type
        return Type("map", parts=tuple(_declared(column, part) for part in entry))
    if pa.types.is_struct(type_):
        names = tuple(field.name for field in type_)
        parts = tuple(_declared(column, field.type) for field in type_)
        return Type("struct", names=names, parts=parts)
    lists = pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list
    if any(is_one(type_) for is_one in lists):
        return Type("array", parts=(_declared(column, type_.value_type),))
    return None
