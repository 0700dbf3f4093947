"""The statement that puts a table's rows into fewer files."""

from __future__ import annotations

from dataclasses import dataclass

from dbt.adapters.vcs.statements.statement import Statement
from dbt.adapters.vcs.statements.syntax.names import Target


@dataclass(frozen=True, slots=True, kw_only=True)
class Optimize(Statement):
    """`optimize t [cluster by (...)]`: the same rows in fewer files.

    Attributes:
        target: The table.
        cluster_by: Columns to sort rows by; empty for the table's own.
    """

    changes = True
    writes_rows = True

    target: Target
    cluster_by: tuple[str, ...] = ()
