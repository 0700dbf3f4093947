"""Columns as Iceberg's clients declare them, and the statements that change a table's."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from dbt.adapters.vcs.changes.writes.checks import PRIMARY_KEY
from dbt.adapters.vcs.core.model import RelationName, Schema
from dbt.adapters.vcs.core.model.data_type import Type
from dbt.adapters.vcs.core.model.snapshot import IDENTIFIERS
from dbt.adapters.vcs.iceberg.iceberg_types import CLIENT_TYPES
from dbt.adapters.vcs.iceberg.serve.rest_protocol import bad_request
from dbt.adapters.vcs.iceberg.serve.writing.commit_request import Record, target
from dbt.adapters.vcs.sql.alter import AddColumns, AlterColumn, DropColumns, RenameColumn
from dbt.adapters.vcs.sql.properties import SetProperties, UnsetProperties
from dbt.adapters.vcs.sql.syntax.clauses import ColumnDef
from dbt.adapters.vcs.sql.syntax.names import list_of
from dbt.adapters.vcs.sql.syntax.parser import Statement

_DECIMAL: Final = re.compile(r"decimal\(\s*(\d+)\s*,\s*(\d+)\s*\)")


@dataclass(frozen=True, slots=True, kw_only=True)
class IcebergColumn:
    """A column of a schema that a client sent.

    Attributes:
        number: Its field id in Iceberg.
        type: Its type in Spark's words.
        required: True if it can't be NULL.
        comment: Its `doc`, or None.
    """

    number: int
    name: str
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
                "without one, or with `alter table` in `dbt-vcs sql`."
            )
    return IcebergColumn(
        number=field["id"],
        name=name,
        type=str(_type(field["type"], name)),
        required=bool(field.get("required")),
        comment=field.get("doc") or None,
    )


def _type(given: Any, column: str) -> Type:
    if isinstance(given, str):
        if given in CLIENT_TYPES:
            return Type(CLIENT_TYPES[given])
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
        f"don't have. Use one of {', '.join(CLIENT_TYPES)}, decimal(p, s), list, map or struct."
    )


def partition_names(spec: Any, columns: IcebergColumns) -> tuple[str, ...]:
    """Return the columns that a partition spec in a request partitions by.

    Raises:
        RestError: It has a transform, and tables here are partitioned by values only.
    """
    return tuple(_partition_name(field, columns) for field in spec_fields(spec))


def spec_fields(spec: Any) -> list[Record]:
    """Return the fields of a partition spec in a request.

    Raises:
        RestError: It has another form.
    """
    fields = spec.get("fields") if isinstance(spec, Mapping) else None
    if not isinstance(fields, list) or not all(isinstance(field, Mapping) for field in fields):
        raise bad_request("Expected a partition spec with a list of fields, each an object.")
    return fields


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


def in_order(schema: Schema, columns: IcebergColumns) -> Schema:
    """Return a schema with its columns in a client's order, which its rows rely on.

    Statements keep partition columns last, as Spark does for file tables. Clients of Iceberg
    send rows by position, in the order that they gave the columns.
    """
    fields = tuple(schema.field(column.name) for column in columns.columns)
    return msgspec.structs.replace(schema, fields=fields)


def column_updates(
    relation: RelationName, old: IcebergColumns, new: IcebergColumns
) -> Iterator[Statement]:
    """Yield the statements that change a table's columns, known by their numbers.

    Their order is not part of it: see `in_order`.

    Args:
        new: The columns that it is to have.

    Raises:
        RestError: No column would be left as it was.
    """
    kept = {column.number for column in new.columns}
    dropped = [column.name for column in old.columns if column.number not in kept]
    if len(dropped) == len(old.columns):
        raise bad_request(
            f"None of the new columns of {relation} has the number of an old one. Load the "
            "table, and change the schema that it has."
        )
    # A key has to go before its columns do.
    if new.key != old.key and not set(old.key) <= {column.name for column in new.columns}:
        yield from _key(relation, ())
    if dropped:
        yield DropColumns(target=target(relation), columns=tuple(dropped))
    # After the drops, since a column may get the name of one that is dropped. The new key is last,
    # when its columns have their new names.
    yield from _renames(relation, old, new)
    yield from _changes(relation, old, new)
    if _key_numbers(new) != _key_numbers(old):
        yield from _key(relation, new.key)


def _changes(
    relation: RelationName, old: IcebergColumns, new: IcebergColumns
) -> Iterator[Statement]:
    """Yield changes of columns that stay, and then those that are added."""
    for column in new.columns:
        before = old.by_number(column.number)
        if before is not None:
            yield from _alter_column(relation, before, column)
    added = tuple(c.declared for c in new.columns if old.by_number(c.number) is None)
    if added:
        yield AddColumns(target=target(relation), columns=added)


def _renames(
    relation: RelationName, old: IcebergColumns, new: IcebergColumns
) -> Iterator[Statement]:
    """Yield renames, each of which finds its new name free: two columns may swap theirs."""
    wanted = {column.number: column.name for column in new.columns}
    names = {c.number: c.name for c in old.columns if c.number in wanted}
    left = [number for number, name in names.items() if name != wanted[number]]
    while left:
        taken = {name.lower(): number for number, name in names.items()}
        # Two that swap names both find theirs taken: one steps aside first.
        free = [n for n in left if taken.get(wanted[n].lower(), n) == n]
        number = free[0] if free else left[0]
        name = wanted[number] if free else f"__renamed_{number}"
        yield RenameColumn(target=target(relation), column=names[number], new=name)
        names[number] = name
        left = [number for number, name in names.items() if name != wanted[number]]


def _alter_column(
    relation: RelationName, old: IcebergColumn, new: IcebergColumn
) -> Iterator[Statement]:
    change = AlterColumn(
        target=target(relation),
        column=new.name,
        type=new.type if new.type != old.type else None,
        comment=(new.comment or "") if new.comment != old.comment else None,
        nullable=(not new.required) if new.required != old.required else None,
    )
    if (change.type, change.comment, change.nullable) != (None, None, None):
        yield change


def _key_numbers(columns: IcebergColumns) -> tuple[int, ...]:
    numbers = {column.name: column.number for column in columns.columns}
    return tuple(numbers[name] for name in columns.key)


def _key(relation: RelationName, key: Sequence[str]) -> Iterator[Statement]:
    if key:
        yield SetProperties(
            kind="table",
            target=target(relation),
            # Who names identifier fields wants to see them.
            properties={PRIMARY_KEY: list_of(key), IDENTIFIERS: "true"},
        )
    else:
        keys = (PRIMARY_KEY, IDENTIFIERS)
        yield UnsetProperties(kind="table", target=target(relation), keys=keys, if_exists=True)
