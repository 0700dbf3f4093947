"""Statements that create, describe and list functions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from dbt.adapters.vcs.core.model.function import Language, Parameter, Shape
from dbt.adapters.vcs.core.model.view import ViewColumn
from dbt.adapters.vcs.statements.statement import Statement
from dbt.adapters.vcs.statements.syntax.names import Target
from dbt.adapters.vcs.statements.syntax.query import Query


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateFunction(Statement):
    """`create [or replace] [aggregate] function f(...) ... return ... | as '...'`.

    Attributes:
        target: The function.
        body: What follows `return`. For Python its text is the module's source, and it reads
            nothing.
        language: The language of the body.
        shape: What the function returns.
        parameters: In order.
        returns: Type of the value; None if not given, and for rows.
        columns: Columns of the rows; empty if not given.
        deterministic: Whether equal arguments give equal values; None if not given.
        handler: From `handler = '...'`.
        packages: From `packages = (...)`.
        runtime: From `runtime_version = '...'`.
        comment: Free text, or None.
        replace: True with `or replace`.
        if_not_exists: True with that clause.
    """

    changes = True

    target: Target
    body: Query
    language: Language = "sql"
    shape: Shape = "scalar"
    parameters: tuple[Parameter, ...] = ()
    returns: str | None = None
    columns: tuple[ViewColumn, ...] = ()
    deterministic: bool | None = None
    handler: str | None = None
    packages: tuple[str, ...] = ()
    runtime: str | None = None
    comment: str | None = None
    replace: bool = False
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeFunction(Statement):
    """`describe function [extended] f`."""

    target: Target
    extended: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowFunctions(Statement):
    """`show [user | all] functions [in s] [like 'a*|b*']`.

    Attributes:
        kind: Whether to include Spark's own functions.
        schema: The schema asked for, or None.
        pattern: Spark's pattern of names, or None.
    """

    kind: Literal["user", "all"] = "all"
    schema: str | None = None
    pattern: str | None = None
