"""Columns as Iceberg's clients declare them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from dbt.adapters.vcs.core.model.data_type import Type
from dbt.adapters.vcs.iceberg.serve.writing.commit_request import Record, bad_request
from dbt.adapters.vcs.sql.syntax.clauses import ColumnDef

_PLAIN: Final = {
    "boolean": "boolean",
    "int": "int",
    "long": "bigint",
    "float": "float",
    "double": "double",
    "string": "string",
    "binary": "binary",
    "date": "date",
    "time": "time",
    "timestamp": "timestamp_ntz",
    "timestamptz": "timestamp",
}
_DECIMAL: Final = re.compile(r"decimal\(\s*(\d+)\s*,\s*(\d+)\s*\)")


@dataclass(frozen=True, slots=True, kw_only=True)
class IcebergColumn:
    """A column of a schema that a client sent.

    Attributes:
        number: Its field id in Iceberg.
        name: Its name.
        shape: Its type in Iceberg without numbers, to compare.
        type: Its type in Spark's words.
        required: True if it can't be NULL.
        comment: Its `doc`, or None.
    """

    number: int
    name: str
    shape: Any
    type: str
    required: bool
    comment: str | None

    @property
    def declared(self) -> ColumnDef:
        """The column as a statement declares it."""
        return ColumnDef(
            name=self.name, type=self.type, nullable=not self.required, comment=self.comment
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class IcebergColumns:
    """The columns of a schema, and the names of those that identify a row."""

    columns: tuple[IcebergColumn, ...]
    key: tuple[str, ...]

    def by_number(self, number: Any) -> IcebergColumn | None:
        """Return the column of a field id, or None."""
        return next((column for column in self.columns if column.number == number), None)


def read_columns(schema: Any) -> IcebergColumns:
    """Return the columns of a schema in a request.

    Raises:
        RestError: It is no schema, or a column has a type that a repository doesn't hold.
    """
    fields = schema.get("fields") if isinstance(schema, Mapping) else None
    if not isinstance(fields, list):
        raise bad_request("Expected a schema with a list of fields.")
    try:
        columns = tuple(_column(field) for field in fields)
    except (KeyError, TypeError) as error:
        raise bad_request(
            f"A type in the schema lacks something that it needs: {error}."
        ) from None
    names = {column.number: column.name for column in columns}
    key = schema.get("identifier-field-ids") or []
    if not isinstance(key, list) or not all(isinstance(number, int) for number in key):
        raise bad_request(f"Expected numbers as identifier-field-ids, found {key!r}.")
    missing = [number for number in key if number not in names]
    if missing:
        raise bad_request(
            f"The identifier field {missing[0]} is no column of the schema's first level."
        )
    return IcebergColumns(columns=columns, key=tuple(names[number] for number in key))


def _column(field: Any) -> IcebergColumn:
    if not isinstance(field, Mapping) or not {"id", "name", "type"} <= set(field):
        raise bad_request(f"Expected a column with id, name and type, found {field!r}.")
    name = str(field["name"])
    if not isinstance(field["id"], int) or not name:
        raise bad_request(f"Expected a column with a number and a name, found {field!r}.")
    if not isinstance(field.get("doc"), str | None):
        raise bad_request(f"Expected a text as doc of {name!r}, found {field['doc']!r}.")
    for key in ("initial-default", "write-default"):
        if field.get(key) is not None:
            raise bad_request(
                f"The column {name!r} has a default ({key}), which clients can't give. Add it "
                "without one, or with `alter table` in dbt-vcs sql."
            )
    return IcebergColumn(
        number=field["id"],
        name=name,
        shape=_shape(field["type"]),
        type=str(_type(field["type"], name)),
        required=bool(field.get("required")),
        comment=field.get("doc") or None,
    )


def _type(given: Any, column: str) -> Type:
    if isinstance(given, str):
        if given in _PLAIN:
            return Type(_PLAIN[given])
        found = _DECIMAL.fullmatch(given)
        if found:
            return Type("decimal", (int(found[1]), int(found[2])))
    elif isinstance(given, Mapping):
        kind = given.get("type")
        if kind == "list":
            return Type("array", parts=(_type(given["element"], column),))
        if kind == "map":
            return Type("map", parts=(_type(given["key"], column), _type(given["value"], column)))
        if kind == "struct":
            parts = [(str(part["name"]), _type(part["type"], column)) for part in given["fields"]]
            return Type(
                "struct", names=tuple(p[0] for p in parts), parts=tuple(p[1] for p in parts)
            )
    raise bad_request(
        f"The column {column!r} has the type {given!r}, which tables of a dbt-vcs repository "
        f"don't have. Use one of {', '.join(_PLAIN)}, decimal(p, s), list, map or struct."
    )


def _shape(given: Any) -> Any:
    """Return a type without field ids and other facts that don't change values."""
    if not isinstance(given, Mapping):
        return str(given).replace(" ", "")
    kind = given.get("type")
    if kind == "list":
        return ("list", _shape(given["element"]))
    if kind == "map":
        return ("map", _shape(given["key"]), _shape(given["value"]))
    return (kind, *((part["name"], _shape(part["type"])) for part in given.get("fields", ())))


def partition_names(spec: Any, columns: IcebergColumns) -> tuple[str, ...]:
    """Return the columns that a partition spec in a request partitions by.

    Raises:
        RestError: It has a transform, and tables here are partitioned by values alone.
    """
    fields = spec.get("fields") if isinstance(spec, Mapping) else None
    if not isinstance(fields, list) or not all(isinstance(field, Mapping) for field in fields):
        raise bad_request("Expected a partition spec with a list of fields, each an object.")
    return tuple(_partition_name(field, columns) for field in fields)


def _partition_name(field: Record, columns: IcebergColumns) -> str:
    column = columns.by_number(field.get("source-id"))
    if column is None:
        raise bad_request(f"The partition field {field.get('name')!r} has no column.")
    if field.get("transform") != "identity":
        raise bad_request(
            f"The partition field {field.get('name')!r} is {field.get('transform')} of "
            f"{column.name!r}, and tables of a dbt-vcs repository are partitioned by the values "
            "of columns alone. Partition by the column itself, or by a column that holds the "
            "result."
        )
    return column.name


def check_unsorted(order: Any) -> None:
    """Check that a sort order is none.

    Raises:
        RestError: It is one.
    """
    if not isinstance(order, Mapping) or order.get("fields"):
        raise bad_request(
            "Tables of a dbt-vcs repository have no sort order that clients set. Leave it out, "
            "or create the table with `cluster by` in dbt."
        )
