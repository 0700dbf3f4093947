"""Rebase: the changes of an overlay made to follow a head that moved meanwhile."""

from __future__ import annotations

import msgspec

from dbt.adapters.vcs.core.ids import CommitId, SnapshotId
from dbt.adapters.vcs.core.model import (
    Entry,
    RelationName,
    SegmentRef,
    Snapshot,
    TableEntry,
)
from dbt.adapters.vcs.workspace.overlay import Overlay
from dbt.adapters.vcs.workspace.versions import joined


def rebased(overlay: Overlay, head: CommitId) -> Overlay:
    """Return an overlay on `head` if inserts alone stand in the way, else the overlay itself.

    An insert doesn't depend on what else is in a table. So where both the overlay and the moved
    head changed a table, and the overlay only appended to it with the schema that the head still
    has, its new segments follow the head's. Anything else is left for the three-way merge.
    """
    if head == overlay.base:
        return overlay
    tree = overlay.repository.tree(head)
    moved: dict[RelationName, Entry] = {}
    for name, entry in overlay.relations.items():
        before, now = overlay.before(name), tree.entry(name)
        if before == now:
            continue
        combined = _appended(overlay, before, now, entry)
        if combined is None:
            return overlay
        moved[name] = combined
    if not moved:
        return overlay
    result = Overlay(repository=overlay.repository, base=head, tree=tree)
    result.relations = {**overlay.relations, **moved}
    result.schemas = {
        name: change
        for name, change in overlay.schemas.items()
        if tree.has_schema(name) == overlay.tree.has_schema(name)
    }
    return result


def _appended(overlay: Overlay, before: object, now: object, after: object) -> Entry | None:
    entries = (before, now, after)
    if not all(isinstance(entry, TableEntry) for entry in entries):
        return None
    base_id, now_id, after_id = (entry.snapshot for entry in entries)  # type: ignore[attr-defined]
    head = overlay.snapshot(now_id)
    added = _added_segments(overlay, base_id, after_id)
    if added is None or head.schema != overlay.snapshot(after_id).schema:
        return None
    version = msgspec.structs.replace(
        overlay.snapshot(after_id),
        segments=joined(overlay.repository, (*head.segments, *added)),
        parents=(now_id,),
    )
    return TableEntry(snapshot=SnapshotId(overlay.repository.objects.put(version)))


def _added_segments(
    overlay: Overlay, base: SnapshotId, after: SnapshotId
) -> tuple[SegmentRef, ...] | None:
    """Return what appends alone added since `base`, oldest first; None if anything else did."""
    added: tuple[SegmentRef, ...] = ()
    while after != base:
        snapshot = overlay.snapshot(after)
        if snapshot.operation != "append" or len(snapshot.parents) != 1:
            return None
        parent: Snapshot = overlay.snapshot(snapshot.parents[0])
        known = len(parent.segments)
        if snapshot.segments[:known] != parent.segments:
            return None
        added = (*snapshot.segments[known:], *added)
        after = snapshot.parents[0]
    return added
