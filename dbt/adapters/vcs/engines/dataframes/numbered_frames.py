"""Numbered frames: frames whose files carry the numbers that other engines know columns by."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from dbt.adapters.vcs.core.model.field_number import field_number
from dbt.adapters.vcs.core.model.schema import RESERVED
from dbt.adapters.vcs.engines.dataframes.frame_api import functions_for
from dbt.adapters.vcs.table.quoting import quoted

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import DataType, StructField

NUMBERING: Final = {"spark.sql.parquet.fieldId.write.enabled": "true"}
"""The setting with which Spark writes the numbers of a frame's columns."""

_KEY: Final = "parquet.field.id"
"""Metadata of a column that Spark stores as the id of the field."""


def numbered_frame(frame: DataFrame) -> DataFrame:
    """Return a frame whose columns, named by field id, have their numbers for a Parquet file.

    Either all fields have one or none has: a reader that takes columns by number finds NULL where
    a field has none. Spark can't number the elements of arrays and maps, so a frame with any gets
    no numbers, nor does one with two equal numbers. Our own columns, such as the places of
    deleted rows, stay without.
    """
    fields = frame.schema.fields
    if len({field.name.lower() for field in fields}) < len(fields):
        # Spark says so in its own words when it writes.
        return frame
    numbers: list[int] = []
    new = [_numbered(field, (field.name,), numbers) for field in fields]
    can_number = len(set(numbers)) == len(numbers) and not any(
        _holds_elements(field.dataType) for field in fields if not field.name.startswith(RESERVED)
    )
    if not can_number:
        new = list(map(_plain, fields))
    if new == fields:
        return frame
    functions = functions_for(frame)
    return frame.select([_column(functions, *pair) for pair in zip(fields, new, strict=True)])


def _column(functions: Any, old: StructField, new: StructField) -> Column:
    column: Column = functions.col(quoted(old.name))
    if old.dataType != new.dataType:
        # Only names and types of values are compared when the cast is carried out: it is free.
        column = column.cast(new.dataType)
    return column if old == new else column.alias(new.name, metadata=new.metadata)


def _numbered(field: StructField, path: tuple[str, ...], numbers: list[int]) -> StructField:
    """Return a field with numbers, which are added to a list."""
    if path[0].startswith(RESERVED):
        return _plain(field)
    number = field_number(*path)
    numbers.append(number)
    inner: Any = field.dataType
    if _is_struct(inner):
        inner = _struct([_numbered(part, (*path, part.name), numbers) for part in inner])
    return _replaced(field, inner, {**field.metadata, _KEY: number})


def _plain(field: StructField) -> StructField:
    """Return a field without numbers."""
    metadata = {key: value for key, value in field.metadata.items() if key != _KEY}
    return _replaced(field, _plain_type(field.dataType), metadata)


def _plain_type(type_: DataType) -> DataType:
    from pyspark.sql.types import ArrayType, MapType, StructType

    if isinstance(type_, StructType):
        return _struct(list(map(_plain, type_)))
    if isinstance(type_, ArrayType):
        return ArrayType(_plain_type(type_.elementType), type_.containsNull)
    if isinstance(type_, MapType):
        key, value = _plain_type(type_.keyType), _plain_type(type_.valueType)
        return MapType(key, value, type_.valueContainsNull)
    return type_


def _holds_elements(type_: Any) -> bool:
    if _is_struct(type_):
        return any(_holds_elements(part.dataType) for part in type_)
    return type_.typeName() in ("array", "map")


def _is_struct(type_: Any) -> bool:
    from pyspark.sql.types import StructType

    return isinstance(type_, StructType)


def _struct(parts: list[StructField]) -> DataType:
    from pyspark.sql.types import StructType

    return StructType(parts)


def _replaced(field: StructField, type_: DataType, metadata: dict[str, Any]) -> StructField:
    from pyspark.sql.types import StructField

    return StructField(field.name, type_, field.nullable, metadata)
