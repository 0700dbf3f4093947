"""Adding rows and replacing them by partition: `insert into`, `insert overwrite`, `truncate`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from dbt.adapters.vcs.changes.writes.append import put_appended, write_query
from dbt.adapters.vcs.changes.writes.pruning import matching
from dbt.adapters.vcs.changes.writes.stage import RowTarget, target_of
from dbt.adapters.vcs.changes.writes.versions import changed
from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.core.model import Block, RelationName, SegmentRef, Snapshot
from dbt.adapters.vcs.core.origins.results import RowCounts
from dbt.adapters.vcs.sql.row_change import Delete, carry_out, reading
from dbt.adapters.vcs.sql.syntax.clauses import PartitionSpec, read_partition
from dbt.adapters.vcs.sql.syntax.cursor import TokenCursor
from dbt.adapters.vcs.sql.syntax.insertion import Insert
from dbt.adapters.vcs.sql.syntax.parser import ChangingRelation, parse, reads
from dbt.adapters.vcs.sql.table import partition_columns, partition_values
from dbt.adapters.vcs.table.manifests import put_segments, without_blocks
from dbt.adapters.vcs.table.quoting import quoted_relation
from dbt.adapters.vcs.workspace.statement_scope import Outcome, Scope, handles
from dbt.adapters.vcs.workspace.table_version import Version

_DYNAMIC = "spark.sql.sources.partitionOverwriteMode"


@handles(Insert)
def insert(scope: Scope, statement: Insert) -> Outcome:
    """Write a query's rows as blocks; `overwrite` removes the blocks that they replace.

    What is replaced follows Spark's rule for file tables: the whole table, or the partitions
    in the partition clause, or, with `partitionOverwriteMode = dynamic`, the partitions that
    the query has rows for. `replace where` replaces the rows that meet the condition. `if not
    exists` does nothing if the partition has rows.

    Raises:
        NotFoundError: There is no such table.
        InputError: The name is a view, or a column that can't be NULL gets a NULL.
    """
    name = scope.name(statement.target.name)
    snapshot = scope.overlay.require_table(name)
    if statement.if_not_exists:
        # Decision 31: whether the partition exists is read, too, and another run may change it.
        scope.overlay.read.add(str(name))
        if _has_partition(scope, statement.partition, snapshot):
            return Outcome(affected=0, counts=RowCounts())
    for column in statement.columns:
        # Raises for a column that the table lacks, before any row is computed.
        snapshot.schema.field(column)
    reading = partial(scope.reading, statement.query)
    # First of all: where partitions are replaced dynamically, the rows say which.
    blocks = write_query(scope, name, snapshot, statement.staged, reading)
    if not statement.overwrite and statement.replace_where is None:
        return put_appended(scope, name, snapshot, blocks)
    added = put_segments(scope.overlay.repository.objects, blocks)
    rows = sum(block.rows for block in blocks)
    if statement.replace_where is not None:
        kept = _without_rows(scope, name, statement.replace_where, blocks)
    else:
        is_replaced = _replacement_test(scope, statement, snapshot, blocks)
        kept = _remaining_segments(scope, snapshot, is_replaced)
    # Which rows meet a condition is known only now; a partition is replaced even by none.
    if blocks or kept != snapshot.segments or statement.replace_where is None:
        changed(scope, name, snapshot, operation="overwrite", segments=(*kept, *added))
    deleted = snapshot.rows - sum(ref.rows - ref.deleted for ref in kept)
    # Spark counts only the rows that an overwrite writes.
    return Outcome(affected=rows, counts=RowCounts(rows, deleted=deleted))


def _has_partition(scope: Scope, partition: Sequence[PartitionSpec], snapshot: Snapshot) -> bool:
    wanted = partition_values(scope, snapshot, partition)
    if len(wanted) < len(snapshot.partition_by) or not wanted:
        raise InputError(
            "A partition needs a value for each partition column; the partition columns are: "
            f"{partition_columns(snapshot)}."
        )
    blocks = Version.of(scope.overlay.repository, snapshot).blocks
    return any(_matches(block, wanted) for block in blocks)


def _replacement_test(
    scope: Scope, statement: Insert, snapshot: Snapshot, blocks: Sequence[Block]
) -> Callable[[Block], bool]:
    wanted = partition_values(scope, snapshot, statement.partition)
    mode = scope.session.setting(_DYNAMIC) or "static"
    if snapshot.partition_by and mode.lower() == "dynamic":
        written = {tuple(sorted(block.partition.items())) for block in blocks}
        if len(wanted) == len(snapshot.partition_by):
            # With a value for every partition column it is that partition, whatever the mode.
            return lambda block: _matches(block, wanted)
        return lambda block: tuple(sorted(block.partition.items())) in written
    # Without a partition clause nothing is asked of a block, so all are replaced.
    return lambda block: _matches(block, wanted)


def _matches(block: Block, wanted: dict[str, str | None]) -> bool:
    return all(block.partition.get(id) == value for id, value in wanted.items())


def _remaining_segments(
    scope: Scope, snapshot: Snapshot, is_replaced: Callable[[Block], bool]
) -> tuple[SegmentRef, ...]:
    """Return the segments without the replaced blocks; unchanged segments keep their id."""
    repository = scope.overlay.repository
    blocks = Version.of(repository, snapshot).blocks
    gone = {block.path for block in blocks if is_replaced(block)}
    return without_blocks(repository.objects, snapshot.segments, gone)


def _without_rows(
    scope: Scope, name: RelationName, condition: str, written: Sequence[Block]
) -> tuple[SegmentRef, ...]:
    """Return a table's segments without the rows that meet a condition.

    Args:
        condition: SQL text.
        written: The rows that replace them.

    Raises:
        InputError: A new row does not meet the condition; Delta has the same rule.
    """
    # Replacing deletes what meets the condition, so rows are found and stored as a delete does.
    statement = parse(f"delete from {quoted_relation(name)} where {condition}")
    assert isinstance(statement, Delete)
    target = target_of(scope, name)
    _check_condition(scope, target, statement, condition, written)
    blocks = matching(target.blocks, target.snapshot.schema, statement.conjuncts())
    return carry_out(scope, target, statement, blocks, sets=()).segments


def _check_condition(
    scope: Scope, target: RowTarget, statement: Delete, condition: str, written: Sequence[Block]
) -> None:
    # To replace rows by none is to delete them.
    if not written:
        return
    fields = target.snapshot.schema.fields
    query = statement.staged(target.located(scope.session, written), fields)
    with reading(scope, statement):
        counted = scope.session.query(f"select count(*) from (\n{query}\n)")
    rows = sum(block.rows for block in written)
    others = rows - counted.fetch()[0][0]
    if others:
        raise InputError(
            f"insert into {target.name} replace where {condition}: {others} of the {rows} new "
            "rows do not meet the condition. Nothing was changed; filter them out of the "
            "query, or widen the condition."
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Truncate(ChangingRelation):
    """`truncate table t [partition (...)]`."""

    partition: tuple[PartitionSpec, ...] = ()


@reads("truncate")
def read_truncate(cursor: TokenCursor) -> Truncate:
    """Read what follows `truncate`."""
    cursor.expect("table")
    target = cursor.target()
    partition = read_partition(cursor)
    cursor.end()
    return Truncate(target=target, partition=partition)


@handles(Truncate)
def truncate(scope: Scope, statement: Truncate) -> Outcome:
    """Delete all rows, or all rows of some partitions.

    Raises:
        NotFoundError: There is no such table.
    """
    name = scope.name(statement.target.name)
    snapshot = scope.overlay.require_table(name)
    if statement.partition:
        wanted = partition_values(scope, snapshot, statement.partition)
        kept = _remaining_segments(scope, snapshot, lambda block: _matches(block, wanted))
    else:
        kept = ()
    if kept != snapshot.segments:
        changed(scope, name, snapshot, operation="truncate", segments=kept)
    return Outcome()
