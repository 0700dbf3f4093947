"""Columns, and values of them, as Iceberg has them: schemas, bounds, partitions."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator
from datetime import date, datetime, timezone
from decimal import Context, Decimal
from functools import lru_cache
from typing import Any, Final

from dbt.adapters.vcs.core.errors import UnsupportedError
from dbt.adapters.vcs.core.ids import field_number, micros_of
from dbt.adapters.vcs.core.model import Field, Schema, Snapshot
from dbt.adapters.vcs.core.model.data_type import FLOATS, TEXTS, TIMESTAMPS, Type, type_of
from dbt.adapters.vcs.core.model.snapshot import IDENTIFIERS, fitted

# Of several types here that are one in Iceberg, clients get the last.
_PLAIN: Final = {
    "boolean": "boolean",
    "tinyint": "int",
    "smallint": "int",
    "int": "int",
    "bigint": "long",
    "float": "float",
    "double": "double",
    "char": "string",
    "varchar": "string",
    "string": "string",
    "binary": "binary",
    "date": "date",
    "time": "time",
    "timestamp_ntz": "timestamp",
    "timestamp": "timestamptz",
}
CLIENT_TYPES: Final = {theirs: ours for ours, theirs in _PLAIN.items()}
"""Our words for Iceberg's plain types."""


def iceberg_schema(snapshot: Snapshot, number: int) -> dict[str, Any]:
    """Return the columns of a version as an Iceberg schema with an id.

    Columns are optional, declared NOT NULL or not: an old file may lack one all of whose rows
    there are deleted, and clients refuse frames whose columns may be NULL, as those of pandas, for
    required ones. Commits check for NULL. Only `shown_key` becomes the identifier fields, whose
    columns are required.

    Raises:
        UnsupportedError: Iceberg has no type for a column; the message names it.
    """
    return columns_schema(snapshot.schema.fields, number, shown_key(snapshot))


def shown_key(snapshot: Snapshot) -> tuple[str, ...]:
    """Return ids of the identifier fields: the primary key of a table whose property says so.

    Iceberg allows none with floating-point or nested columns.
    """
    if snapshot.properties.get(IDENTIFIERS) != "true":
        return ()
    for id in snapshot.primary_key:
        field = snapshot.schema.by_id(id)
        if field is None or type_of(field.type).kind in FLOATS or type_of(field.type).is_nested:
            return ()
    return snapshot.primary_key


def columns_schema(
    columns: tuple[Field, ...], number: int, key: tuple[str, ...] = ()
) -> dict[str, Any]:
    """Return columns as an Iceberg schema with an id; see `iceberg_schema`.

    Raises:
        UnsupportedError: Iceberg has no type for a column; the message names it.
    """
    return {"type": "struct", "schema-id": number, **_schema_parts(columns, key)}


@lru_cache(maxsize=256)
def _schema_parts(columns: tuple[Field, ...], key: tuple[str, ...]) -> dict[str, Any]:
    """Return what a schema says besides its id; versions of a table mostly share it."""
    fields = [_field(field, is_required=field.id in key) for field in columns]
    _check_distinct(fields)
    found: dict[str, Any] = {"fields": fields}
    if key:
        found["identifier-field-ids"] = [field_number(id) for id in key]
    return found


def iceberg_type(field: Field) -> Any:
    """Return a column's type: Iceberg's word, or a dictionary for a nested one.

    Raises:
        UnsupportedError: Iceberg has none.
    """
    return _type(type_of(field.type), (field.id,), field)


def name_mapping(schemas: Iterable[Schema]) -> list[dict[str, Any]]:
    """Return which columns the names in files without numbers stand for: names are field ids."""
    # Of all versions: old files may have columns that were dropped since.
    fields = {field.id: field for schema in schemas for field in schema.fields}
    return [_name_entry(field_number(id), id, iceberg_type(fields[id])) for id in fields]


def _field(field: Field, *, is_required: bool) -> dict[str, Any]:
    # Readers would show NULL where we show the default.
    if field.initial is not None:
        raise UnsupportedError(
            f"The column '{field.name}' was added with a default for the rows that were there, "
            f"and its metadata for other engines can't tell it ({field.initial!r}). "
            "Rebuild the table, and other engines can read it."
        )
    found = {
        "id": field_number(field.id),
        "name": field.name,
        "required": is_required,
        "type": iceberg_type(field),
    }
    return found | ({"doc": field.comment} if field.comment else {})


def _type(type_: Type, path: tuple[str, ...], field: Field) -> Any:
    if type_.collation is not None:
        raise _unsupported(field, "Iceberg compares texts by their bytes alone")
    if type_.kind in _PLAIN:
        return _PLAIN[type_.kind]
    if type_.kind == "decimal":
        return f"decimal({type_.precision}, {type_.scale})"
    if type_.kind == "array":
        return {
            "type": "list",
            # Decision 20: numbers are made from names, so that no branch needs a counter.
            "element-id": field_number(*path, "element"),
            "element": _type(type_.parts[0], (*path, "element"), field),
            "element-required": False,
        }
    if type_.kind == "map":
        return {
            "type": "map",
            "key-id": field_number(*path, "key"),
            "key": _type(type_.parts[0], (*path, "key"), field),
            "value-id": field_number(*path, "value"),
            "value": _type(type_.parts[1], (*path, "value"), field),
            "value-required": False,
        }
    if type_.kind == "struct":
        return {"type": "struct", "fields": list(_members(type_, path, field))}
    raise _unsupported(field, "Iceberg has no type that holds the same values")


def _members(type_: Type, path: tuple[str, ...], field: Field) -> Iterator[dict[str, Any]]:
    for name, part in zip(type_.names, type_.parts, strict=True):
        yield {
            "id": field_number(*path, name),
            "name": name,
            "required": False,
            "type": _type(part, (*path, name), field),
        }


def _unsupported(field: Field, why: str) -> UnsupportedError:
    return UnsupportedError(
        f"The column '{field.name}' has the type {field.type}, and {why}. Other engines can't "
        "read the relation; give them one without the column, or with a cast of it."
    )


def _check_distinct(fields: Iterable[dict[str, Any]]) -> None:
    owners: dict[int, str] = {}
    for field in fields:
        name = field["name"]
        for number in _numbers(field["id"], field["type"]):
            other = owners.setdefault(number, name)
            if other != name:
                raise UnsupportedError(
                    f"The columns '{other}' and '{name}' have the same number in Iceberg, "
                    f"{number}, which happens to one of two billion pairs. Other engines can't "
                    "read this table; add one of the columns again under another name."
                )


def _numbers(number: int, type_: Any) -> Iterator[int]:
    """Yield the numbers of a column and of all fields inside it."""
    yield number
    for inner, part in _inside(type_):
        yield from _numbers(inner, part)


def all_numbers(schema: dict[str, Any]) -> Iterator[int]:
    """Yield all numbers in an Iceberg schema."""
    for field in schema["fields"]:
        yield from _numbers(field["id"], field["type"])


def _inside(type_: Any) -> list[tuple[int, Any]]:
    if not isinstance(type_, dict):
        return []
    if type_["type"] == "list":
        return [(type_["element-id"], type_["element"])]
    if type_["type"] == "map":
        return [(type_["key-id"], type_["key"]), (type_["value-id"], type_["value"])]
    return [(field["id"], field["type"]) for field in type_["fields"]]


def _name_entry(number: int, name: str, type_: Any) -> dict[str, Any]:
    names = {"list": ["element"], "map": ["key", "value"]}
    found: dict[str, Any] = {"field-id": number, "names": [name]}
    if isinstance(type_, dict):
        inner = names.get(type_["type"]) or [field["name"] for field in type_["fields"]]
        parts = zip(inner, _inside(type_), strict=True)
        found["fields"] = [_name_entry(part[0], name, part[1]) for name, part in parts]
    return found


Encoder = Callable[[Any], bytes]

_EPOCH_DAY: Final = date(1970, 1, 1).toordinal()
# More digits than a decimal has, else Python rounds to 28.
_EXACT: Final = Context(prec=76)

# Specification, appendix D, "Binary single-value serialization": numbers are little-endian.
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
        return _parsed_value(field, text)
    except (ValueError, ArithmeticError) as error:
        raise UnsupportedError(
            f"The partition column '{field.name}' of type {field.type} has the value {text!r}, "
            "which Iceberg can't hold. Other engines can't read this table; partition it by "
            "another column, or by a cast of this one."
        ) from error


def _parsed_value(field: Field, text: str) -> Any:
    type_ = type_of(field.type)
    if type_.kind in TEXTS:
        return fitted(text, field.type)
    if type_.kind == "boolean":
        return text == "true"
    if type_.kind in FLOATS:
        return float(text)
    if type_.kind == "date":
        return date.fromisoformat(text).toordinal() - _EPOCH_DAY
    # Spark writes a fraction without the zeros at its end, which Python 3.10 refuses.
    if type_.kind in TIMESTAMPS:
        head, point, fraction = text.partition(".")
        padded = head + point + fraction.ljust(6, "0") if point else head
        # Texts of partitions are in UTC (decision 23).
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
        UnsupportedError: The file keeps another scale: Iceberg only widens precision.
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
    # Specification, appendix D: two's complement, the highest byte first, as few as there can be.
    length = max(1, ((number if number >= 0 else ~number).bit_length() + 8) // 8)
    return number.to_bytes(length, "big", signed=True)
