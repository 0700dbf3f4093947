"""Merge bases of tables: the nearest common ancestor in the graph of snapshots."""

from __future__ import annotations

from dbt.adapters.vcs.core.history.graph import merge_bases
from dbt.adapters.vcs.core.ids import SnapshotId
from dbt.adapters.vcs.core.model import Snapshot
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
        return own_parents(objects.snapshot(id))

    def age(id: SnapshotId) -> int:
        return objects.snapshot(id).created_at

    found = merge_bases(left, right, parents, age)
    return sorted(found, key=lambda id: (age(id), id), reverse=True)


def own_parents(snapshot: Snapshot) -> tuple[SnapshotId, ...]:
    """Return the versions that a version was made from, as if it had been computed.

    What it was taken from is none of them: the branch would have the same rows if it had computed
    them, and then the other branch would know nothing of it.
    """
    return snapshot.parents if taken_from(snapshot) is None else snapshot.parents[:1]


def taken_from(snapshot: Snapshot) -> SnapshotId | None:
    """Return the version whose files a version took instead of computing them; None if it did not.

    A version of two parents is a merge, unless it says what it was computed from.
    """
    is_taken = snapshot.origin.derivation is not None and len(snapshot.parents) > 1
    return snapshot.parents[1] if is_taken else None
