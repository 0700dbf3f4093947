"""Verification: a merged version is read back before anybody sees it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from dbt.adapters.vcs.changes.merges.rowwise.repair import Repair
from dbt.adapters.vcs.changes.merges.rowwise.touched import dead_rows
from dbt.adapters.vcs.core.errors import VcsError
from dbt.adapters.vcs.core.model import Block, Snapshot
from dbt.adapters.vcs.core.plan.delta import Delta, delta
from dbt.adapters.vcs.core.plan.pieces import Piece
from dbt.adapters.vcs.core.plan.states import Triple
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.table.compare.located import Mask, PlaceGrid, locate
from dbt.adapters.vcs.table.compare.net import sums
from dbt.adapters.vcs.table.equality import group_ids
from dbt.adapters.vcs.table.files.block_reader import Files


class MergeCheckError(VcsError):
    """A merge did not write what it planned. Report it; nothing was changed."""


def verify(
    repository: Repository,
    ours: Snapshot,
    result: Snapshot,
    triple: Triple,
    repair: Repair | None,
    written: Sequence[Block],
) -> None:
    """Check a merged version against its plan.

    By its manifests, its row count is that of ours plus the rows its delta adds, less those it
    removes. By its files, each examined row is live as often as wanted, and the new files hold the
    planned rows.

    Raises:
        MergeCheckError: One of these does not hold.
    """
    change = delta(ours, result, repository.objects.segment, with_moves=True)
    expected = ours.rows + change.rows_added - change.rows_removed
    if result.rows != expected:
        raise _wrong(f"it has {result.rows} rows where {expected} were expected")
    if repair is None or not len(repair.rows):
        return
    files = Files(repository.blobs, [*triple.stones.values(), *change.stones])
    live = _live(files, triple, repair, change)
    if not {block.path for block in written} <= {block.path for block in change.added}:
        raise _wrong("a file that was written is not in it")
    new = locate(files, [Piece(block.path, block.rows, info=block) for block in written])
    if len(new) != repair.inserted.num_rows:
        raise _wrong(f"{len(new)} rows were written where {repair.inserted.num_rows} had to be")
    known = {field.id: field for field in result.schema.fields}
    read = new.read(files, [known[id] for id in repair.inserted.column_names])
    if not _same_rows(repair.inserted, read):
        raise _wrong("the rows that were written read back as others")
    have = sums(repair.units, live.astype(np.int64))
    if (have > repair.wanted).any():
        raise _wrong("rows that had to be deleted are still there")
    copies = int((repair.wanted - have).sum())
    if copies != len(new) - repair.made:
        raise _wrong(f"{len(new) - repair.made} rows were copied where {copies} had to be")


def _same_rows(wanted: pa.Table, read: pa.Table) -> bool:
    """Return whether two tables of equal length hold the same rows, in any order."""
    columns = [
        pa.chunked_array([*one.chunks, *other.chunks])
        for one, other in zip(wanted.columns, read.columns, strict=True)
    ]
    content = group_ids(columns, 2 * wanted.num_rows)
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
    """Return the blocks restored by undoing compactions of ours that the result has lost.

    If a compaction was undone and then kept, its outputs hold the rows of its inputs.
    """
    removed = {block.path for block in change.removed}
    kept = {
        path
        for item in triple.undone
        if set(item.outputs) <= triple.stored.blocks.keys() - removed
        for path in item.inputs
    }
    added = {block.path for block in change.added}
    return set(triple.settled.blocks.keys() - triple.stored.blocks.keys()) - added - kept


def _wrong(what: str) -> MergeCheckError:
    return MergeCheckError(
        f"The merged version is not what was planned: {what}. Nothing was changed. This is a "
        "defect of dbt-vcs: report it, with the two versions if you can."
    )
