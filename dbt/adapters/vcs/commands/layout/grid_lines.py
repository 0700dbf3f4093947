"""Grid lines: rows as aligned lines, read page by page, so any number can be printed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Final, NamedTuple

from dbt.adapters.vcs.commands.layout.cell_text import (
    MARK,
    all_padded,
    all_printable,
    cell_width,
    padded,
    printable,
    shortened,
    widest,
)
from dbt.adapters.vcs.commands.layout.spans import Grid, Span, TextLine

PAGE: Final = 200
"""Number of rows read before the first is printed; they determine the column widths."""

_GAP_WIDTH: Final = 2
_GAP: Final = " " * _GAP_WIDTH

Row = tuple[Span, ...]

_READABLE: Final = 16
"""Text is not shortened below this width."""


def plain_grid(grid: Grid) -> Iterator[str]:
    """Yield a grid as text of any width, with nothing left out.

    A column becomes wider if a later page needs it.
    """
    heads = [printable(head) for head in grid.heads]
    widths = [cell_width(head) for head in heads]
    rights = [head in grid.right for head in grid.heads]
    is_begun = False
    for page in _pages(grid.rows):
        columns = _texts(page, len(heads))
        widths = [
            max(width, widest(column)) for width, column in zip(widths, columns, strict=True)
        ]
        if not is_begun:
            yield _joined(heads, widths, rights)
            is_begun = True
        aligned = [
            all_padded(column, width, right=right)
            for column, width, right in zip(columns, widths, rights, strict=True)
        ]
        yield from (_GAP.join(cells).rstrip() for cells in zip(*aligned, strict=True))
    if not is_begun:
        yield _joined(heads, widths, rights)


def fitted_grid(grid: Grid, room: int) -> Iterator[TextLine]:
    """Yield a grid as lines no wider than `room`, which is at least 1.

    Each page is laid out separately by `fitting.fit`, or with one line per column if no grid fits.
    The heads are repeated when the columns shown change.
    """
    heads = [printable(head) for head in grid.heads]
    last: Fit | None = None
    is_begun = False
    for page in _pages(grid.rows):
        texts = _texts(page, len(heads))
        found = _fit(grid, heads, page, texts, room, last)
        if found is None:
            yield from _records(heads, page, texts, room, is_begun=is_begun)
        else:
            yield from _table(grid, heads, page, texts, found, last)
        last, is_begun = found, True
    if not is_begun:
        found = _fit(grid, heads, (), [[] for _ in heads], room, None)
        if found is not None:
            yield from _table(grid, heads, (), [[] for _ in heads], found, None)


def _pages(rows: Iterable[Row]) -> Iterator[Sequence[Row]]:
    reader = iter(rows)
    while page := list(islice(reader, PAGE)):
        yield page


def _texts(page: Sequence[Row], count: int) -> list[Sequence[str]]:
    """Return the printable text of each column's cells."""
    return [all_printable([row[place].text for row in page]) for place in range(count)]


def _joined(cells: Sequence[str], widths: Sequence[int], rights: Sequence[bool]) -> str:
    aligned = [
        padded(cell, width, right=right)
        for cell, width, right in zip(cells, widths, rights, strict=True)
    ]
    return _GAP.join(aligned).rstrip()


def _fit(
    grid: Grid,
    heads: Sequence[str],
    page: Sequence[Row],
    texts: Sequence[Sequence[str]],
    room: int,
    last: Fit | None,
) -> Fit | None:
    """Return the columns to show of a page, the same as for the page before if possible."""
    natural = [
        max(cell_width(head), widest(column)) for head, column in zip(heads, texts, strict=True)
    ]
    kept = dict(zip(last.places, last.widths, strict=True)) if last else {}
    steady = [max(width, kept.get(place, 0)) for place, width in enumerate(natural)]
    if sum(steady) + _GAP_WIDTH * (len(heads) - 1) <= room:
        natural = steady
    columns = [
        GridColumn(
            width,
            is_whole=head in grid.right or head in grid.whole,
            is_first=head in grid.first or any(row[place].marked for row in page),
        )
        for place, (head, width) in enumerate(zip(grid.heads, natural, strict=True))
    ]
    return fit(columns, room)


def _table(
    grid: Grid,
    heads: Sequence[str],
    page: Sequence[Row],
    texts: Sequence[Sequence[str]],
    found: Fit,
    last: Fit | None,
) -> Iterator[TextLine]:
    places = [(place, width) for place, width in zip(found.places, found.widths, strict=True)]
    end = (Span(_GAP), Span(MARK, "faint")) if found.is_part else ()

    def spans(cells: Iterable[Span]) -> Iterator[Span]:
        for number, (cell, (place, width)) in enumerate(zip(cells, places, strict=True)):
            if number:
                yield Span(_GAP)
            text = shortened(cell.text, width) if width else ""
            right = grid.heads[place] in grid.right
            is_last = number == len(places) - 1 and not end and not right
            yield Span(text if is_last else padded(text, width, right=right), cell.style)
        yield from end

    if last is None or (last.places, last.is_part) != (found.places, found.is_part):
        yield TextLine(tuple(spans(Span(heads[place], "heading") for place, _ in places)))
    for number, row in enumerate(page):
        yield TextLine(tuple(spans(Span(texts[p][number], row[p].style) for p, _ in places)))


def _records(
    heads: Sequence[str],
    page: Sequence[Row],
    texts: Sequence[Sequence[str]],
    room: int,
    *,
    is_begun: bool,
) -> Iterator[TextLine]:
    """Yield one line per column, and an empty line between rows."""
    width = min(max(map(cell_width, heads)), max(1, (room - _GAP_WIDTH) // 2))
    left = room - width - _GAP_WIDTH
    for number, row in enumerate(page):
        if number or is_begun:
            yield TextLine(())
        for place, head in enumerate(heads):
            if left < 1:
                yield TextLine((Span(MARK, "faint"),))
                continue
            name = Span(padded(shortened(head, width), width) + _GAP, "heading")
            yield TextLine((name, Span(shortened(texts[place][number], left), row[place].style)))


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
    room -= _GAP_WIDTH + 1
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
    room -= _GAP_WIDTH * (len(columns) - 1)
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
    return sum(column.least for column in columns) + _GAP_WIDTH * (len(columns) - 1)
