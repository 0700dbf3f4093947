"""A function: one immutable version of an expression, query or program that has a name."""

from __future__ import annotations

from typing import Literal, TypeAlias

from dbt.adapters.vcs.core.model.value import Value
from dbt.adapters.vcs.core.model.view import ViewColumn

Shape: TypeAlias = Literal["scalar", "table", "aggregate"]
"""What a function gives: a value a row, rows, or a value a group."""

Language: TypeAlias = Literal["sql", "python"]
"""What a function is written in."""


class Parameter(Value, frozen=True, kw_only=True):
    """One parameter: its name, type, default as SQL text, and comment."""

    name: str
    type: str
    default: str | None = None
    comment: str | None = None


class Function(Value, frozen=True, kw_only=True):
    """One version of a function.

    Attributes:
        text: In SQL an expression or a query, every relation and every function of the branch in
            it with its schema; in Python the source of a module.
        language: What `text` is.
        shape: What it gives.
        parameters: In order.
        returns: Type of the value, or None where the text says it, and for rows.
        columns: Name, type and comment of the columns of its rows; empty where the text says it.
        deterministic: Whether equal arguments give equal values; None where nobody said.
        handler: What in a Python module is called: a function, or for groups a class.
        packages: What a Python module needs, as requirements with or without a version.
        runtime: The version of Python that it was written for, or None.
        reads: `schema.relation` of every relation that SQL text names, sorted.
        calls: `schema.function` of every function of the branch that SQL text calls, sorted.
        comment: Free text, or None.
    """

    text: str
    language: Language = "sql"
    shape: Shape = "scalar"
    parameters: tuple[Parameter, ...] = ()
    returns: str | None = None
    columns: tuple[ViewColumn, ...] = ()
    deterministic: bool | None = None
    handler: str | None = None
    packages: tuple[str, ...] = ()
    runtime: str | None = None
    reads: tuple[str, ...] = ()
    calls: tuple[str, ...] = ()
    comment: str | None = None
