"""Column updates: a client's schema as the statements that change a table to it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from dbt.adapters.vcs.changes.writes.keys import PRIMARY_KEY
from dbt.adapters.vcs.core.model import RelationName, Schema
from dbt.adapters.vcs.core.model.snapshot import IDENTIFIERS
from dbt.adapters.vcs.iceberg.serve.writing.branch_writer import target
from dbt.adapters.vcs.iceberg.serve.writing.commit_request import bad_request
from dbt.adapters.vcs.iceberg.serve.writing.iceberg_columns import IcebergColumn, IcebergColumns
from dbt.adapters.vcs.sql.alter import (
    AddColumns,
    AlterColumn,
    DropColumns,
    RenameColumn,
    SetProperties,
    UnsetProperties,
)
from dbt.adapters.vcs.sql.syntax.statement import Statement


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
        relation: The table.
        old: The columns that it shows.
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
    if new.key != old.key and not set(old.key) <= {column.name for column in new.columns}:
        yield from _key(relation, ())
    if dropped:
        yield DropColumns(target=target(relation), columns=tuple(dropped))
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
            yield from _altered(relation, before, column)
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
        free = [n for n in left if taken.get(wanted[n].lower(), n) == n]
        number = free[0] if free else left[0]
        name = wanted[number] if free else f"__renamed_{number}"
        yield RenameColumn(target=target(relation), column=names[number], new=name)
        names[number] = name
        left = [number for number, name in names.items() if name != wanted[number]]


def _altered(
    relation: RelationName, old: IcebergColumn, new: IcebergColumn
) -> Iterator[Statement]:
    change = AlterColumn(
        target=target(relation),
        column=new.name,
        type=new.type if new.shape != old.shape else None,
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
            properties={PRIMARY_KEY: ", ".join(key), IDENTIFIERS: "true"},
        )
    else:
        keys = (PRIMARY_KEY, IDENTIFIERS)
        yield UnsetProperties(kind="table", target=target(relation), keys=keys, if_exists=True)
