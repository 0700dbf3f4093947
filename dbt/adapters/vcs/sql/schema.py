"""Statements on schemas: `create`, `drop`, `alter`, `comment on`, `use`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NoReturn

from dbt.adapters.vcs.core.errors import InputError, NotFoundError, UnsupportedError
from dbt.adapters.vcs.core.model import RelationName
from dbt.adapters.vcs.engines.port import GLOBAL_TEMPORARY
from dbt.adapters.vcs.sql.syntax.clauses import (
    SCHEMA_WORDS,
    read_comment_value,
    read_if_exists,
    read_if_not_exists,
    read_properties,
    read_property_keys,
)
from dbt.adapters.vcs.sql.syntax.cursor import TokenCursor
from dbt.adapters.vcs.sql.syntax.lexer import Kind
from dbt.adapters.vcs.sql.syntax.parser import ChangingStatement, Statement, reads
from dbt.adapters.vcs.workspace.statement_scope import Outcome, Scope, handles


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateSchema(ChangingStatement):
    """`create schema [if not exists] s`."""

    name: str
    if_not_exists: bool = False
    comment: str | None = None
    properties: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class DropSchema(ChangingStatement):
    """`drop schema [if exists] s [cascade]`; without `cascade` it must be empty."""

    name: str
    if_exists: bool = False
    cascade: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SetSchemaProperties(ChangingStatement):
    """`alter schema s set dbproperties (...)`, or `unset`, which names those to remove."""

    name: str
    properties: Mapping[str, str]
    removed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CommentOnSchema(ChangingStatement):
    """`comment on schema s is '...'`; None removes the comment."""

    name: str
    comment: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Use(Statement):
    """`use [schema] s`."""

    schema: str


@reads("create schema", "create database", "create namespace")
def _read_create_schema(cursor: TokenCursor) -> CreateSchema:
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


@reads("create or replace schema", "create or replace database", "create or replace namespace")
def _refuse_replace(cursor: TokenCursor) -> NoReturn:
    # It would drop the schema's tables.
    raise UnsupportedError(
        "`create or replace schema` is not supported: Spark does not have it. Write create schema "
        "if not exists; to begin with an empty schema, drop it before (drop schema ... cascade)."
    )


@handles(CreateSchema)
def create_schema(scope: Scope, statement: CreateSchema) -> Outcome:
    """Create a schema.

    Raises:
        InputError: It already exists, or the name is reserved by the engine.
    """
    schema = statement.name.lower()
    if schema == GLOBAL_TEMPORARY:
        raise InputError(
            f"{schema} is Spark's schema of global temporary views. Give the schema another name."
        )
    if scope.overlay.has_schema(schema):
        if statement.if_not_exists:
            return Outcome()
        raise InputError(f"The schema {schema} already exists.")
    scope.overlay.put_schema(
        schema, comment=statement.comment, properties=dict(statement.properties)
    )
    return Outcome()


@reads("drop schema", "drop database", "drop namespace")
def _read_drop_schema(cursor: TokenCursor) -> DropSchema:
    if_exists = read_if_exists(cursor)
    name = cursor.schema()
    mode = cursor.take_any("cascade", "restrict")
    cursor.end()
    return DropSchema(name=name, if_exists=if_exists, cascade=mode == "cascade")


@handles(DropSchema)
def drop_schema(scope: Scope, statement: DropSchema) -> Outcome:
    """Drop a schema; `cascade` drops everything in it as well.

    Raises:
        NotFoundError: There is no such schema.
        InputError: It has relations and `cascade` was not given.
    """
    schema = statement.name.lower()
    if not scope.overlay.has_schema(schema):
        if statement.if_exists:
            return Outcome()
        raise NotFoundError(f"There is no schema '{schema}' to drop.")
    entries = scope.overlay.entries(schema)
    if entries and not statement.cascade:
        raise InputError(
            f"The schema {schema} holds {len(entries)} relations. "
            f"To drop them with it: drop schema {schema} cascade."
        )
    # Else the session's catalog would still show them.
    for identifier in entries:
        name = RelationName(schema, identifier)
        if scope.mounts.is_shown(name):
            scope.mounts.hide(name, scope.session)
    scope.overlay.drop_schema(schema)
    return Outcome()


@reads("alter schema", "alter database", "alter namespace")
def _read_alter_schema(cursor: TokenCursor) -> SetSchemaProperties:
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


@handles(SetSchemaProperties)
def set_schema_properties(scope: Scope, statement: SetSchemaProperties) -> Outcome:
    """Set or remove properties of a schema; to remove one that isn't set does nothing.

    Raises:
        NotFoundError: There is no such schema.
    """
    schema = statement.name.lower()
    info = scope.overlay.schema_info(schema)
    kept = {k: v for k, v in info.properties.items() if k not in statement.removed}
    properties = {**kept, **statement.properties}
    scope.overlay.put_schema(schema, comment=info.comment, properties=properties)
    return Outcome()


@reads("comment on schema", "comment on database", "comment on namespace")
def _read_comment_on_schema(cursor: TokenCursor) -> CommentOnSchema:
    name = cursor.schema()
    cursor.expect("is")
    comment = read_comment_value(cursor)
    cursor.end()
    return CommentOnSchema(name=name, comment=comment)


@handles(CommentOnSchema)
def comment_on_schema(scope: Scope, statement: CommentOnSchema) -> Outcome:
    """Set or remove the comment of a schema.

    Raises:
        NotFoundError: There is no such schema.
    """
    schema = statement.name.lower()
    properties = dict(scope.overlay.schema_info(schema).properties)
    scope.overlay.put_schema(schema, comment=statement.comment, properties=properties)
    return Outcome()


@reads("use")
def read_use(cursor: TokenCursor) -> Use:
    """Read what follows `use`."""
    # `use schema` alone is about a schema of that name.
    if cursor.token.word in SCHEMA_WORDS and cursor.ahead().kind is not Kind.END:
        cursor.index += 1
    schema = cursor.schema()
    cursor.end()
    return Use(schema=schema)


@handles(Use)
def use(scope: Scope, statement: Use) -> Outcome:
    """Set the schema of unqualified names."""
    schema = statement.schema.lower()
    scope.overlay.require_schema(schema)
    # Spark only uses a schema that its own catalog has.
    scope.session.ensure_schema(schema)
    scope.schema = schema
    return Outcome(rows=scope.session.query(scope.text))
