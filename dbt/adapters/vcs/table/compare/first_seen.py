"""Grids: rows of many blocks handled as one array, without a step for each block."""

from __future__ import annotations

from collections.abc import Iterable, KeysView, Sequence
from itertools import accumulate, pairwise
from typing import TypeAlias

import numpy as np

from dbt.adapters.vcs.table.compare.located import Mask
from dbt.adapters.vcs.table.files.block_reader import Positions
from dbt.adapters.vcs.table.sorted_numbers import are_among, are_near

Part: TypeAlias = tuple[str, Positions]
"""The path of a block, and positions in it."""


class PlaceGrid:
    """The rows of some parts; a place is a position in a block, and is numbered."""

    def __init__(self, parts: Sequence[Part]) -> None:
        """Take the parts; a block may have several."""
        self._extents: dict[str, int] = {}
        for block, positions in parts:
            extent = int(positions.max(initial=-1)) + 1
            self._extents[block] = max(extent, self._extents.get(block, 0))
        starts = list(accumulate(self._extents.values(), initial=0))
        self._starts = dict(zip(self._extents, starts, strict=False))
        self._size = starts[-1]
        self._counts = np.array([len(positions) for _, positions in parts], np.int64)
        self._places = self._numbered(parts)

    @property
    def blocks(self) -> KeysView[str]:
        """The paths of the blocks."""
        return self._extents.keys()

    def among(self, parts: Iterable[Part]) -> Mask:
        """Return a mask of the rows at the given places; places in other blocks are ignored."""
        some = self._numbered(
            (block, positions[positions < self._extents[block]])
            for block, positions in parts
            if block in self._extents
        )
        return are_among(self._places, some)

    def first(self) -> Mask:
        """Mark the first row seen at each place."""
        found = np.zeros(len(self._places), np.bool_)
        if not are_near(self._size, len(found)):
            found[np.unique(self._places, return_index=True)[1]] = True
            return found
        seen = np.zeros(self._size, np.bool_)
        for start, end in pairwise(accumulate(self._counts, initial=0)):
            here = self._places[start:end]
            found[start:end] = ~seen[here]
            seen[here] = True
        return found

    def spread(self, of_parts: Sequence[bool]) -> Mask:
        """Repeat each part's value for all of its rows."""
        return np.repeat(np.array(of_parts, np.bool_), self._counts)

    def _numbered(self, parts: Iterable[Part]) -> Positions:
        found = [self._starts[block] + positions for block, positions in parts]
        return np.concatenate([np.empty(0, np.int64), *found])
