"""Changes to what a relation is, not to its rows: columns, properties, comments."""

from __future__ import annotations

import msgspec

from dbt.adapters.vcs.core.errors import InputError, UnsupportedError
from dbt.adapters.vcs.core.model import Field, RelationName, Schema, TableEntry
from dbt.adapters.vcs.statements import (
    AddColumns,
    AlterColumn,
    CommentOnSchema,
    CommentOnTable,
    DropColumns,
    RenameColumn,
    SetProperties,
    SetSchemaProperties,
    UnsetProperties,
)
from dbt.adapters.vcs.workspace.outcome import Outcome
from dbt.adapters.vcs.workspace.scope import Scope
from dbt.adapters.vcs.workspace.versions import changed

_COMMENT = "comment"
_PRIMARY_KEY = "primary_key"


def add_columns(scope: Scope, statement: AddColumns) -> Outcome:
    """Add columns to a table; its rows show NULL there, and no file is written.

    Raises:
        InputError: A name is there already, or a column that can't be NULL is added to rows.
        UnsupportedError: A column has a default or a place of its own.
    """
    name = scope.name(statement.target.name)
    snapshot = scope.overlay.require_table(name)
    for column in statement.columns:
        if column.default is not None or column.position is not None:
            raise UnsupportedError(
                f"The column {column.name} is added with a default or at a place of its own, "
                "which is not supported yet. Add it plainly, then fill it."
            )
        if not column.nullable and snapshot.rows:
            raise InputError(
                f"The column {column.name} can't be NOT NULL: {name} holds {snapshot.rows} rows "
                "without it. Add it as nullable."
            )
    fields = [
        Field(id="", name=c.name, type=c.type, nullable=c.nullable, comment=c.comment)
        for c in statement.columns
    ]
    schema = _partition_columns_last(snapshot.schema.add(fields), snapshot.partition_by)
    changed(scope, name, snapshot, operation="alter", schema=schema)
    return Outcome(relation=name)


def rename_column(scope: Scope, statement: RenameColumn) -> Outcome:
    """Rename a column; its identity and its data stay.

    Raises:
        InputError: There is no such column, or the new name is taken.
    """
    name = scope.name(statement.target.name)
    snapshot = scope.overlay.require_table(name)
    schema = snapshot.schema.rename(statement.column, statement.new)
    changed(scope, name, snapshot, operation="alter", schema=schema)
    return Outcome(relation=name)


def drop_columns(scope: Scope, statement: DropColumns) -> Outcome:
    """Drop columns; no file is written, and a column added later never shows their data.

    Raises:
        InputError: There is no such column, or the table is partitioned or keyed by it.
    """
    name = scope.name(statement.target.name)
    snapshot = scope.overlay.require_table(name)
    found = [c for c in statement.columns if snapshot.schema.find(c) or not statement.if_exists]
    needed = {*snapshot.partition_by, *snapshot.primary_key, *snapshot.cluster_by}
    for column in found:
        if snapshot.schema.field(column).id in needed:
            raise InputError(
                f"{name} is partitioned or keyed by {column}; it can't be dropped. "
                "Rebuild the table without it."
            )
    if found:
        changed(scope, name, snapshot, operation="alter", schema=snapshot.schema.drop(found))
    return Outcome(relation=name)


def alter_column(scope: Scope, statement: AlterColumn) -> Outcome:
    """Change a column's comment, or whether it takes NULL.

    Raises:
        InputError: There is no such column.
        UnsupportedError: The type, the place or the default of the column is to change.
    """
    name = scope.name(statement.target.name)
    snapshot = scope.overlay.require_table(name)
    field = snapshot.schema.field(statement.column)
    retyped = statement.type is not None and statement.type != field.type
    if retyped or statement.position is not None or statement.default is not None:
        raise UnsupportedError(
            f"The type, place or default of the column {field.name} can't be changed yet. "
            "Rebuild the table instead: create or replace table ... as select ..."
        )
    if statement.nullable is False:
        _check_no_nulls(scope, name, field)
    if statement.comment is not None:
        field = msgspec.structs.replace(field, comment=statement.comment or None)
    if statement.nullable is not None:
        field = msgspec.structs.replace(field, nullable=statement.nullable)
    if field == snapshot.schema.by_id(field.id):
        return Outcome(relation=name)
    schema = snapshot.schema.replace(field)
    changed(scope, name, snapshot, operation="alter", schema=schema)
    return Outcome(relation=name)


def set_properties(scope: Scope, statement: SetProperties) -> Outcome:
    """Set properties of a table or view; `comment` sets its comment, as in Spark."""
    name = scope.name(statement.target.name)
    given = dict(statement.properties)
    _alter_properties(scope, name, given, removed=())
    return Outcome(relation=name)


def unset_properties(scope: Scope, statement: UnsetProperties) -> Outcome:
    """Take properties of a table or view away.

    Raises:
        InputError: One of them isn't set, and `if exists` was not said.
    """
    name = scope.name(statement.target.name)
    entry = scope.overlay.require(name)
    if isinstance(entry, TableEntry):
        properties = scope.overlay.snapshot(entry.snapshot).properties
    else:
        properties = scope.overlay.view(entry.view).properties
    missing = [key for key in statement.keys if key not in properties and key != _COMMENT]
    if missing and not statement.if_exists:
        raise InputError(f"{name} has no property '{missing[0]}'; say unset ... if exists.")
    _alter_properties(scope, name, {}, removed=statement.keys)
    return Outcome(relation=name)


def comment_on_schema(scope: Scope, statement: CommentOnSchema) -> Outcome:
    """Set or remove the comment of a schema.

    Raises:
        NotFoundError: There is no such schema.
    """
    schema = statement.name.lower()
    properties = dict(scope.overlay.schema_info(schema).properties)
    scope.overlay.put_schema(schema, comment=statement.comment, properties=properties)
    return Outcome()


def set_schema_properties(scope: Scope, statement: SetSchemaProperties) -> Outcome:
    """Set properties of a schema.

    Raises:
        NotFoundError: There is no such schema.
    """
    schema = statement.name.lower()
    info = scope.overlay.schema_info(schema)
    properties = {**info.properties, **statement.properties}
    scope.overlay.put_schema(schema, comment=info.comment, properties=properties)
    return Outcome()


def comment_on_table(scope: Scope, statement: CommentOnTable) -> Outcome:
    """Set or remove the comment of a table or view.

    Raises:
        NotFoundError: There is no such relation.
    """
    name = scope.name(statement.target.name)
    if statement.comment is None:
        _alter_properties(scope, name, {}, removed=(_COMMENT,))
    else:
        _alter_properties(scope, name, {_COMMENT: statement.comment}, removed=())
    return Outcome(relation=name)


def _alter_properties(
    scope: Scope, name: RelationName, given: dict[str, str], *, removed: tuple[str, ...]
) -> None:
    entry = scope.overlay.require(name)
    if isinstance(entry, TableEntry):
        snapshot = scope.overlay.snapshot(entry.snapshot)
        comment, properties = _merged(snapshot.comment, snapshot.properties, given, removed)
        if (comment, properties) != (snapshot.comment, snapshot.properties):
            changed(
                scope,
                name,
                snapshot,
                operation="alter",
                comment=comment,
                properties=properties,
                primary_key=_key(snapshot.schema, given, removed),
            )
    else:
        view = scope.overlay.view(entry.view)
        comment, properties = _merged(view.comment, view.properties, given, removed)
        changed_view = msgspec.structs.replace(view, comment=comment, properties=properties)
        scope.overlay.put_view(name, changed_view)


def _merged(
    comment: str | None,
    properties: dict[str, str],
    given: dict[str, str],
    removed: tuple[str, ...],
) -> tuple[str | None, dict[str, str]]:
    comment = given.get(_COMMENT, None if _COMMENT in removed else comment)
    merged = {**properties, **given}
    for key in (_COMMENT, *removed):
        merged.pop(key, None)
    return comment, merged


def _key(
    schema: Schema, given: dict[str, str], removed: tuple[str, ...]
) -> tuple[str, ...] | None:
    """Return the field ids that the property `primary_key` names; None if it isn't touched."""
    if _PRIMARY_KEY in removed:
        return ()
    if _PRIMARY_KEY not in given:
        return None
    names = [name.strip().strip("`") for name in given[_PRIMARY_KEY].split(",")]
    return tuple(schema.field(name).id for name in names if name)


def _check_no_nulls(scope: Scope, name: RelationName, field: Field) -> None:
    snapshot = scope.overlay.require_table(name)
    for ref in snapshot.segments:
        for block in scope.overlay.repository.objects.segment(ref.id).blocks:
            stats = block.stats.get(field.id)
            if stats is None or stats.nulls != 0:
                raise InputError(
                    f"The column {field.name} of {name} holds NULLs, or its files don't tell; "
                    "it can't be made NOT NULL. Replace the NULLs first."
                )


def _partition_columns_last(schema: Schema, partition_by: tuple[str, ...]) -> Schema:
    first = [field for field in schema.fields if field.id not in partition_by]
    last = [field for field in schema.fields if field.id in partition_by]
    return msgspec.structs.replace(schema, fields=(*first, *last))
