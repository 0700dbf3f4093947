"""The side that is ahead: its past has what the other one shows, which it went on from.

Two branches that took one result have versions of the same files. If one of them went on from
there, and rows of both can't be merged, its version is the merged one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from dbt.adapters.vcs.core.errors import DamagedError
from dbt.adapters.vcs.core.history.graph import ancestors
from dbt.adapters.vcs.core.ids import SnapshotId
from dbt.adapters.vcs.core.store.objects import ObjectStore
from dbt.adapters.vcs.rows.compare.row_bases import taken_from


def side_ahead(
    objects: ObjectStore, ours: SnapshotId, theirs: SnapshotId
) -> Literal["ours", "theirs"] | None:
    """Return the side that has had the other one's version, or the one that this was taken from.

    None if neither has.
    """
    if not _shown(objects, theirs).isdisjoint(_past(objects, ours)):
        return "ours"
    if not _shown(objects, ours).isdisjoint(_past(objects, theirs)):
        return "theirs"
    return None


def _shown(objects: ObjectStore, id: SnapshotId) -> set[SnapshotId]:
    taken = taken_from(objects.snapshot(id))
    return {id} if taken is None else {id, taken}


def _past(objects: ObjectStore, tip: SnapshotId) -> Iterator[SnapshotId]:
    """Return a version and all that it came from, what was taken included."""

    def parents(id: SnapshotId) -> tuple[SnapshotId, ...]:
        try:
            return objects.snapshot(id).parents
        except DamagedError:
            # What is older than that is not looked for.
            return ()

    return ancestors([tip], parents)
