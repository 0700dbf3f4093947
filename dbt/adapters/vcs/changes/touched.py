"""Touched rows: in which of base, ours and theirs each row of some files is live."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from dbt.adapters.vcs.changes.files import Files
from dbt.adapters.vcs.changes.located import Located, Mask, Places, is_among, locate
from dbt.adapters.vcs.core.plan.pieces import Piece
from dbt.adapters.vcs.core.plan.states import State, Triple


@dataclass(frozen=True, slots=True)
class TouchedRows:
    """Physical rows that base, ours, theirs and their graft don't have alike; each row once.

    Attributes:
        located: Where they are.
        base: Which of them are live in base.
        ours: The same of ours.
        theirs: The same of theirs.
        grafted: The same of the graft.
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
    places: Places | None = None,
) -> TouchedRows:
    """Return the rows of pieces that base, ours, theirs and a graft don't have alike.

    Only tombstones are read. With places it is the rows at these.
    """
    located = locate(files, pieces, places)
    located = located.take(_first_of_each(located))
    states = (*triple[:3], graft)
    base, ours, theirs, grafted = (live_in(files, located, state) for state in states)
    rows = TouchedRows(located, base, ours, theirs, grafted)
    return rows.take((base != ours) | (base != theirs) | (base != grafted))


def live_in(files: Files, located: Located, state: State) -> Mask:
    """Tell which rows a state has.

    A row of an image is of a block that every state has; a state that says nothing of the block
    has it.
    """
    tombstones: dict[str, list[str]] = {}
    for image, block in state.deletions:
        tombstones.setdefault(block, []).append(image)
    live = np.zeros(len(located), np.bool_)
    for path, numbers in _by_block(located.pieces).items():
        is_shared = located.pieces[numbers[0]].image is not None
        if path in state.blocks or is_shared:
            here = located.of(numbers)
            live[here] = True
            if path in tombstones:
                dead = files.dead(tombstones[path], path)
                live[here] = ~is_among(located.position[here], dead)
    return live


def without_overlaps(files: Files, triple: Triple, result: State) -> State:
    """Return a graft without those deletions of theirs whose rows ours deletes, too.

    A row must not be deleted twice. What else these deletions are for is left to be repaired.
    """
    ours: dict[str, list[str]] = {}
    for image, block in result.deletions:
        if (image, block) in triple.ours.deletions:
            ours.setdefault(block, []).append(image)
    kept = {
        (image, block): rows
        for (image, block), rows in result.deletions.items()
        if (image, block) in triple.ours.deletions
        or block not in ours
        or not is_among(files.deleted(image, block)[0], files.dead(ours[block], block)).any()
    }
    return State(result.blocks, kept)


def _first_of_each(located: Located) -> Mask:
    """Tell which rows are the first of their place: two tombstones can hold one row."""
    first = np.ones(len(located), np.bool_)
    for numbers in _by_block(located.pieces).values():
        seen = np.zeros(int(located.position[located.of(numbers)].max(initial=-1)) + 1, np.bool_)
        for number in numbers:
            part = located.of([number])
            positions = located.position[part]
            first[part] = ~seen[positions]
            seen[positions] = True
    return first


def _by_block(pieces: Iterable[Piece]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for number, piece in enumerate(pieces):
        found.setdefault(piece.block, []).append(number)
    return found
