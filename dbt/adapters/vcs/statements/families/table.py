"""Statements that create, empty or drop tables and views."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from dbt.adapters.vcs.statements.statement import Statement
from dbt.adapters.vcs.statements.syntax.column_clauses import (
    ColumnDef,
    PartitionSpec,
    ViewColumnDef,
)
from dbt.adapters.vcs.statements.syntax.names import At, Target
from dbt.adapters.vcs.statements.syntax.query import Query


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateTable(Statement):
    """`create [or replace] table t (...)`, with or without a query.

    Attributes:
        target: The table.
        columns: The declared columns, those of `partitioned by` last; empty if the query
            defines them.
        query: The query that fills it, or None.
        replace: True with `or replace`.
        if_not_exists: True with that clause.
        provider: Lower-case name after `using` or `stored as`, or None.
        partition_by: Names of partition columns, in order.
        cluster_by: Names of the columns to cluster the rows by.
        primary_key: Columns of the `primary key` constraint, else of the property
            `primary_key`; empty if there is neither.
        constraints: SQL text of `unique` and `foreign key` constraints, which are not
            enforced.
        comment: Free text, or None.
        properties: From `tblproperties`.
        options: From `options`.
        location: The path given, or None.
    """

    changes = True
    writes_rows = True

    target: Target
    columns: tuple[ColumnDef, ...] = ()
    query: Query | None = None
    replace: bool = False
    if_not_exists: bool = False
    provider: str | None = None
    partition_by: tuple[str, ...] = ()
    cluster_by: tuple[str, ...] = ()
    primary_key: tuple[str, ...] = ()
    constraints: tuple[str, ...] = ()
    comment: str | None = None
    properties: Mapping[str, str] = field(default_factory=dict)
    options: Mapping[str, str] = field(default_factory=dict)
    location: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateTableLike(Statement):
    """`create table t like s`: an empty table with the columns of another."""

    changes = True

    target: Target
    source: Target
    if_not_exists: bool = False
    provider: str | None = None
    properties: Mapping[str, str] = field(default_factory=dict)
    location: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Clone(Statement):
    """`create table a clone b`, or `create table a from snapshot b{...}`.

    Attributes:
        target: The table to create.
        source: The table to clone.
        replace: True with `or replace`.
        if_not_exists: True with that clause.
        at: The version of the source; None for the branch's own.
    """

    changes = True

    target: Target
    source: Target
    replace: bool = False
    if_not_exists: bool = False
    at: At | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateView(Statement):
    """`create [or replace] view v as ...`."""

    changes = True

    target: Target
    query: Query
    columns: tuple[ViewColumnDef, ...] = ()
    replace: bool = False
    if_not_exists: bool = False
    comment: str | None = None
    properties: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateTemporaryView(Statement):
    """`create [or replace] [global] temporary view v ...`, which is not on any branch.

    Attributes:
        target: The view.
        query: None with `using <format>`.
        replace: True with `or replace`.
        global_: True with `global`.
        text: The whole statement.
        query_start: Offset of the query in `text`; 0 without one.
    """

    target: Target
    query: Query | None
    replace: bool
    global_: bool
    text: str
    query_start: int = 0

    def rewritten(self, query: str) -> str:
        """Return the statement with its query replaced by another text."""
        return self.text if self.query is None else self.text[: self.query_start] + query


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterViewAs(Statement):
    """`alter view v as ...`."""

    changes = True

    target: Target
    query: Query


@dataclass(frozen=True, slots=True, kw_only=True)
class Truncate(Statement):
    """`truncate table t [partition (...)]`."""

    changes = True

    target: Target
    partition: tuple[PartitionSpec, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DropRelation(Statement):
    """`drop table t`, `drop view v`, `drop function f`; an unqualified view may be temporary."""

    changes = True

    kind: Literal["table", "view", "function"]
    target: Target
    if_exists: bool = False
