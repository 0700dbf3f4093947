"""Statements that register partitions; a branch has them in its manifests."""

from __future__ import annotations

from dataclasses import dataclass

from dbt.adapters.vcs.statements.statement import Statement
from dbt.adapters.vcs.statements.syntax.column_clauses import PartitionSpec
from dbt.adapters.vcs.statements.syntax.names import Target


@dataclass(frozen=True, slots=True, kw_only=True)
class AddPartitions(Statement):
    """`alter table t add [if not exists] partition (a = 1, ...) [partition ...]`."""

    target: Target
    partitions: tuple[tuple[PartitionSpec, ...], ...]
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairTable(Statement):
    """`msck repair table t [add | drop | sync partitions]`, `alter table t recover partitions`."""

    target: Target
