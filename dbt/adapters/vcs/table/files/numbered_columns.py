"""Numbered columns: Arrow schemas whose fields carry the numbers that other engines know them by.

A reader that takes columns by number finds NULL where a field has none. So either all fields of a
file have a number or none has; without any, readers match columns by name.
"""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from dbt.adapters.vcs.core.ids import field_number
from dbt.adapters.vcs.core.model.snapshot import RESERVED

_KEY: Final = b"PARQUET:field_id"
"""Metadata of an Arrow field that its Parquet writer stores as the field's id."""

_VARIANT: Final = ({"metadata", "value"}, {"metadata", "value", "typed_value"})
"""Names of the parts in which a file keeps a VARIANT; these have no numbers."""


def numbered(schema: pa.Schema, *, is_stored: bool = False) -> pa.Schema:
    """Return the schema with which to write a file: with numbers, or without any.

    Args:
        schema: Columns named by field id. Our own, such as the places of deleted rows, stay
            without a number.
        is_stored: True for the schema of a file, where a VARIANT looks like a struct. It is told
            by its parts, which have no numbers where others have; in a file without numbers it
            can't be told, so the new file has none either.
    """
    numbers: list[int] = []
    fields = [_numbered(field, (field.name,), numbers, is_stored) for field in schema]
    unclear = (
        is_stored
        and not any(_KEY in (field.metadata or {}) for field in schema)
        and any(_may_hold_variant(field.type) for field in schema)
    )
    if unclear or len(set(numbers)) < len(numbers):
        fields = [_plain(field) for field in schema]
    return pa.schema(fields, schema.metadata)


def _numbered(
    field: pa.Field, path: tuple[str, ...], numbers: list[int], is_stored: bool
) -> pa.Field:
    """Return a field with numbers, which are added to a list."""
    if path[0].startswith(RESERVED):
        return _plain(field)
    number = field_number(*path)
    numbers.append(number)
    metadata = {**(field.metadata or {}), _KEY: str(number).encode()}
    type_ = field.type
    if pa.types.is_struct(type_):
        bare = is_stored and _looks_like_variant(type_)
        bare = bare and not any(_KEY in (part.metadata or {}) for part in type_)
        if not bare:
            type_ = pa.struct(
                [_numbered(part, (*path, part.name), numbers, is_stored) for part in type_]
            )
    elif pa.types.is_map(type_):
        type_ = pa.map_(
            _numbered(type_.key_field, (*path, "key"), numbers, is_stored),
            _numbered(type_.item_field, (*path, "value"), numbers, is_stored),
        )
    elif pa.types.is_list(type_):
        type_ = pa.list_(_numbered(type_.value_field, (*path, "element"), numbers, is_stored))
    return pa.field(field.name, type_, field.nullable, metadata)


def _plain(field: pa.Field) -> pa.Field:
    """Return a field without numbers."""
    metadata = {key: value for key, value in (field.metadata or {}).items() if key != _KEY}
    type_ = field.type
    if pa.types.is_struct(type_):
        type_ = pa.struct(list(map(_plain, type_)))
    elif pa.types.is_map(type_):
        type_ = pa.map_(_plain(type_.key_field), _plain(type_.item_field))
    elif pa.types.is_list(type_):
        type_ = pa.list_(_plain(type_.value_field))
    return pa.field(field.name, type_, field.nullable, metadata or None)


def _may_hold_variant(type_: pa.DataType) -> bool:
    if pa.types.is_struct(type_):
        return _looks_like_variant(type_) or any(_may_hold_variant(part.type) for part in type_)
    if pa.types.is_map(type_):
        return _may_hold_variant(type_.key_type) or _may_hold_variant(type_.item_type)
    return pa.types.is_list(type_) and _may_hold_variant(type_.value_type)


def _looks_like_variant(type_: pa.StructType) -> bool:
    return {part.name for part in type_} in _VARIANT
