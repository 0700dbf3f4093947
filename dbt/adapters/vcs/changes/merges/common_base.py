"""Common base of two commits or versions that have several, because their lines merged each other.

The bases are first merged with each other, as in git's recursive merge. A single base lacks
what the others hold: an update that both sides already have would look like a change by one
side, and could overwrite what the other side has done since.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from dbt.adapters.vcs.changes.merges.rowwise.row_merge import (
    RowEngine,
    SchemaConflictError,
    merge,
)
from dbt.adapters.vcs.changes.merges.rowwise.row_outcome import MergeOutcome
from dbt.adapters.vcs.changes.merges.rowwise.row_policy import RowPolicy
from dbt.adapters.vcs.changes.merges.rowwise.side_fitting import MisfitError
from dbt.adapters.vcs.core.errors import UnsupportedError
from dbt.adapters.vcs.core.ids import CommitId, SnapshotId, TreeId, WriteId, new_write_id
from dbt.adapters.vcs.core.model import Snapshot, TableEntry, Tree
from dbt.adapters.vcs.core.plan.tree_merge import merge_trees
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.treereader import TreeChanges
from dbt.adapters.vcs.table.compare.comparison import best_bases
from dbt.adapters.vcs.table.limits import MERGE_LIMITS, Limits, TooLargeError

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
                base = self.base(newest, other, depth + 1)
                merged = self._merged(base, merged, (newest, other))
        return merged

    def tree(self, bases: Sequence[CommitId], depth: int = 0) -> TreeId:
        """Return what the common ancestors of two commits show: one tree, of several merged ones.

        The newest is the first. Of a relation that they changed in ways that can't be merged, it
        has what the newest shows. The tables that are merged lose their files with `forget`.
        """
        tree = self.repository.objects.commit(bases[0]).tree
        if depth < _DEEPEST:
            for other in bases[1:]:
                tree = self._both(tree, bases[0], other, depth + 1)
        return tree

    def _both(self, ours: TreeId, newest: CommitId, other: CommitId, depth: int) -> TreeId:
        read = self.repository.objects
        theirs = read.commit(other).tree
        bases = self.repository.merge_bases(newest, other)
        old = read.tree(self.tree(bases, depth)) if bases else Tree()
        found = merge_trees(old, read.tree(ours), read.tree(theirs), read.schema_tree)
        relations = dict(found.relations)
        for name, triple in found.conflicts.items():
            if isinstance(triple.ours, TableEntry) and isinstance(triple.theirs, TableEntry):
                one, two = triple.ours.snapshot, triple.theirs.snapshot
                base = (
                    read.snapshot(triple.base.snapshot)
                    if isinstance(triple.base, TableEntry)
                    else self.base(one, two, depth)
                )
                version = self._merged(base, read.snapshot(one), (one, two))
                relations[name] = TableEntry(snapshot=SnapshotId(read.put(version)))
        return self.repository.edit(ours, TreeChanges(relations=relations, schemas=found.schemas))

    def forget(self) -> None:
        """Delete the files that making bases wrote."""
        for outcome, write in self._made:
            outcome.forget(write)

    def _merged(
        self, base: Snapshot | None, ours: Snapshot, parents: tuple[SnapshotId, SnapshotId]
    ) -> Snapshot:
        theirs = self.repository.objects.snapshot(parents[1])
        if ours.consumption != theirs.consumption:
            # Rows that were derived from different inputs don't add up.
            return ours
        try:
            outcome = self.merge(base, ours, theirs, RowPolicy(mode="skip"))
        except (MisfitError, SchemaConflictError, TooLargeError, UnsupportedError):
            return ours
        if outcome.how in ("up_to_date", "fast_forward"):
            return ours if outcome.how == "up_to_date" else theirs
        write = new_write_id()
        self._made.append((outcome, write))
        return outcome.put(write=write, parents=parents, created_at=ours.created_at)
