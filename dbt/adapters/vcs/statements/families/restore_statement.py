"""Statements that bring a table back: `restore` and `undrop`."""

from __future__ import annotations

from dataclasses import dataclass

from dbt.adapters.vcs.statements.statement import Statement
from dbt.adapters.vcs.statements.syntax.names import TableAt, Target


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreTable(Statement):
    """`restore table t from snapshot s{...}`, or `restore table t to version as of ...`.

    Attributes:
        target: The table.
        source: The version to restore, which is always given. With `to`, it is a version of
            the table itself.
    """

    changes = True

    target: Target
    source: TableAt


@dataclass(frozen=True, slots=True, kw_only=True)
class UndropTable(Statement):
    """`undrop table t`."""

    changes = True

    target: Target
