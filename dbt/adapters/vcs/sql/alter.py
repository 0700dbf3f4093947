"""`alter table` and `alter view`: columns and checks here, the rest in other families' files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import msgspec

from dbt.adapters.vcs.changes.writes.checks import PRIMARY_KEY, check_unnamed, checks_of
from dbt.adapters.vcs.changes.writes.versions import changed
from dbt.adapters.vcs.core.errors import InputError, UnsupportedError
from dbt.adapters.vcs.core.model import Field, RelationName, Schema, Snapshot
from dbt.adapters.vcs.core.model.data_type import type_of
from dbt.adapters.vcs.core.model.snapshot import widens
from dbt.adapters.vcs.sql.properties import (
    CommentOnTable,
    SetProperties,
    UnsetProperties,
    check_default,
    initial_value,
)
from dbt.adapters.vcs.sql.syntax.clauses import (
    CHECK,
    Check,
    ColumnDef,
    Position,
    free_name,
    primary_key_of,
    read_characteristics,
    read_check,
    read_column,
    read_comment_value,
    read_constraint_name,
    read_if_exists,
    read_names,
    read_position,
    read_properties,
    read_property_keys,
    read_type,
)
from dbt.adapters.vcs.sql.syntax.cursor import ForeignError, TokenCursor
from dbt.adapters.vcs.sql.syntax.lexer import quote_name
from dbt.adapters.vcs.sql.syntax.names import Name, Target, list_of
from dbt.adapters.vcs.sql.syntax.parser import ChangingRelation, Statement, reads, remaining_query
from dbt.adapters.vcs.sql.table import RelationKind, RenameRelation
from dbt.adapters.vcs.sql.view import AlterViewAs
from dbt.adapters.vcs.table.files.block_reader import Files
from dbt.adapters.vcs.workspace.statement_scope import Outcome, Scope, handles
from dbt.adapters.vcs.workspace.table_version import Version


@dataclass(frozen=True, slots=True, kw_only=True)
class AddColumns(ChangingRelation):
    """`alter table t add columns (...)`."""

    columns: tuple[ColumnDef, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RenameColumn(ChangingRelation):
    """`alter table t rename column a to b`."""

    column: str
    new: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DropColumns(ChangingRelation):
    """`alter table t drop columns [if exists] (a, b)`."""

    columns: tuple[str, ...]
    if_exists: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterColumn(ChangingRelation):
    """`alter table t alter|change column c ...`, or `comment on column t.c is ...`.

    What is None is not changed.

    Attributes:
        comment: Its new comment; empty text removes the comment.
        nullable: False with `set not null`, True with `drop not null`.
        default: SQL text of its new default; empty text removes the default.
    """

    column: str
    type: str | None = None
    comment: str | None = None
    nullable: bool | None = None
    position: Position | None = None
    default: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AddCheck(ChangingRelation):
    """`alter table t add [constraint name] check (expression)`."""

    check: Check


@dataclass(frozen=True, slots=True, kw_only=True)
class DropConstraint(ChangingRelation):
    """`alter table t drop constraint [if exists] name`."""

    name: str
    if_exists: bool = False


@reads("alter")
def read_alter(cursor: TokenCursor) -> Statement | None:
    """Read what follows `alter`; None for objects other than relations.

    Raises:
        UnsupportedError: The change is not possible on a versioned relation.
    """
    if cursor.take("table"):
        return _alter(cursor, "table")
    if cursor.take("view"):
        return _alter(cursor, "view")
    return None


@reads("comment")
def read_comment_on(cursor: TokenCursor) -> Statement:
    """Read what follows `comment`."""
    cursor.expect("on")
    if cursor.take("table"):
        target = cursor.target()
        return CommentOnTable(target=target, comment=_comment(cursor))
    if cursor.take("column"):
        return _comment_on_column(cursor)
    cursor.fail("`table`, `column` or `schema`")


def _comment(cursor: TokenCursor) -> str | None:
    cursor.expect("is")
    comment = read_comment_value(cursor)
    cursor.end()
    return comment


def _comment_on_column(cursor: TokenCursor) -> AlterColumn:
    start = cursor.token.start
    parts = cursor.parts()
    if len(parts) == 1:
        raise InputError(
            f"Expected table.column after `comment on column`, found '{parts[0]}'. "
            "Write the table before the column."
        )
    name = Name.of(parts[:-1])
    if name is None:
        raise ForeignError
    # The column and its dot are the last two tokens that were read.
    target = Target(name=name, start=start, end=cursor.tokens[cursor.index - 3].end)
    # Empty text removes the comment; None would leave it.
    return AlterColumn(target=target, column=parts[-1], comment=_comment(cursor) or "")


def _alter(cursor: TokenCursor, kind: RelationKind) -> Statement:
    target = cursor.target()
    changed = _alter_either(cursor, kind, target)
    # `as` is optional here in Spark's grammar.
    if changed is None and kind == "view" and (cursor.take("as") or cursor.token.word == "select"):
        return AlterViewAs(target=target, query=remaining_query(cursor))
    if changed is None and kind == "table":
        changed = _alter_table(cursor, target)
    if changed is None:
        words = f"{cursor.token.text} {cursor.ahead().text}".strip()
        step = f"Rebuild the {kind} with a model, or drop and create it"
        # At most four words come before it: `add if not exists partition`.
        if cursor.at("recover") or any(cursor.ahead(n).word == "partition" for n in range(5)):
            step = (
                "Partitions exist as long as they have rows: leave the statement out, `insert "
                "into ... select ...` from the files, or `truncate table ... partition`"
            )
        elif cursor.at("add", "constraint"):
            step = "They support NOT NULL, primary keys and checks: test for anything else"
        raise UnsupportedError(
            f"`alter {kind} {target.name} {words} ...` is not supported on versioned relations. "
            f"{step}."
        )
    cursor.end()
    return changed


def _alter_either(cursor: TokenCursor, kind: RelationKind, target: Target) -> Statement | None:
    if cursor.take("rename", "to"):
        new = Name.of(cursor.parts())
        if new is None:
            raise UnsupportedError(
                f"The {kind} {target.name} can't be renamed into another catalog. "
                "Give it a name of one or two parts."
            )
        return RenameRelation(kind=kind, target=target, new=new)
    if cursor.take("set", "tblproperties"):
        properties = read_properties(cursor)
        # Raises for a property that names no column.
        primary_key_of(properties)
        return SetProperties(kind=kind, target=target, properties=properties)
    if cursor.take("unset", "tblproperties"):
        if_exists = read_if_exists(cursor)
        keys = read_property_keys(cursor)
        return UnsetProperties(kind=kind, target=target, keys=keys, if_exists=if_exists)
    return None


def _alter_table(cursor: TokenCursor, target: Target) -> Statement | None:
    if cursor.at("add", "column") or cursor.at("add", "columns"):
        cursor.index += 2
        return AddColumns(target=target, columns=_added_columns(cursor, target))
    if cursor.take("rename", "column"):
        column = cursor.column()
        cursor.expect("to")
        return RenameColumn(target=target, column=column, new=cursor.column())
    if cursor.at("drop", "column") or cursor.at("drop", "columns"):
        cursor.index += 2
        return _drop_columns(cursor, target)
    if cursor.take_any("alter", "change"):
        cursor.take("column")
        return _alter_column(cursor, target)
    return _constraint(cursor, target)


def _added_columns(cursor: TokenCursor, target: Target) -> tuple[ColumnDef, ...]:
    def read() -> ColumnDef:
        column, primary = read_column(cursor)
        if primary:
            raise UnsupportedError(
                "An added column can't be a primary key, since existing rows have no "
                "value for it. Rebuild the table."
            )
        if column.checks:
            raise UnsupportedError(
                f"The column {column.name} can't be added together with a check constraint. Add "
                f"it; then: alter table {target.name} add constraint <name> check (...)."
            )
        return column

    return cursor.items(read) if cursor.token.word == "(" else cursor.bare_items(read)


def _drop_columns(cursor: TokenCursor, target: Target) -> DropColumns:
    if_exists = read_if_exists(cursor)
    bracketed = cursor.token.word == "("
    columns = read_names(cursor) if bracketed else cursor.bare_items(cursor.column)
    return DropColumns(target=target, columns=columns, if_exists=if_exists)


def _alter_column(cursor: TokenCursor, target: Target) -> AlterColumn:
    column = cursor.column()
    changed = _column_action(cursor, target, column)
    if cursor.token.word == ",":
        raise UnsupportedError(
            "Altering several columns in one statement is not supported on versioned tables. "
            "Write one `alter table` per column."
        )
    return changed


def _column_action(cursor: TokenCursor, target: Target, column: str) -> AlterColumn:
    if cursor.take("type"):
        return AlterColumn(target=target, column=column, type=read_type(cursor))
    if cursor.take("comment"):
        return AlterColumn(target=target, column=column, comment=cursor.string())
    if cursor.take("set", "not", "null"):
        return AlterColumn(target=target, column=column, nullable=False)
    if cursor.take("drop", "not", "null"):
        return AlterColumn(target=target, column=column, nullable=True)
    if cursor.take("set", "default"):
        default = cursor.sql_until(lambda: False)
        return AlterColumn(target=target, column=column, default=default)
    if cursor.take("drop", "default"):
        return AlterColumn(target=target, column=column, default="")
    if cursor.at("first") or cursor.at("after"):
        return AlterColumn(target=target, column=column, position=read_position(cursor))
    return _hive_change(cursor, target, column)


def _hive_change(cursor: TokenCursor, target: Target, column: str) -> AlterColumn:
    """Read the rest of `change [column] a a bigint comment 'x' after b`."""
    if cursor.done:
        cursor.fail("`type`, `comment`, `set`, `drop`, `first` or `after`")
    definition, primary = read_column(cursor)
    if definition.name.lower() != column.lower():
        raise InputError(
            f"`change column` does not rename a column ({column} to {definition.name}). "
            f"Write: alter table {target.name} rename column {column} to {definition.name}."
        )
    further = None
    if definition.default is not None:
        further = f"alter column {quote_name(column)} set default {definition.default}"
    elif definition.checks:
        further = f"add check ({definition.checks[0].expression})"
    elif primary:
        further = f"add primary key ({quote_name(column)})"
    if further:
        raise UnsupportedError(
            "`change column` sets a type, a comment and a position. Leave the rest out, and "
            f"write: alter table {target.name} {further}."
        )
    return AlterColumn(
        target=target,
        column=column,
        type=definition.type,
        comment=definition.comment,
        # Hive's form has no word for "may be NULL", so nothing follows from its absence.
        nullable=None if definition.nullable else False,
        position=definition.position,
    )


def _constraint(
    cursor: TokenCursor, target: Target
) -> SetProperties | UnsetProperties | AddCheck | DropConstraint | None:
    """Read `add [constraint c] primary key (...)` (stored as a property) and similar clauses."""
    first = cursor.index
    if cursor.take("drop", "primary", "key"):
        if_exists = read_if_exists(cursor)
        return UnsetProperties(
            kind="table", target=target, keys=("primary_key",), if_exists=if_exists
        )
    if cursor.take("drop", "constraint"):
        if_exists = read_if_exists(cursor)
        name = cursor.identifier("a constraint's name")
        # Nothing depends on a check, so these words change nothing.
        cursor.take_any("restrict", "cascade")
        return DropConstraint(target=target, name=name, if_exists=if_exists)
    if cursor.take("add"):
        named = read_constraint_name(cursor)
        if cursor.at("check"):
            return AddCheck(target=target, check=read_check(cursor, named))
        if cursor.take("primary", "key"):
            properties = {PRIMARY_KEY: list_of(read_names(cursor))}
            read_characteristics(cursor)
            return SetProperties(kind="table", target=target, properties=properties)
    # The error shows the words from `add` on.
    cursor.index = first
    return None


@handles(AddColumns)
def add_columns(scope: Scope, statement: AddColumns) -> Outcome:
    """Add columns to a table; existing rows show NULL there, or the default's current value.

    Raises:
        InputError: A name is taken, a default does not fit its column, or a column that can't
            be NULL has no default and the table has rows.
        UnsupportedError: The table has rows, and versions can't store defaults of this type.
    """
    name = scope.name(statement.target.name)
    snapshot = scope.overlay.require_table(name)
    columns = [_without_null_default(column) for column in statement.columns]
    fields = [_new_field(scope, name, snapshot, column) for column in columns]
    schema = snapshot.schema.add(fields)
    # New columns come before the partition columns where those are last, as in Spark.
    if _is_last(snapshot.schema.fields, snapshot.partition_by):
        last = _last(schema.fields, snapshot.partition_by)
        schema = msgspec.structs.replace(schema, fields=last)
    for column in columns:
        if column.position is not None:
            schema = _schema_with_position(
                schema, column.name, column.position, snapshot.partition_by
            )
    changed(scope, name, snapshot, operation="alter", schema=schema)
    return Outcome()


def _new_field(scope: Scope, name: RelationName, snapshot: Snapshot, column: ColumnDef) -> Field:
    initial = None
    if column.default is not None:
        check_default(scope.engine, column.name, column.default, column.type)
        # Only rows that exist need the value. Later ones get the default as it is when they are
        # written.
        initial = initial_value(scope.engine, column) if snapshot.rows else None
    if snapshot.rows and initial is None and not column.nullable:
        raise InputError(
            f"The column {column.name} can't be NOT NULL: {name} holds {snapshot.rows} rows "
            "without it. Add it with a default; or add it as nullable, fill it (update ... set) "
            "and alter the column."
        )
    return column.field(initial)


def _without_null_default(column: ColumnDef) -> ColumnDef:
    """Return a column without `default null`, which changes nothing for its rows."""
    is_null = column.default is not None and column.default.lower() == "null"
    return replace(column, default=None) if is_null else column


@handles(RenameColumn)
def rename_column(scope: Scope, statement: RenameColumn) -> Outcome:
    """Rename a column; it keeps its identity and its data.

    Raises:
        InputError: There is no such column, the new name is taken, or a check constraint names
            the column.
    """
    name = scope.name(statement.target.name)
    snapshot = scope.overlay.require_table(name)
    # A check constraint is kept as text, which would still have the old name.
    check_unnamed(name, snapshot, statement.column, "renamed")
    schema = snapshot.schema.rename(statement.column, statement.new)
    properties = dict(snapshot.properties)
    if PRIMARY_KEY in properties:
        fields = [field for id in snapshot.primary_key if (field := schema.by_id(id))]
        # The key is kept by id; the property shows it by name.
        properties[PRIMARY_KEY] = list_of(field.name for field in fields)
    # No file is written: files know columns by their ids (decision 1).
    changed(scope, name, snapshot, operation="alter", schema=schema, properties=properties)
    return Outcome()


@handles(DropColumns)
def drop_columns(scope: Scope, statement: DropColumns) -> Outcome:
    """Drop columns; a column of the same name added later never shows their data.

    Raises:
        InputError: There is no such column, the table is partitioned, keyed or clustered by
            it, a check constraint names it, or only partition columns would be left.
    """
    name = scope.name(statement.target.name)
    snapshot = scope.overlay.require_table(name)
    found = [c for c in statement.columns if snapshot.schema.find(c) or not statement.if_exists]
    needed = {*snapshot.partition_by, *snapshot.primary_key, *snapshot.cluster_by}
    for column in found:
        if snapshot.schema.field(column).id in needed:
            raise InputError(
                f"{name} is partitioned, keyed or clustered by {column}; it can't be dropped. "
                "Rebuild the table without it."
            )
        check_unnamed(name, snapshot, column, "dropped")
    if found:
        schema = snapshot.schema.drop(found)
        # Spark can't write a table that has partition columns only.
        if {field.id for field in schema.fields} <= {*snapshot.partition_by}:
            raise InputError(
                f"Only partition columns would be left in {name}. Keep another column, "
                "or drop the table."
            )
        changed(scope, name, snapshot, operation="alter", schema=schema)
    return Outcome()


@handles(AlterColumn)
def alter_column(scope: Scope, statement: AlterColumn) -> Outcome:
    """Change a column's type, position, default, comment or nullability.

    A type can change only if every value fits the new one unchanged. Files keep the old type,
    and readers widen it.

    Raises:
        InputError: There is no such column, or existing rows don't allow the change.
        UnsupportedError: The new type does not hold every value of the old one, or spells those of
            partitions in another way.
    """
    name = scope.name(statement.target.name)
    snapshot = scope.overlay.require_table(name)
    field = snapshot.schema.field(statement.column)
    # The type first: a new default has to fit the new one.
    if statement.type is not None and statement.type != field.type:
        if field.id in snapshot.partition_by:
            _check_spelled_alike(name, field, statement.type)
        field = _wider_field(name, field, statement.type)
    if statement.default is not None:
        if statement.default:
            check_default(scope.engine, field.name, statement.default, field.type)
        field = msgspec.structs.replace(field, default=statement.default or None)
    if statement.comment is not None:
        field = msgspec.structs.replace(field, comment=statement.comment or None)
    if statement.nullable is False and field.nullable:
        _check_no_nulls(scope, name, snapshot, field)
    if statement.nullable is not None:
        field = msgspec.structs.replace(field, nullable=statement.nullable)
    schema = snapshot.schema.replace(field)
    if statement.position is not None:
        schema = _schema_with_position(
            schema, field.name, statement.position, snapshot.partition_by
        )
    if schema != snapshot.schema:
        changed(scope, name, snapshot, operation="alter", schema=schema)
    return Outcome()


def _check_spelled_alike(name: RelationName, field: Field, type_: str) -> None:
    # Partitions are found by the texts of their values: 1.50 and 1.500 would be two.
    old, new = type_of(field.type), type_of(type_)
    if new.kind == "double" or (new.kind == "decimal" and new.scale != old.scale):
        raise UnsupportedError(
            f"The column {field.name} partitions {name}, so it can't change from {field.type} to "
            f"{type_} in place: the partitions that are there would not be found by values of "
            "that type. Rebuild the table instead: create or replace table ... as select cast(...)"
        )


def _wider_field(name: RelationName, field: Field, type_: str) -> Field:
    if not widens(field.type, type_):
        raise UnsupportedError(
            f"The column {field.name} of {name} can't change from {field.type} to {type_} in "
            "place: values could be lost. Possible changes are tinyint to smallint to "
            "int to bigint, float to double, decimals with more digits, and char or varchar to "
            "longer varchar or to string. "
            "Rebuild the table instead: create or replace table ... as select cast(...)"
        )
    return msgspec.structs.replace(field, type=type_)


def _schema_with_position(
    schema: Schema, column: str, position: Position, partition_by: Sequence[str]
) -> Schema:
    """Return the schema with a column at another position.

    Raises:
        InputError: There is no such position, or it is among the partition columns, which come
            last.
    """
    moved = schema.field(column)
    rest = [field for field in schema.fields if field.id != moved.id]
    place = 0
    if position.column is not None:
        after = schema.field(position.column)
        if after.id == moved.id:
            raise InputError(f"The column {moved.name} can't be placed after itself.")
        place = rest.index(after) + 1
    fields = (*rest[:place], moved, *rest[place:])
    if _is_last(schema.fields, partition_by) and not _is_last(fields, partition_by):
        raise InputError(
            f"The column {moved.name} can't be placed there: partition columns come last, in "
            "their own order."
        )
    return msgspec.structs.replace(schema, fields=fields)


def _check_no_nulls(scope: Scope, name: RelationName, snapshot: Snapshot, field: Field) -> None:
    repository = scope.overlay.repository
    version = Version.of(repository, snapshot)
    # Footers count NULLs. Only blocks that have some, or whose count is unknown, are read.
    doubtful = [
        block
        for block in version.blocks
        if (stats := block.stats.get(field.id)) is None or stats.nulls != 0
    ]
    files = Files(repository.blobs)
    deleted = files.deletions(version.tombstones, [block.path for block in doubtful])
    count = sum(files.nulls(block, field, deleted.get(block.path)) for block in doubtful)
    if count:
        raise InputError(
            f"The column {field.name} of {name} can't be NOT NULL: {count} rows hold NULL there. "
            "Give them a value first."
        )


def _is_last(fields: Iterable[Field], partition_by: Sequence[str]) -> bool:
    """Return whether partition columns come last, as in all tables but those of some clients."""
    return _last(fields, partition_by) == tuple(fields)


def _last(fields: Iterable[Field], partition_by: Sequence[str]) -> tuple[Field, ...]:
    """Return the fields with the partition columns at the end, in the partitioning's order."""
    fields = tuple(fields)
    first = [field for field in fields if field.id not in partition_by]
    last = {field.id: field for field in fields if field.id in partition_by}
    return (*first, *(last[id] for id in partition_by))


@handles(AddCheck)
def _add_check(scope: Scope, statement: AddCheck) -> Outcome:
    """Add a check constraint, which existing rows must meet.

    Raises:
        InputError: The name is taken, rows violate it, or its condition is invalid.
    """
    name = scope.name(statement.target.name)
    snapshot = scope.overlay.require_table(name)
    given = statement.check.name
    constraint = given.lower() if given else free_name(name.identifier, snapshot.properties)
    if CHECK + constraint in snapshot.properties:
        raise InputError(
            f"{name} already has a constraint {constraint}. Drop it first, or choose another name."
        )
    properties = {**snapshot.properties, CHECK + constraint: statement.check.expression}
    # `changed` checks all rows against a constraint that is new.
    changed(scope, name, snapshot, operation="alter", properties=properties)
    return Outcome()


@handles(DropConstraint)
def _drop_constraint(scope: Scope, statement: DropConstraint) -> Outcome:
    """Drop a check constraint.

    Raises:
        InputError: There is no such constraint, and `if exists` was not given.
    """
    name = scope.name(statement.target.name)
    snapshot = scope.overlay.require_table(name)
    properties = dict(snapshot.properties)
    if properties.pop(CHECK + statement.name.lower(), None) is not None:
        changed(scope, name, snapshot, operation="alter", properties=properties)
    elif not statement.if_exists:
        known = ", ".join(checks_of(snapshot.properties)) or "none"
        raise InputError(
            f"{name} has no check constraint {statement.name}; it has: {known}. To drop a "
            f"primary key: alter table {name} drop primary key."
        )
    return Outcome()
