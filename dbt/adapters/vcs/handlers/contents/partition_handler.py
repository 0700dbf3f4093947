"""Statements that register partitions; a partition exists with its rows, so they do nothing."""

from __future__ import annotations

from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.core.model import RelationName, Snapshot
from dbt.adapters.vcs.handlers.contents.insert_handler import has_partition
from dbt.adapters.vcs.handlers.handler_registry import handles
from dbt.adapters.vcs.scope.answer import Outcome
from dbt.adapters.vcs.scope.statement_scope import Scope
from dbt.adapters.vcs.statements.families.partition import AddPartitions, RepairTable


@handles(AddPartitions)
def add_partitions(scope: Scope, statement: AddPartitions) -> Outcome:
    """Check what `alter table ... add partition` says, as Spark does; nothing changes.

    Raises:
        NotFoundError: There is no such table.
        InputError: The table is not partitioned by these columns, or has rows in the partition
            and `if not exists` was not given.
    """
    name = scope.name(statement.target.name)
    snapshot = _partitioned(name, scope.overlay.require_table(name))
    for partition in statement.partitions:
        if any(spec.value_sql is None for spec in partition):
            raise InputError(
                f"`alter table {name} add partition` needs a value for each partition column. "
                "Write: partition (column = value)."
            )
        if has_partition(scope, partition, snapshot) and not statement.if_not_exists:
            shown = ", ".join(f"{spec.name} = {spec.value_sql}" for spec in partition)
            raise InputError(
                f"{name} already has the partition ({shown}). Write `add if not exists "
                "partition`, or leave the statement out: a partition exists as soon as it has "
                "rows."
            )
    return Outcome()


@handles(RepairTable)
def repair_table(scope: Scope, statement: RepairTable) -> Outcome:
    """Check that a table is partitioned; the repository already knows its files.

    Raises:
        NotFoundError: There is no such table.
        InputError: It is not partitioned.
    """
    name = scope.name(statement.target.name)
    _partitioned(name, scope.overlay.require_table(name))
    return Outcome()


def _partitioned(name: RelationName, snapshot: Snapshot) -> Snapshot:
    if not snapshot.partition_by:
        raise InputError(
            f"{name} is not partitioned, so it has no partitions to add or to repair. Leave the "
            "statement out."
        )
    return snapshot
