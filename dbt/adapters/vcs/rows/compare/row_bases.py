"""Merge bases of tables: the nearest common ancestor in the graph of snapshots."""

from __future__ import annotations

from dbt.adapters.vcs.core.history.graph import merge_bases
from dbt.adapters.vcs.core.ids import SnapshotId
from dbt.adapters.vcs.core.store.objects import ObjectStore


def merge_base(objects: ObjectStore, left: SnapshotId, right: SnapshotId) -> SnapshotId | None:
    """Return the nearest common ancestor of two versions; None if there is none.

    Versions of a table, its clones and their clones form one graph. After a merge the base is the
    version that was merged. Of several best ones (criss-cross merges) the newest is returned.
    """
    return next(iter(best_bases(objects, left, right)), None)


def best_bases(objects: ObjectStore, left: SnapshotId, right: SnapshotId) -> list[SnapshotId]:
    """Return the nearest common ancestors, the newest first; several after criss-cross merges."""

    def parents(id: SnapshotId) -> tuple[SnapshotId, ...]:
        return objects.snapshot(id).parents

    def age(id: SnapshotId) -> int:
        return objects.snapshot(id).created_at

    found = merge_bases(left, right, parents, age)
    return sorted(found, key=lambda id: (age(id), id), reverse=True)
