"""Statements that query the catalog, answered from the tree."""

from __future__ import annotations

from dataclasses import dataclass

from dbt.adapters.vcs.statements.statement import Statement
from dbt.adapters.vcs.statements.syntax.column_clauses import PartitionSpec
from dbt.adapters.vcs.statements.syntax.names import Target


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
class ShowColumns(Statement):
    """`show columns in t [in s]`; a schema given separately is part of `target`."""

    target: Target


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowPartitions(Statement):
    """`show partitions t [partition (...)]`."""

    target: Target
    partition: tuple[PartitionSpec, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowTableProperties(Statement):
    """`show tblproperties t [(key)]`."""

    target: Target
    key: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowCreateTable(Statement):
    """`show create table t`."""

    target: Target


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeSchema(Statement):
    """`describe schema [extended] s`."""

    name: str
    extended: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Describe(Statement):
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
