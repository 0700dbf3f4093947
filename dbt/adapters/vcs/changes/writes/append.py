"""Adding rows to a table: those of a query or of an Arrow table, and after those of others."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec
import pyarrow as pa

from dbt.adapters.vcs.changes.writes.checks import checks_of, refuse_null
from dbt.adapters.vcs.changes.writes.versions import arrow_blocks, changed
from dbt.adapters.vcs.core.ids import SnapshotId
from dbt.adapters.vcs.core.model import Block, Entry, RelationName, Snapshot, TableEntry
from dbt.adapters.vcs.core.origins.lineage import Consumptions, adds_up, merged_consumption
from dbt.adapters.vcs.core.origins.results import RowCounts
from dbt.adapters.vcs.core.plan.delta import delta
from dbt.adapters.vcs.core.plan.schema_merge import Definition
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.engines.port import Analysing, Column, Destination
from dbt.adapters.vcs.table.exact_values import fitted_rows
from dbt.adapters.vcs.table.files.footers import read_blocks
from dbt.adapters.vcs.table.manifests import folder_of, joined_segments, put_segments
from dbt.adapters.vcs.workspace.statement_scope import Outcome, Scope


def append_arrow(scope: Scope, name: RelationName, rows: pa.Table) -> Outcome:
    """Write Arrow rows as blocks, without an engine; columns are found by name.

    Raises:
        NotFoundError: There is no such table.
        InputError: A value doesn't fit, or a column that can't be NULL gets a NULL.
        UnsupportedError: Only Spark can write to the table.
    """
    snapshot = scope.overlay.require_table(name)
    repository = scope.overlay.repository
    fitted = fitted_rows(name, rows, snapshot.schema)
    blocks = arrow_blocks(repository, name, snapshot, [fitted])
    return put_appended(scope, name, snapshot, blocks)


def append_query(scope: Scope, name: RelationName, query: str) -> Outcome:
    """Write a query's rows as blocks, as INSERT BY NAME; what it reads is mounted already.

    Raises:
        NotFoundError: There is no such table.
        InputError: A column that can't be NULL gets a NULL.
        EngineError: A value doesn't fit its column.
    """
    snapshot = scope.overlay.require_table(name)
    blocks = write_query(
        scope,
        name,
        snapshot,
        lambda stage: f"insert into {stage} by name {query}",
        scope.mounts.steady,
    )
    return put_appended(scope, name, snapshot, blocks)


def write_query(
    scope: Scope,
    name: RelationName,
    snapshot: Snapshot,
    statement: Callable[[str], str],
    analysing: Analysing,
) -> tuple[Block, ...]:
    """Write the rows of an INSERT as blocks, in the columns and types of a table.

    Args:
        statement: Returns the INSERT into a table with the name that it is given.
        analysing: Makes readable what the INSERT reads.

    Raises:
        InputError: A column that can't be NULL gets a NULL.
    """
    fields = snapshot.schema.fields
    names = snapshot.schema.names_by_id
    written = scope.session.insert(
        statement,
        Destination(
            folder=folder_of(snapshot.table),
            partition_by=[names[id] for id in snapshot.partition_by],
            cluster_by=[names[id] for id in snapshot.cluster_by],
            # Decision 1: files call a column by its id, and the statement by its name.
            ids=[field.id for field in fields],
        ),
        columns=[Column(name=f.name, type=f.type, default=f.default) for f in fields],
        name=name,
        analysing=analysing,
    )
    scope.is_repeatable = written.is_repeatable
    blobs, by = scope.overlay.repository.blobs, snapshot.partition_by
    blocks = read_blocks(blobs, written.files, snapshot.schema, by, written.footers)
    refuse_null(blobs, blocks, snapshot.schema)
    return blocks


def put_appended(
    scope: Scope, name: RelationName, snapshot: Snapshot, blocks: Sequence[Block]
) -> Outcome:
    """Store a version of a table with more blocks, if there are any."""
    # History shows changes only.
    if blocks:
        added = put_segments(scope.overlay.repository.objects, blocks)
        changed(scope, name, snapshot, operation="append", segments=(*snapshot.segments, *added))
    rows = sum(block.rows for block in blocks)
    return Outcome(affected=rows, counts=RowCounts(rows))


def appended(
    repository: Repository, before: Entry | None, now: Entry | None, after: Entry | None
) -> TableEntry | None:
    """Return a table with the rows that were inserted into an earlier version of it.

    None if more was done to it. Keys are not compared: see `changes.writes.checks.may_clash`.

    Args:
        before: The version that the rows were inserted into.
        now: The version that they are to be added to.
        after: The version with the rows; whoever made it did nothing but insert.
    """
    if not (
        isinstance(before, TableEntry)
        and isinstance(now, TableEntry)
        and isinstance(after, TableEntry)
    ):
        return None
    base, head, ours = (
        repository.objects.snapshot(entry.snapshot) for entry in (before, now, after)
    )
    change = delta(base, ours, repository.objects.segments)
    if change.removed or change.deleted or change.restored:
        return None
    # An insert changes nothing else about a table.
    is_insert = ours.table == base.table and Definition.of(ours) == Definition.of(base)
    if not (is_insert and _takes(head, base)):
        return None
    consumed: Consumptions = base.consumption, head.consumption, ours.consumption
    if not adds_up(consumed):
        # Both built it from changes: the merge takes one of them.
        return None
    theirs = delta(base, head, repository.objects.segments)
    if {block.path for block in change.added} & {block.path for block in theirs.added}:
        # A client's commit that arrived twice: its files count once.
        return None
    added = put_segments(repository.objects, change.added)
    version = msgspec.structs.replace(
        head,
        segments=joined_segments(repository.objects, (*head.segments, *added)),
        # As if the rows had been inserted on the head.
        parents=(now.snapshot,),
        operation=ours.operation,
        created_at=ours.created_at,
        origin=ours.origin,
        consumption=merged_consumption(consumed),
    )
    return TableEntry(snapshot=SnapshotId(repository.objects.put(version)))


def combined(
    repository: Repository, before: Entry | None, now: Entry | None, after: Entry | None
) -> TableEntry | None:
    """Do what `appended` does, where no keys have to be compared for it."""
    if isinstance(now, TableEntry) and repository.objects.snapshot(now.snapshot).is_key_enforced:
        return None
    return appended(repository, before, now, after)


def _takes(head: Snapshot, base: Snapshot) -> bool:
    """Return whether rows that were written and checked for one version fit another."""
    if head.schema != base.schema or head.partition_by != base.partition_by:
        return False
    # The rows were not checked against a new constraint of the head.
    return checks_of(head.properties).items() <= checks_of(base.properties).items()
