"""The tables of one merge: each is merged again only if its versions have changed since."""

from __future__ import annotations

from contextlib import AbstractContextManager

from dbt.adapters.vcs.changes.merges.common_base import Crossing
from dbt.adapters.vcs.changes.merges.conflicts.stored_conflicts import Clash
from dbt.adapters.vcs.changes.merges.table_merge import (
    TableMerge,
    TableMerged,
    crossing_of,
    merge_tables,
)
from dbt.adapters.vcs.core.ids import SnapshotId
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.engines.port import Rewriters


class TableMerges:
    """Merges tables, and keeps the results for the next plan of the same merge.

    A plan that lost its race is made anew on the target's new head. What another writer left
    alone has the same two versions there and the same base, so it gives the same result.
    """

    def __init__(self, repository: Repository, sessions: Rewriters | None) -> None:
        """Take what `merge_tables` does."""
        self._repository = repository
        self._sessions = sessions
        self._done: dict[tuple[SnapshotId, SnapshotId], tuple[TableMerge, TableMerged | Clash]]
        self._done = {}

    def crossing(self) -> AbstractContextManager[Crossing]:
        """Return what makes one base out of several, for as long as the context is open."""
        return crossing_of(self._repository, self._sessions)

    def merge(self, work: TableMerge) -> TableMerged | Clash:
        """Merge two versions of a table as `merge_tables` does, at most once.

        Raises:
            TooLargeError: Both changed more of the same rows than can be examined one by one.
            UnsupportedError: Both changed the same rows, and they have columns that can't be
                merged.
        """
        key = work.ours, work.theirs
        before, found = self._done.get(key, (None, None))
        if found is not None and before == work:
            if isinstance(found, TableMerged):
                self._renew(work, found.snapshot)
            return found
        found = merge_tables(self._repository, work, self._sessions)
        self._done[key] = work, found
        return found

    def _renew(self, work: TableMerge, version: SnapshotId) -> None:
        """Store what was stored for an earlier plan again, as a new plan would."""
        objects = self._repository.objects
        old = {
            ref.id for side in (work.ours, work.theirs) for ref in objects.snapshot(side).segments
        }
        merged = objects.snapshot(version)
        for ref in merged.segments:
            if ref.id not in old:
                objects.put(objects.segment(ref.id))
        objects.put(merged)
