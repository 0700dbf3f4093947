"""Delta: what changed between two snapshots, found from their manifests alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from dbt.adapters.vcs.core.ids import SegmentId
from dbt.adapters.vcs.core.model import Block, Segment, Snapshot, Tombstone

ReadSegment = Callable[[SegmentId], Segment]


class Delta(NamedTuple):
    """The blocks and tombstones that two snapshots don't share, each in manifest order.

    Cost follows the change: segments that both have are never read (paper, section 5.1).
    """

    added: tuple[Block, ...]
    removed: tuple[Block, ...]
    added_tombstones: tuple[Tombstone, ...]
    removed_tombstones: tuple[Tombstone, ...]

    @property
    def rows_added(self) -> int:
        """Rows that the new blocks and the lifted tombstones bring, before any cancel out."""
        return sum(block.rows for block in self.added) + sum(
            tombstone.rows for tombstone in self.removed_tombstones
        )

    @property
    def rows_removed(self) -> int:
        """Rows that the old blocks and the new tombstones take, before any cancel out."""
        return sum(block.rows for block in self.removed) + sum(
            tombstone.rows for tombstone in self.added_tombstones
        )


def delta(before: Snapshot | None, after: Snapshot | None, read: ReadSegment) -> Delta:
    """Return what changed from one snapshot to another; None is a table without rows."""
    old = {ref.id for ref in before.segments} if before else set()
    new = {ref.id for ref in after.segments} if after else set()
    gone = [read(ref.id) for ref in before.segments if ref.id not in new] if before else []
    come = [read(ref.id) for ref in after.segments if ref.id not in old] if after else []
    old_paths, new_paths = _paths(gone), _paths(come)
    return Delta(
        added=tuple(b for s in come for b in s.blocks if b.path not in old_paths),
        removed=tuple(b for s in gone for b in s.blocks if b.path not in new_paths),
        added_tombstones=tuple(t for s in come for t in s.tombstones if t.path not in old_paths),
        removed_tombstones=tuple(t for s in gone for t in s.tombstones if t.path not in new_paths),
    )


def _paths(segments: Iterable[Segment]) -> set[str]:
    paths: set[str] = set()
    for segment in segments:
        paths.update(block.path for block in segment.blocks)
        paths.update(tombstone.path for tombstone in segment.tombstones)
    return paths
