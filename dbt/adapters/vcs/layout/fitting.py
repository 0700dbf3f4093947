"""Fitting: which columns of a grid fit on a terminal, and how wide each is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

GAP: Final = 2
"""Blanks between two columns."""

_READABLE: Final = 16
"""Text is not shortened below this width."""


class GridColumn(NamedTuple):
    """Properties of a column.

    Attributes:
        width: Width of its widest cell, including the head.
        is_whole: True if no cell may be shortened.
        is_first: True if it is shown before others.
    """

    width: int
    is_whole: bool
    is_first: bool

    @property
    def least(self) -> int:
        """The smallest width it can have."""
        return self.width if self.is_whole else min(self.width, _READABLE)


class Fit(NamedTuple):
    """The columns to show.

    Attributes:
        places: Their numbers, in display order.
        widths: The width of each.
        is_part: True if other columns are left out.
    """

    places: tuple[int, ...]
    widths: tuple[int, ...]
    is_part: bool


def fit(columns: Sequence[GridColumn], room: int) -> Fit | None:
    """Return the columns to show within a width; None if no grid fits.

    | what fits                                  | what is shown                               |
    |--------------------------------------------|---------------------------------------------|
    | all columns                                | all, in their order                         |
    | all, texts shortened                       | all, in their order                         |
    | those to be shown first, texts shortened   | these, as many others as fit, and a mark    |
    | not even these, or none is                 | None                                        |
    """
    everything = tuple(range(len(columns)))
    widths = _widths(columns, room)
    if widths is not None:
        return Fit(everything, widths, is_part=False)
    chosen = [place for place in everything if columns[place].is_first]
    room -= GAP + 1
    if not chosen or _least([columns[place] for place in chosen]) > room:
        return None
    for place in everything:
        if not columns[place].is_first:
            if _least([columns[other] for other in (*chosen, place)]) > room:
                break
            chosen.append(place)
    widths = _widths([columns[place] for place in chosen], room)
    assert widths is not None
    return Fit(tuple(chosen), widths, is_part=True)


def _widths(columns: Sequence[GridColumn], room: int) -> tuple[int, ...] | None:
    """Return a width for each column, shortening the widest first; None if they can't fit."""
    room -= GAP * (len(columns) - 1)
    if sum(column.least for column in columns) > room:
        return None

    def at_most(cap: int) -> tuple[int, ...]:
        return tuple(min(column.width, max(column.least, cap)) for column in columns)

    low, high = 0, max((column.width for column in columns), default=0)
    while low < high:
        middle = (low + high + 1) // 2
        if sum(at_most(middle)) <= room:
            low = middle
        else:
            high = middle - 1
    return at_most(low)


def _least(columns: Sequence[GridColumn]) -> int:
    return sum(column.least for column in columns) + GAP * (len(columns) - 1)
