"""Touched rows: which of base, ours and theirs have each row of some files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from dbt.adapters.vcs.core.plan.pieces import Piece
from dbt.adapters.vcs.core.plan.states import State, Triple
from dbt.adapters.vcs.rows.compare.first_seen import PlaceGrid
from dbt.adapters.vcs.rows.compare.located import Located, Mask, locate
from dbt.adapters.vcs.rows.files.block_reader import Files


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


def without_overlaps(files: Files, triple: Triple, result: State) -> State:
    """Return a graft without those deletions of theirs that overlap deletions of ours.

    A row must not be deleted twice. Other rows of these deletions are left to the repair.
    """
    ours = [pair for pair in result.deletions if pair in triple.ours.deletions]
    blocks = {block for _, block in ours}
    others = result.deletions.keys() - set(ours)
    theirs = [pair for pair in others if pair[1] in blocks]
    grid = PlaceGrid([(block, files.deleted(image, block)[0]) for image, block in theirs])
    twice = {theirs[number] for number in grid.parts(dead_rows(files, grid, ours))}
    kept = {pair: rows for pair, rows in result.deletions.items() if pair not in twice}
    return State(result.blocks, kept)


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
