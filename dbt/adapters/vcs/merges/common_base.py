"""Common base of two versions that have several, because their lines merged each other.

The bases are first merged with each other, as in git's recursive merge. A single base lacks
what the others hold: an update that both sides already have would look like a change by one
side, and could overwrite what the other side has done since.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from dbt.adapters.vcs.core.errors import UnsupportedError
from dbt.adapters.vcs.core.ids import SnapshotId, WriteId, new_write_id
from dbt.adapters.vcs.core.model import Snapshot
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.merges.rowwise.row_merge import (
    RowEngine,
    SchemaConflictError,
    merge,
)
from dbt.adapters.vcs.merges.rowwise.row_outcome import MergeOutcome
from dbt.adapters.vcs.merges.rowwise.row_policy import RowPolicy
from dbt.adapters.vcs.merges.rowwise.side_fitting import MisfitError
from dbt.adapters.vcs.rows.compare.row_bases import best_bases
from dbt.adapters.vcs.rows.limits import MERGE_LIMITS, Limits, TooLargeError

_DEEPEST: Final = 8
"""Histories that crossed more often have the newest base from there on."""


@dataclass(kw_only=True)
class Crossing:
    """Makes one base out of several; call `forget` to delete what it writes."""

    repository: Repository
    limits: Limits = MERGE_LIMITS
    engine: RowEngine | None = None
    _made: list[tuple[MergeOutcome, WriteId]] = field(default_factory=list)

    def merge(
        self, base: Snapshot | None, ours: Snapshot, theirs: Snapshot, policy: RowPolicy
    ) -> MergeOutcome:
        """Merge the rows of two versions, as `row_merge.merge` does."""
        return merge(
            self.repository,
            base,
            ours,
            theirs,
            policy=policy,
            limits=self.limits,
            engine=self.engine,
        )

    def base(self, left: SnapshotId, right: SnapshotId, depth: int = 0) -> Snapshot | None:
        """Return the version to compare two versions with; None if they have nothing in common.

        If several bases changed one row differently, the newest wins for that row. A base that
        can't be merged with the newest (different definitions, or too large) is left out.
        """
        read = self.repository.objects.snapshot
        found = best_bases(self.repository.objects, left, right)
        if not found:
            return None
        newest, merged = found[0], read(found[0])
        if depth < _DEEPEST:
            for other in found[1:]:
                merged = self._merged(merged, newest, other, depth + 1)
        return merged

    def forget(self) -> None:
        """Delete the files that making bases wrote."""
        for outcome, write in self._made:
            outcome.forget(write)

    def _merged(
        self, ours: Snapshot, newest: SnapshotId, other: SnapshotId, depth: int
    ) -> Snapshot:
        theirs = self.repository.objects.snapshot(other)
        base = self.base(newest, other, depth)
        try:
            outcome = self.merge(base, ours, theirs, RowPolicy(mode="skip"))
        except (MisfitError, SchemaConflictError, TooLargeError, UnsupportedError):
            return ours
        if outcome.how in ("up_to_date", "fast_forward"):
            return ours if outcome.how == "up_to_date" else theirs
        write = new_write_id()
        self._made.append((outcome, write))
        return outcome.put(write=write, parents=(newest, other), created_at=ours.created_at)
