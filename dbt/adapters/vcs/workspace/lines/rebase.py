"""Rebase: the changes of an overlay put on top of a head that moved."""

from __future__ import annotations

import msgspec

from dbt.adapters.vcs.changes.writes.checks import checks_of
from dbt.adapters.vcs.changes.writes.keys import may_clash
from dbt.adapters.vcs.changes.writes.versions import joined, put_segments
from dbt.adapters.vcs.core.ids import CommitId, SnapshotId
from dbt.adapters.vcs.core.model import Entry, RelationName, Snapshot, TableEntry
from dbt.adapters.vcs.core.model.tree import AbsentType
from dbt.adapters.vcs.core.origins.lineage import Consumptions, adds_up, merged_consumption
from dbt.adapters.vcs.core.plan.delta import delta
from dbt.adapters.vcs.workspace.overlay import Overlay


def rebased(overlay: Overlay, head: CommitId) -> Overlay:
    """Return an overlay on `head` if the overlapping changes are inserts, else the overlay.

    An insert that didn't read the table doesn't depend on its other rows. Where both the overlay
    and the new head changed a table and the overlay only inserted rows, its blocks are appended
    to the head's. Anything else is left to the three-way merge: a `merge into` or an overwrite
    that found nothing to replace only added rows, too, but would find something on the head.
    """
    if head == overlay.base:
        return overlay
    tree = overlay.repository.tree(head)
    moved: dict[RelationName, Entry | AbsentType] = {}
    for name, entry in overlay.relations.items():
        before, now = overlay.before(name), tree.entry(name)
        if before == now:
            continue
        if str(name) in overlay.read:
            # `select max(id) + 1 from t` has another result on the head.
            return overlay
        combined = _appended(overlay, before, now, entry)
        if combined is None:
            return overlay
        moved[name] = combined
    if not moved:
        return overlay
    schemas = {
        name: change
        for name, change in overlay.schemas.items()
        if tree.has_schema(name) == overlay.tree.has_schema(name)
    }
    return Overlay(
        repository=overlay.repository,
        base=head,
        tree=tree,
        relations={**overlay.relations, **moved},
        schemas=schemas,
    )


def _appended(
    overlay: Overlay, before: Entry | None, now: Entry | None, after: Entry | AbsentType
) -> Entry | None:
    """Return the head's table with the rows that the overlay added; None if it did more."""
    if not (
        isinstance(before, TableEntry)
        and isinstance(now, TableEntry)
        and isinstance(after, TableEntry)
    ):
        return None
    if not _only_inserts(overlay, before, after):
        return None
    base, head, ours = (overlay.snapshot(entry.snapshot) for entry in (before, now, after))
    change = delta(base, ours, overlay.repository.objects.segment)
    if change.removed or change.deleted or change.restored:
        return None
    if _facts(ours) != _facts(base) or not _takes(head, base, ours):
        return None
    theirs = delta(base, head, overlay.repository.objects.segment)
    if {block.path for block in change.added} & {block.path for block in theirs.added}:
        # A client's commit that arrived twice: its files count once.
        return None
    added = put_segments(overlay.repository, change.added)
    version = msgspec.structs.replace(
        head,
        segments=joined(overlay.repository, (*head.segments, *added)),
        parents=(now.snapshot,),
        operation=ours.operation,
        created_at=ours.created_at,
        origin=ours.origin,
        consumption=merged_consumption(_consumed(base, head, ours)),
    )
    if may_clash(overlay.repository, version, head):
        return None
    return TableEntry(snapshot=SnapshotId(overlay.repository.objects.put(version)))


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


def _only_inserts(overlay: Overlay, before: TableEntry, after: TableEntry) -> bool:
    """Return whether each version that the overlay made of a table was made by an insert."""
    version = after.snapshot
    while version != before.snapshot:
        made = overlay.snapshot(version)
        if made.operation != "append" or not made.parents:
            return False
        version = made.parents[0]
    return True


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
