"""Touched rows: which of base, ours and theirs have each row of some files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from dbt.adapters.vcs.core.plan.pieces import Piece
from dbt.adapters.vcs.core.plan.states import DeletionKey, State, Triple
from dbt.adapters.vcs.table.compare.located import Located, Mask, PlaceGrid, locate
from dbt.adapters.vcs.table.files.block_reader import Files
from dbt.adapters.vcs.table.row_numbers import are_among


@dataclass(frozen=True, slots=True)
class TouchedRows:
    """Physical rows that some but not all of base, ours, theirs and the graft have, each once.

    Attributes:
        located: Their places.
        base: Mask of the rows that are live in base.
        ours: The same for ours.
        theirs: The same for theirs.
        grafted: The same for the graft.
    """

    located: Located
    base: Mask
    ours: Mask
    theirs: Mask
    grafted: Mask

    def __len__(self) -> int:
        return len(self.located)

    def take(self, chosen: Mask) -> TouchedRows:
        """Return some of the rows."""
        return TouchedRows(
            self.located.take(chosen),
            self.base[chosen],
            self.ours[chosen],
            self.theirs[chosen],
            self.grafted[chosen],
        )


def touched_rows(
    files: Files,
    pieces: Sequence[Piece],
    triple: Triple,
    graft: State,
) -> TouchedRows:
    """Return the rows of pieces that some but not all of base, ours, theirs and the graft have.

    Only tombstones are read.
    """
    located = locate(files, pieces)
    grid = PlaceGrid(located.parts())
    first = grid.first()
    if not first.all():
        # Two tombstones can hold one row.
        located = located.take(first)
        grid = PlaceGrid(located.parts())
    states = (*triple[:3], graft)
    base, ours, theirs, grafted = (_live_in(files, pieces, grid, state) for state in states)
    rows = TouchedRows(located, base, ours, theirs, grafted)
    return rows.take((base != ours) | (base != theirs) | (base != grafted))


def dead_rows(files: Files, grid: PlaceGrid, deletions: Iterable[tuple[str, str]]) -> Mask:
    """Return a mask of the deleted rows, given tombstones and the block each deletes from."""
    tombstones: dict[str, list[str]] = {}
    for image, block in deletions:
        if block in grid.blocks:
            tombstones.setdefault(block, []).append(image)
    return grid.among((block, files.dead(images, block)) for block, images in tombstones.items())


def overlaps(files: Files, triple: Triple, graft: State) -> dict[DeletionKey, int]:
    """Return the deletions of theirs that overlap those of ours, by how many rows are left.

    A row must not be deleted twice. Only positions are read, a block's at a time.
    """
    ours = deletions_of_ours(triple, graft)
    found: dict[DeletionKey, int] = {}
    for image, block in sorted(graft.deletions.keys() - triple.ours.deletions.keys()):
        if block in ours:
            positions = files.deleted(image, block, triple.stones.get(image))[0]
            twice = are_among(positions, files.dead(ours[block], block))
            if twice.any():
                found[image, block] = int((~twice).sum())
    return found


def deletions_of_ours(triple: Triple, graft: State) -> dict[str, list[str]]:
    """Return the tombstones of ours that a graft keeps, by the block that they delete from."""
    found: dict[str, list[str]] = {}
    for image, block in graft.deletions.keys() & triple.ours.deletions.keys():
        found.setdefault(block, []).append(image)
    return found


def _live_in(files: Files, pieces: Sequence[Piece], grid: PlaceGrid, state: State) -> Mask:
    """Return a mask of the rows that a state has.

    An image's row belongs to a block that every state has, so it is live in a state without an
    entry for the block.
    """
    shared: dict[str, bool] = {}
    for piece in pieces:
        shared.setdefault(piece.block, piece.image is not None)
    there = grid.spread([item.block in state.blocks or shared[item.block] for item in pieces])
    return there & ~dead_rows(files, grid, state.deletions)
