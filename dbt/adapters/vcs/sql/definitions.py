"""Statements that create or drop, and those on schemas: values and readers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from dbt.adapters.vcs.core.errors import UnsupportedError
from dbt.adapters.vcs.sql.function_statement import (
    CreateFunction,
    DropFunction,
    read_create_function,
    read_temporary_function,
)
from dbt.adapters.vcs.sql.syntax.clauses import (
    SCHEMA_WORDS,
    ViewColumnDef,
    read_if_exists,
    read_if_not_exists,
    read_properties,
)
from dbt.adapters.vcs.sql.syntax.cursor import TokenCursor
from dbt.adapters.vcs.sql.syntax.lexer import Kind
from dbt.adapters.vcs.sql.syntax.parser import reads
from dbt.adapters.vcs.sql.syntax.statement import CreateTemporaryView, SparkCommand, Statement
from dbt.adapters.vcs.sql.table import (
    Clone,
    CreateTable,
    CreateTableLike,
    CreateView,
    DropRelation,
    read_create_table,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateSchema(Statement):
    """`create schema [if not exists] s`."""

    changes = True

    name: str
    if_not_exists: bool = False
    comment: str | None = None
    properties: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class DropSchema(Statement):
    """`drop schema [if exists] s [cascade]`; without `cascade` it must be empty."""

    changes = True

    name: str
    if_exists: bool = False
    cascade: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SetSchemaProperties(Statement):
    """`alter schema s set dbproperties (...)`, or `unset`, which names those to remove."""

    changes = True

    name: str
    properties: Mapping[str, str]
    removed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CommentOnSchema(Statement):
    """`comment on schema s is '...'`; None removes the comment."""

    changes = True

    name: str
    comment: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Use(Statement):
    """`use [schema] s`."""

    schema: str


Created = (
    CreateTable
    | CreateTableLike
    | Clone
    | CreateView
    | CreateTemporaryView
    | CreateFunction
    | CreateSchema
    | SparkCommand
)


@reads("create")
def read_create(cursor: TokenCursor) -> Created | None:
    """Read what follows `create`; None for objects that a branch doesn't have.

    Raises:
        UnsupportedError: The statement would create something that a branch can't hold.
    """
    replace = cursor.take("or", "replace")
    if cursor.take("table") or cursor.take("external", "table"):
        return read_create_table(cursor, replace=replace)
    if cursor.take("view"):
        return _view(cursor, replace)
    if cursor.take("function"):
        return read_create_function(cursor, replace=replace)
    if cursor.take("aggregate", "function"):
        return read_create_function(cursor, replace=replace, aggregate=True)
    global_ = cursor.take("global")
    if cursor.take_any("temporary", "temp"):
        if cursor.take("view"):
            return _temporary_view(cursor, replace, global_)
        if cursor.at("table") or cursor.at("external", "table"):
            raise UnsupportedError(
                "Spark has no temporary tables. Write `create temporary view ... as`."
            )
        return read_temporary_function(cursor)
    if cursor.take_any(*SCHEMA_WORDS):
        return _schema(cursor)
    _refuse(cursor)
    return None


def _refuse(cursor: TokenCursor) -> None:
    if cursor.at("materialized", "view") or cursor.at("streaming", "table") or cursor.at("flow"):
        raise UnsupportedError(
            f"`create {cursor.token.word} ...` is not supported on versioned tables. "
            "Make it a table or a view."
        )


def _view(cursor: TokenCursor, replace: bool) -> CreateView:
    if_not_exists = read_if_not_exists(cursor, replace=replace)
    target = cursor.target()
    columns = _view_columns(cursor)
    comment: str | None = None
    properties: dict[str, str] = {}
    while not cursor.take("as"):
        if cursor.take("comment"):
            comment = cursor.string()
        elif cursor.take("tblproperties"):
            properties.update(read_properties(cursor))
        elif cursor.at("with", "schema"):
            _schema_binding(cursor)
        elif cursor.at("with", "metrics"):
            raise UnsupportedError("Metric views are not supported. Make it a plain view.")
        elif cursor.at("default", "collation"):
            raise UnsupportedError(
                "`default collation` is not supported on versioned views. "
                "Write `collate` in the query."
            )
        else:
            cursor.fail("a clause of `create view` or `as` and a query")
    return CreateView(
        target=target,
        query=cursor.query(),
        columns=columns,
        replace=replace,
        if_not_exists=if_not_exists,
        comment=comment,
        properties=properties,
    )


def _schema_binding(cursor: TokenCursor) -> None:
    """Read `with schema evolution` and the like, which has no effect here."""
    cursor.expect("with", "schema")
    cursor.take("type")
    if cursor.take_any("binding", "compensation", "evolution") is None:
        cursor.fail("binding, compensation or evolution")


def _view_columns(cursor: TokenCursor) -> tuple[ViewColumnDef, ...]:
    if cursor.token.word != "(":
        return ()
    return cursor.items(lambda: _view_column(cursor))


def _view_column(cursor: TokenCursor) -> ViewColumnDef:
    name = cursor.identifier("a column's name")
    comment = cursor.string() if cursor.take("comment") else None
    return ViewColumnDef(name=name, comment=comment)


def _temporary_view(cursor: TokenCursor, replace: bool, global_: bool) -> CreateTemporaryView:
    read_if_not_exists(cursor)
    target = cursor.target()
    query, start = None, 0
    while not (cursor.at("using") or cursor.at("as") or cursor.done):
        if cursor.token.word == "(":
            cursor.skip_group()
        else:
            cursor.index += 1
    if cursor.take("as"):
        start = cursor.token.start
        query = cursor.query()
    elif cursor.done:
        cursor.fail("`as` and a query, or `using` and a format")
    return CreateTemporaryView(
        target=target,
        query=query,
        replace=replace,
        global_=global_,
        text=cursor.text,
        query_start=start,
    )


def _schema(cursor: TokenCursor) -> CreateSchema:
    if_not_exists = read_if_not_exists(cursor)
    name = cursor.schema()
    comment: str | None = None
    properties: dict[str, str] = {}
    while not cursor.done:
        if cursor.take("comment"):
            comment = cursor.string()
        elif cursor.take("with", "dbproperties") or cursor.take("with", "properties"):
            properties.update(read_properties(cursor))
        elif cursor.at("location"):
            raise UnsupportedError(
                f"A schema of a repository has no location of its own ({name}). "
                "Remove the clause: files are kept in the repository."
            )
        else:
            cursor.fail("a clause of `create schema`")
    return CreateSchema(
        name=name, if_not_exists=if_not_exists, comment=comment, properties=properties
    )


Dropped = DropSchema | DropRelation | DropFunction


@reads("drop")
def read_drop(
    cursor: TokenCursor,
) -> DropSchema | DropRelation | DropFunction | None:
    """Read what follows `drop`; None for objects that a branch doesn't have."""
    if cursor.take_any(*SCHEMA_WORDS):
        if_exists = read_if_exists(cursor)
        name = cursor.schema()
        mode = cursor.take_any("cascade", "restrict")
        cursor.end()
        return DropSchema(name=name, if_exists=if_exists, cascade=mode == "cascade")
    if cursor.take("table"):
        if_exists = read_if_exists(cursor)
        target = cursor.target()
        cursor.take("purge")
        cursor.end()
        return DropRelation(kind="table", target=target, if_exists=if_exists)
    if cursor.take("view"):
        if_exists = read_if_exists(cursor)
        target = cursor.target()
        cursor.end()
        return DropRelation(kind="view", target=target, if_exists=if_exists)
    if cursor.take("function"):
        if_exists = read_if_exists(cursor)
        target = cursor.target()
        cursor.end()
        return DropFunction(target=target, if_exists=if_exists)
    return None


@reads("use")
def read_use(cursor: TokenCursor) -> Use:
    """Read what follows `use`."""
    if cursor.token.word in SCHEMA_WORDS and cursor.ahead().kind is not Kind.END:
        cursor.index += 1
    schema = cursor.schema()
    cursor.end()
    return Use(schema=schema)
