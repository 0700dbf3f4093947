"""Rows that were inserted into a table follow those that others inserted meanwhile."""

from __future__ import annotations

import msgspec

from dbt.adapters.vcs.changes.writes.checks import checks_of
from dbt.adapters.vcs.core.ids import SnapshotId
from dbt.adapters.vcs.core.model import Entry, Snapshot, TableEntry
from dbt.adapters.vcs.core.origins.lineage import Consumptions, adds_up, merged_consumption
from dbt.adapters.vcs.core.plan.delta import delta
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.table.manifests import joined_segments, put_segments


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
    if _facts(ours) != _facts(base) or not _takes(head, base, ours):
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
        consumption=merged_consumption(_consumed(base, head, ours)),
    )
    return TableEntry(snapshot=SnapshotId(repository.objects.put(version)))


def combined(
    repository: Repository, before: Entry | None, now: Entry | None, after: Entry | None
) -> TableEntry | None:
    """Do what `appended` does, where no keys have to be compared for it."""
    if isinstance(now, TableEntry) and repository.objects.snapshot(now.snapshot).is_key_enforced:
        return None
    return appended(repository, before, now, after)


def _takes(head: Snapshot, base: Snapshot, ours: Snapshot) -> bool:
    """Return whether rows that were written and checked for one version fit another."""
    if head.schema != base.schema or head.partition_by != base.partition_by:
        return False
    if not adds_up(_consumed(base, head, ours)):
        # Both built it from changes: the merge takes one of them.
        return False
    # The rows were not checked against a new constraint of the head.
    return checks_of(head.properties).items() <= checks_of(base.properties).items()


def _consumed(base: Snapshot, head: Snapshot, ours: Snapshot) -> Consumptions:
    return base.consumption, head.consumption, ours.consumption


def _facts(snapshot: Snapshot) -> tuple[object, ...]:
    """Return everything about a table that an insert doesn't change."""
    return (
        snapshot.table,
        snapshot.schema,
        snapshot.primary_key,
        snapshot.partition_by,
        snapshot.cluster_by,
        snapshot.comment,
        snapshot.properties,
    )
