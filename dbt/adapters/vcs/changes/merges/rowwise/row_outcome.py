"""Outcome: the result of a merge, and how it is stored in the repository."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeAlias

import msgspec
import numpy as np
import pyarrow as pa

from dbt.adapters.vcs.changes.merges.by_engine.engine_repair import EngineRepair, OpenConflicts
from dbt.adapters.vcs.changes.merges.rowwise.decide import Conflicts
from dbt.adapters.vcs.changes.merges.rowwise.repair import MergeCheckError, Repair, dead_rows
from dbt.adapters.vcs.changes.writes.tombstone_ranges import tombstone_folder
from dbt.adapters.vcs.core.errors import ConflictError
from dbt.adapters.vcs.core.ids import Micros, SnapshotId, WriteId
from dbt.adapters.vcs.core.model import Block, Consumption, Field, Origin, Snapshot, Tombstone
from dbt.adapters.vcs.core.origins.lineage import merged_consumption
from dbt.adapters.vcs.core.plan.delta import Deletion, Delta, Piece, delta, signed_pieces
from dbt.adapters.vcs.core.plan.schema_merge import Definition
from dbt.adapters.vcs.core.plan.states import State, Triple
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.store.blobs import delete_below
from dbt.adapters.vcs.table.compare.comparison import Counts
from dbt.adapters.vcs.table.compare.located import (
    Mask,
    PlaceGrid,
    locate,
    net_counts,
    signed_rows,
    sums,
)
from dbt.adapters.vcs.table.equality import group_ids
from dbt.adapters.vcs.table.files.block_reader import Files
from dbt.adapters.vcs.table.limits import Limits
from dbt.adapters.vcs.table.manifests import edited

How: TypeAlias = Literal["up_to_date", "fast_forward", "graft", "rewrite", "nothing_picked"]


@dataclass(frozen=True, kw_only=True)
class MergeOutcome:
    """A merge of one table, not yet written.

    Attributes:
        how: `up_to_date`: ours has it all; `fast_forward`: theirs is the result; `graft`: files of
            theirs are added to ours, none is written; `rewrite`: rows are also deleted and
            written; `nothing_picked`: rows were to be picked, and theirs changed none of them.
        conflicts: What both sides changed differently and nobody decided.
        is_blocked: True if conflicts must be decided before the merge can be stored.
        definition: Columns, key and properties of the result.
        repair: Rows to delete and add; None if there are none.
        fits: The writes of ours' and theirs' files that were written for this merge.
    """

    repository: Repository
    ours: Snapshot
    theirs: Snapshot
    base: Snapshot | None
    how: How
    definition: Definition
    conflicts: Conflicts | OpenConflicts
    is_blocked: bool
    triple: Triple
    state: State
    repair: Repair | EngineRepair | None
    limits: Limits
    fits: tuple[WriteId, ...] = ()

    @cached_property
    def counts(self) -> Counts | None:
        """The numbers of rows that ours gains, loses and modifies; None if an engine counts them.

        The first call reads the changes of theirs, unless they only add or only remove rows.
        """
        if isinstance(self.repair, EngineRepair):
            return None
        change = self._delta()
        # Manifests count rows that are only added, or only removed.
        is_plain = self.repair is None and not (change.rows_added and change.rows_removed)
        if is_plain:
            return Counts(change.rows_added, change.rows_removed, 0)
        if not self.limits.allow(item.piece for item in signed_pieces(change)):
            return None
        signed = signed_rows(self.repository.blobs, change)
        fields = self.definition.schema.fields
        mended: tuple[tuple[int, pa.Table], ...] = ()
        if self.repair is not None:
            # These rows are in no file yet, and in a dry run they never will be.
            mended = (-1, self.repair.deleted), (1, self.repair.inserted)
        sign = np.concatenate([signed.sign, *(np.full(x.num_rows, s) for s, x in mended)])

        def columns(wanted: Sequence[Field]) -> list[pa.ChunkedArray]:
            ids = [field.id for field in wanted]
            parts = [signed.read(wanted), *(table.select(ids) for _, table in mended)]
            found: list[pa.ChunkedArray] = pa.concat_tables(parts).columns
            return found

        return net_counts(columns, sign, fields, self.definition.key)

    def put(
        self,
        *,
        write: WriteId,
        parents: tuple[SnapshotId, ...],
        created_at: Micros,
        operation: str = "merge",
        origin: Origin | None = None,
        is_whole: bool = True,
    ) -> Snapshot:
        """Write the files and segments of the merged version, and return it; nobody sees it yet.

        The caller stores the snapshot and points a name to it. If `how` is `up_to_date` or
        `fast_forward` there is nothing to store: use the id of ours or theirs.

        Args:
            write: Names the folder of new files; no other write uses it.
            parents: Ours and theirs; only ours if theirs is no part of its history.
            is_whole: False if only some of the rows that theirs changed were picked.

        Raises:
            ConflictError: The merge is blocked by conflicts.
            MergeCheckError: The files written don't match the plan; nothing is lost.
        """
        if self.is_blocked:
            raise ConflictError(
                f"Both sides changed {len(self.conflicts)} rows differently. Nothing was "
                "changed. Decide on each, or merge with skip or accept."
            )
        blocks: tuple[Block, ...] = ()
        tombstones: tuple[Tombstone, ...] = ()
        if self.repair is not None:
            folder = f"data/{self.ours.table}/w={write}"
            blocks, tombstones = self.repair.write(self.definition, folder)
        deleted_from = {path for tombstone in tombstones for path in tombstone.targets}
        sources = [self.theirs, *([self.base] if self.base else [])]
        segments = edited(
            self.repository.objects,
            self.ours,
            sources,
            self.triple.edit(self.state, deleted_from),
            self.triple.tombstones,
            blocks=blocks,
            tombstones=tombstones,
        )
        definition = self.definition
        result = msgspec.structs.replace(
            self.ours,
            schema=definition.schema,
            segments=segments,
            created_at=created_at,
            operation=operation,
            parents=parents,
            primary_key=definition.primary_key,
            partition_by=definition.partition_by,
            cluster_by=definition.cluster_by,
            comment=definition.comment,
            properties=dict(definition.properties),
            origin=origin or Origin(),
            consumption=self._consumption(is_whole=is_whole),
        )
        verify(self.repository, self.ours, result, self.triple, self.repair, blocks)
        return result

    def _consumption(self, *, is_whole: bool) -> Consumption | None:
        # Decision 32: rows that are picked are a change by hand, and account for nothing more.
        if not is_whole:
            return self.ours.consumption
        base = self.base.consumption if self.base else None
        return merged_consumption((base, self.ours.consumption, self.theirs.consumption))

    def forget(self, *writes: WriteId) -> None:
        """Delete the files of versions that were put and aren't wanted any more, and `fits`."""
        folders = [f"data/{self.ours.table}/w={write}" for write in writes]
        # `fits` is empty where no side had to be fitted.
        for table, write in zip((self.ours.table, self.theirs.table), self.fits, strict=False):
            folders.append(f"data/{table}/w={write}")
        for folder in folders:
            delete_below(self.repository.blobs, folder, tombstone_folder(folder))

    def _delta(self) -> Delta:
        """Return the delta from ours to the graft."""
        ours, result = self.triple.ours, self.state

        def lost(one: State, other: State) -> tuple[Deletion, ...]:
            pairs = (item for item in one.deletions.items() if item[0] not in other.deletions)
            tombstones = self.triple.tombstones
            return tuple(Deletion(*key, rows, tombstones.get(key[0])) for key, rows in pairs)

        return Delta(
            added=tuple(b for path, b in result.blocks.items() if path not in ours.blocks),
            removed=tuple(b for path, b in ours.blocks.items() if path not in result.blocks),
            deleted=lost(result, ours),
            restored=lost(ours, result),
        )


def verify(
    repository: Repository,
    ours: Snapshot,
    result: Snapshot,
    triple: Triple,
    repair: Repair | EngineRepair | None,
    written: Sequence[Block],
) -> None:
    """Check a merged version against its plan.

    By its manifests, its row count is that of ours plus the rows its delta adds, less those it
    removes. By its files, each examined row is live as often as wanted, and the new files hold the
    planned rows.

    Raises:
        MergeCheckError: One of these does not hold.
    """
    # File by file: what cancels as a compaction would not be checked.
    change = delta(ours, result, repository.objects.segments, with_moves=True)
    expected = ours.rows + change.rows_added - change.rows_removed
    if result.rows != expected:
        raise MergeCheckError(f"it has {result.rows} rows where {expected} were expected")
    # An engine has read back what it wrote before it said that it is written.
    if not isinstance(repair, Repair) or not len(repair.rows):
        return
    files = Files(repository.blobs, [*triple.tombstones.values(), *change.tombstones])
    live = _live(files, triple, repair, change)
    if not {block.path for block in written} <= {block.path for block in change.added}:
        raise MergeCheckError("a file that was written is not in it")
    new = locate(files, [Piece(block.path, block.rows, info=block) for block in written])
    if len(new) != repair.inserted.num_rows:
        raise MergeCheckError(
            f"{len(new)} rows were written where {repair.inserted.num_rows} had to be"
        )
    known = {field.id: field for field in result.schema.fields}
    read = new.read(files, [known[id] for id in repair.inserted.column_names])
    if not _same_rows(repair.inserted, read):
        raise MergeCheckError("the rows that were written read back as others")
    have = sums(repair.units, live.astype(np.int64))
    if (have > repair.wanted).any():
        raise MergeCheckError("rows that had to be deleted are still there")
    # Rows that were merged by column or given by hand are on no side, so they are not among the
    # wanted.
    copies = int((repair.wanted - have).sum())
    if copies != len(new) - repair.made:
        raise MergeCheckError(
            f"{len(new) - repair.made} rows were copied where {copies} had to be"
        )


def _same_rows(wanted: pa.Table, read: pa.Table) -> bool:
    """Return whether two tables of equal length hold the same rows, in any order."""
    columns = [
        pa.chunked_array([*one.chunks, *other.chunks])
        for one, other in zip(wanted.columns, read.columns, strict=True)
    ]
    content = group_ids(columns, 2 * wanted.num_rows)
    # Equal rows cancel, whatever their order.
    return not sums(content, np.repeat([1, -1], wanted.num_rows)).any()


def _live(files: Files, triple: Triple, repair: Repair, change: Delta) -> Mask:
    """Return a mask of the examined rows that are live by the written manifests."""
    located = repair.rows.located
    added = {block.path for block in change.added}
    gone = {block.path for block in change.removed} | _unsettled(triple, change)
    grid = PlaceGrid(located.parts())
    deleted, restored = (
        dead_rows(files, grid, [(item.path, item.block) for item in part])
        for part in (change.deleted, change.restored)
    )
    there = repair.rows.ours | restored | grid.spread([x.block in added for x in located.pieces])
    return there & ~deleted & ~grid.spread([x.block in gone for x in located.pieces])


def _unsettled(triple: Triple, change: Delta) -> set[str]:
    """Return the blocks restored by undoing compactions of ours that the result has lost."""
    # If a compaction was undone and then kept, its outputs hold the rows of its inputs.
    removed = {block.path for block in change.removed}
    kept = {
        path
        for item in triple.undone
        if set(item.outputs) <= triple.stored.blocks.keys() - removed
        for path in item.inputs
    }
    added = {block.path for block in change.added}
    return set(triple.settled.blocks.keys() - triple.stored.blocks.keys()) - added - kept
