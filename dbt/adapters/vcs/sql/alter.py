"""Statements that change definitions, and comments: their values and their reader."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from dbt.adapters.vcs.core.errors import InputError, UnsupportedError
from dbt.adapters.vcs.sql.definitions import CommentOnSchema, SetSchemaProperties
from dbt.adapters.vcs.sql.syntax.clauses import (
    SCHEMA_WORDS,
    Check,
    ColumnDef,
    Position,
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
from dbt.adapters.vcs.sql.syntax.names import Name, Target
from dbt.adapters.vcs.sql.syntax.parser import reads
from dbt.adapters.vcs.sql.syntax.statement import OnRelation
from dbt.adapters.vcs.sql.table import AlterViewAs, primary_key_property

RelationKind = Literal["table", "view"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RenameRelation(OnRelation):
    """`alter table|view a rename to b`; `new` without a schema stays in the schema of `target`."""

    changes = True

    kind: RelationKind
    target: Target
    new: Name


@dataclass(frozen=True, slots=True, kw_only=True)
class AddColumns(OnRelation):
    """`alter table t add columns (...)`."""

    changes = True

    target: Target
    columns: tuple[ColumnDef, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RenameColumn(OnRelation):
    """`alter table t rename column a to b`."""

    changes = True

    target: Target
    column: str
    new: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DropColumns(OnRelation):
    """`alter table t drop columns [if exists] (a, b)`."""

    changes = True

    target: Target
    columns: tuple[str, ...]
    if_exists: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterColumn(OnRelation):
    """`alter table t alter|change column c ...`, or `comment on column t.c is ...`.

    What is None is not changed.

    Attributes:
        target: The table.
        column: The column to change.
        type: Its new type.
        comment: Its new comment; empty text removes the comment.
        nullable: False with `set not null`, True with `drop not null`.
        position: Its new position.
        default: SQL text of its new default; empty text removes the default.
    """

    changes = True

    target: Target
    column: str
    type: str | None = None
    comment: str | None = None
    nullable: bool | None = None
    position: Position | None = None
    default: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SetProperties(OnRelation):
    """`alter table|view t set tblproperties (...)`, or `alter table t add primary key (...)`.

    A primary key is the property `primary_key`, its columns separated by commas.
    """

    changes = True

    kind: RelationKind
    target: Target
    properties: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class UnsetProperties(OnRelation):
    """`alter table|view t unset tblproperties [if exists] (...)`."""

    changes = True

    kind: RelationKind
    target: Target
    keys: tuple[str, ...]
    if_exists: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AddCheck(OnRelation):
    """`alter table t add [constraint name] check (expression)`."""

    changes = True

    target: Target
    check: Check


@dataclass(frozen=True, slots=True, kw_only=True)
class DropConstraint(OnRelation):
    """`alter table t drop constraint [if exists] name`."""

    changes = True

    target: Target
    name: str
    if_exists: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CommentOnTable(OnRelation):
    """`comment on table t is '...'`; None removes the comment."""

    changes = True

    target: Target
    comment: str | None


Altered = (
    RenameRelation
    | AddColumns
    | RenameColumn
    | DropColumns
    | AlterColumn
    | SetProperties
    | UnsetProperties
    | AddCheck
    | DropConstraint
    | AlterViewAs
    | SetSchemaProperties
)
Commented = CommentOnTable | CommentOnSchema | AlterColumn


@reads("alter")
def read_alter(cursor: TokenCursor) -> Altered | None:
    """Read what follows `alter`; None for objects other than relations and schemas.

    Raises:
        UnsupportedError: The change is not possible on a versioned relation.
    """
    if cursor.take("table"):
        return _alter(cursor, "table")
    if cursor.take("view"):
        return _alter(cursor, "view")
    if cursor.take_any(*SCHEMA_WORDS):
        return _alter_schema(cursor)
    return None


@reads("comment")
def read_comment_on(cursor: TokenCursor) -> Commented:
    """Read what follows `comment`."""
    cursor.expect("on")
    if cursor.take("table"):
        target = cursor.target()
        cursor.expect("is")
        return CommentOnTable(target=target, comment=_last(cursor, read_comment_value(cursor)))
    if cursor.take_any(*SCHEMA_WORDS):
        name = cursor.schema()
        cursor.expect("is")
        return CommentOnSchema(name=name, comment=_last(cursor, read_comment_value(cursor)))
    if cursor.take("column"):
        return _comment_on_column(cursor)
    cursor.fail("`table`, `column` or `schema`")


def _last(cursor: TokenCursor, value: str | None) -> str | None:
    cursor.end()
    return value


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
    end = cursor.tokens[cursor.index - 3].end
    cursor.expect("is")
    comment = _last(cursor, read_comment_value(cursor))
    return AlterColumn(
        target=Target(name=name, start=start, end=end), column=parts[-1], comment=comment or ""
    )


def _alter(cursor: TokenCursor, kind: RelationKind) -> Altered:
    target = cursor.target()
    changed = _alter_either(cursor, kind, target)
    if changed is None and kind == "view" and (cursor.take("as") or cursor.token.word == "select"):
        return AlterViewAs(target=target, query=cursor.query())
    if changed is None and kind == "table":
        changed = _alter_table(cursor, target)
    if changed is None:
        words = f"{cursor.token.text} {cursor.ahead().text}".strip()
        step = f"Rebuild the {kind} with a model, or drop and create it"
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


def _alter_either(cursor: TokenCursor, kind: RelationKind, target: Target) -> Altered | None:
    """Read the clauses that tables and views share."""
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
        primary_key_of(properties)
        return SetProperties(kind=kind, target=target, properties=properties)
    if cursor.take("unset", "tblproperties"):
        if_exists = read_if_exists(cursor)
        keys = read_property_keys(cursor)
        return UnsetProperties(kind=kind, target=target, keys=keys, if_exists=if_exists)
    return None


def _alter_table(cursor: TokenCursor, target: Target) -> Altered | None:
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
    definition, _ = read_column(cursor)
    if definition.name.lower() != column.lower():
        raise InputError(
            f"`change column` does not rename a column ({column} to {definition.name}). "
            f"Write: alter table {target.name} rename column {column} to {definition.name}."
        )
    return AlterColumn(
        target=target,
        column=column,
        type=definition.type,
        comment=definition.comment,
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
        cursor.take_any("restrict", "cascade")
        return DropConstraint(target=target, name=name, if_exists=if_exists)
    if cursor.take("add"):
        named = read_constraint_name(cursor)
        if cursor.at("check"):
            return AddCheck(target=target, check=read_check(cursor, named))
        if cursor.take("primary", "key"):
            properties = primary_key_property(read_names(cursor))
            read_characteristics(cursor)
            return SetProperties(kind="table", target=target, properties=properties)
    cursor.index = first
    return None


def _alter_schema(cursor: TokenCursor) -> SetSchemaProperties:
    name = cursor.schema()
    if cursor.take("set", "dbproperties") or cursor.take("set", "properties"):
        properties = read_properties(cursor)
        cursor.end()
        return SetSchemaProperties(name=name, properties=properties)
    if cursor.take("unset", "dbproperties") or cursor.take("unset", "properties"):
        keys = read_property_keys(cursor)
        cursor.end()
        return SetSchemaProperties(name=name, properties={}, removed=keys)
    raise UnsupportedError(
        f"`alter schema {name}` can set and unset properties only: a schema of a repository has "
        "no location of its own. Write: alter schema ... set dbproperties (...)."
    )
