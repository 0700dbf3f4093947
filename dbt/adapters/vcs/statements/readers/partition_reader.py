"""Reads statements that register the partitions of a table."""

from __future__ import annotations

from dbt.adapters.vcs.core.errors import UnsupportedError
from dbt.adapters.vcs.statements.families.partition import AddPartitions, RepairTable
from dbt.adapters.vcs.statements.reader_registry import reads
from dbt.adapters.vcs.statements.readers.clauses import read_if_not_exists, read_partition
from dbt.adapters.vcs.statements.syntax.cursor import TokenCursor
from dbt.adapters.vcs.statements.syntax.names import Target


def read_partitions(cursor: TokenCursor, target: Target) -> AddPartitions | RepairTable | None:
    """Read what follows `alter table t`; None if it is about something else.

    Raises:
        UnsupportedError: A partition would be a folder outside of the repository.
    """
    if cursor.take("recover", "partitions"):
        return RepairTable(target=target)
    if not (cursor.at("add", "partition") or cursor.at("add", "if", "not", "exists")):
        return None
    cursor.expect("add")
    if_not_exists = read_if_not_exists(cursor)
    partitions = [read_partition(cursor)]
    while not cursor.done:
        if cursor.at("location"):
            raise UnsupportedError(
                f"`alter table {target.name} add partition ... location` is not supported on "
                "versioned tables, whose files are in the repository. Copy the rows: insert into "
                f"{target.name} select ... from parquet.`<path>`."
            )
        if not cursor.at("partition"):
            cursor.fail("`partition (...)` or the statement's end")
        partitions.append(read_partition(cursor))
    if not partitions[0]:
        cursor.fail("`partition (...)`")
    return AddPartitions(target=target, partitions=tuple(partitions), if_not_exists=if_not_exists)


@reads("msck", "repair")
def read_repair(cursor: TokenCursor) -> RepairTable:
    """Read what follows `msck`, or `repair`."""
    cursor.take("repair")
    cursor.expect("table")
    target = cursor.target()
    if cursor.take_any("add", "drop", "sync"):
        cursor.expect("partitions")
    cursor.end()
    return RepairTable(target=target)
