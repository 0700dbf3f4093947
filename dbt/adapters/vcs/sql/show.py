"""Statements that show what a catalog holds: their values and their readers."""

from __future__ import annotations

from dataclasses import dataclass

from dbt.adapters.vcs.core.errors import UnsupportedError
from dbt.adapters.vcs.sql.function_statement import (
    DescribeFunction,
    ShowFunctions,
    read_describe_function,
    read_show_functions,
)
from dbt.adapters.vcs.sql.syntax.clauses import (
    SCHEMA_WORDS,
    PartitionSpec,
    read_partition,
    read_property_key,
)
from dbt.adapters.vcs.sql.syntax.cursor import TokenCursor
from dbt.adapters.vcs.sql.syntax.lexer import Kind
from dbt.adapters.vcs.sql.syntax.names import Name, Target
from dbt.adapters.vcs.sql.syntax.parser import reads
from dbt.adapters.vcs.sql.syntax.scan import QUERY_WORDS
from dbt.adapters.vcs.sql.syntax.statement import OnRelation, Statement


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowSchemas(Statement):
    """`show schemas [like 'a*|b*']`."""

    pattern: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowTables(Statement):
    """`show tables|views [in s] [like 'a*|b*']`."""

    schema: str | None = None
    pattern: str | None = None
    views_only: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowTableExtended(Statement):
    """`show table extended [in s] like 'a*'`."""

    schema: str | None
    pattern: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowColumns(OnRelation):
    """`show columns in t [in s]`; a schema given separately is part of `target`."""

    target: Target


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowPartitions(OnRelation):
    """`show partitions t [partition (...)]`."""

    target: Target
    partition: tuple[PartitionSpec, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowTableProperties(OnRelation):
    """`show tblproperties t [(key)]`."""

    target: Target
    key: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowCreateTable(OnRelation):
    """`show create table t`."""

    target: Target


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeSchema(Statement):
    """`describe schema [extended] s`."""

    name: str
    extended: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Describe(OnRelation):
    """`describe [table] [extended|formatted] t [column]`.

    Attributes:
        target: The relation.
        extended: True with `extended` or `formatted`.
        column: The column asked for, its parts joined by dots, or None.
        json: True with `as json`.
    """

    target: Target
    extended: bool = False
    column: str | None = None
    json: bool = False


Shown = (
    ShowSchemas
    | ShowTables
    | ShowTableExtended
    | ShowColumns
    | ShowPartitions
    | ShowTableProperties
    | ShowCreateTable
    | ShowFunctions
)


@reads("show")
def read_show(cursor: TokenCursor) -> Shown | None:
    """Read what follows `show`; None if Spark answers it."""
    shown = _show(cursor)
    if shown is not None:
        cursor.end()
    return shown


def _show(cursor: TokenCursor) -> Shown | None:
    if cursor.take_any("schemas", "databases", "namespaces"):
        _in_schema(cursor)
        return ShowSchemas(pattern=_pattern(cursor))
    if cursor.take("tables"):
        return ShowTables(schema=_in_schema(cursor), pattern=_pattern(cursor))
    if cursor.take("views"):
        return ShowTables(schema=_in_schema(cursor), pattern=_pattern(cursor), views_only=True)
    if cursor.take("table", "extended"):
        schema = _in_schema(cursor)
        cursor.expect("like")
        pattern = cursor.string()
        if cursor.at("partition"):
            raise UnsupportedError(
                "`show table extended ... partition (...)` is not supported on versioned tables: "
                "a partition is not a folder there. Use `show partitions`, or select its rows."
            )
        return ShowTableExtended(schema=schema, pattern=pattern)
    if cursor.take("columns"):
        return _columns(cursor)
    if cursor.take("partitions"):
        return ShowPartitions(target=cursor.target(), partition=read_partition(cursor))
    if cursor.take("tblproperties"):
        return _properties(cursor)
    if cursor.take("create", "table"):
        target = cursor.target()
        cursor.take("as", "serde")
        return ShowCreateTable(target=target)
    return read_show_functions(cursor)


def _in_schema(cursor: TokenCursor) -> str | None:
    return cursor.schema() if cursor.take_any("in", "from") else None


def _pattern(cursor: TokenCursor) -> str | None:
    if cursor.take("like") or not cursor.done:
        return cursor.string()
    return None


def _columns(cursor: TokenCursor) -> ShowColumns:
    if cursor.take_any("in", "from") is None:
        cursor.fail("`in` and a table")
    target = cursor.target()
    schema = _in_schema(cursor)
    if schema is not None:
        name = Name(schema=schema, identifier=target.name.identifier)
        target = Target(name=name, start=target.start, end=target.end)
    return ShowColumns(target=target)


def _properties(cursor: TokenCursor) -> ShowTableProperties:
    target = cursor.target()
    key = None
    if cursor.symbol("("):
        key = read_property_key(cursor)
        cursor.expect_symbol(")")
    return ShowTableProperties(target=target, key=key)


@reads("describe", "desc")
def read_describe(cursor: TokenCursor) -> Describe | DescribeFunction | DescribeSchema | None:
    """Read what follows `describe`; None if its object is not on the branch.

    Raises:
        UnsupportedError: It asks about one partition.
    """
    if not _last(cursor):
        if cursor.ahead().word != "." and cursor.take("function"):
            return read_describe_function(cursor)
        if cursor.ahead().word != "." and cursor.take_any(*SCHEMA_WORDS):
            return _describe_schema(cursor)
        if cursor.ahead().word != "." and _other_kind(cursor):
            return None
        cursor.take("table")
    extended = not _last(cursor) and cursor.take_any("extended", "formatted") is not None
    target = cursor.target()
    if cursor.at("partition") and cursor.ahead().word == "(":
        raise UnsupportedError(
            f"`describe {target.name} partition (...)` is not supported on versioned tables. "
            "Select the rows of the partition instead."
        )
    column = None
    if not (cursor.done or cursor.at("as", "json")):
        column = ".".join(cursor.parts())
    json = cursor.take("as", "json")
    cursor.end()
    return Describe(target=target, extended=extended, column=column, json=json)


def _describe_schema(cursor: TokenCursor) -> DescribeSchema:
    extended = not _last(cursor) and cursor.take("extended")
    name = cursor.schema()
    cursor.end()
    return DescribeSchema(name=name, extended=extended)


def _other_kind(cursor: TokenCursor) -> bool:
    """Return whether the next word means that a query or an object of Spark is described."""
    kinds = {"function", "procedure", "query", "catalog", "("}
    return cursor.token.word in kinds | QUERY_WORDS - {"table"}


def _last(cursor: TokenCursor) -> bool:
    """Return whether the next token is the last, and so a name whatever it looks like."""
    return cursor.ahead().kind is Kind.END
