"""The graph of commits as drawings: one for each line of a log."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from markupsafe import Markup

from dbt.adapters.vcs.core.ids import CommitId

_WIDE: Final = 14
_HIGH: Final = 46
_COLOURS: Final = 6
_MOST: Final = 24
"""Columns that are drawn; further ones share the last."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitLine:
    """Where a commit is drawn, and what passes it.

    Attributes:
        column: Its column, from 0.
        passing: Columns of lines that come from above and go on below.
        joining: Columns of lines that come from above and end at the commit.
        leaving: Columns in which lines go on from the commit to its parents.
    """

    column: int
    passing: tuple[int, ...]
    joining: tuple[int, ...]
    leaving: tuple[int, ...]


def commit_lines(
    commits: Iterable[tuple[CommitId, Sequence[CommitId]]],
) -> Iterator[CommitLine]:
    """Yield the line of each commit, given with its parents; children come before parents.

    A column belongs to the commit that its line leads to, so that lines are straight except where
    they join or leave. The first parent takes over the column of its child, as in git's log.
    """
    columns: list[CommitId | None] = []
    for id, parents in commits:
        joining = tuple(place for place, wanted in enumerate(columns) if wanted == id)
        column = joining[0] if joining else _free(columns)
        for place in joining:
            columns[place] = None
        passing = tuple(place for place, wanted in enumerate(columns) if wanted is not None)
        leaving = []
        for number, parent in enumerate(parents):
            if parent in columns:
                leaving.append(columns.index(parent))
                continue
            place = column if number == 0 else _free(columns)
            columns[place] = parent
            leaving.append(place)
        yield CommitLine(column=column, passing=passing, joining=joining, leaving=tuple(leaving))


def _free(columns: list[CommitId | None]) -> int:
    if None not in columns:
        columns.append(None)
    return columns.index(None)


def graph_drawings(lines: Sequence[CommitLine]) -> list[Markup]:
    """Return the drawing of each line, all of one size, so that lines below each other meet."""
    most = max(
        (place for line in lines for place in (line.column, *line.passing, *line.leaving)),
        default=0,
    )
    wide = (min(most, _MOST - 1) + 1) * _WIDE + 4
    return [_drawn(line, wide) for line in lines]


def _drawn(line: CommitLine, wide: int) -> Markup:
    middle, at = _HIGH / 2, _place(line.column)
    paths = [_path(place, f"M{_place(place)} 0V{_HIGH}") for place in line.passing]
    # In the colour of the outer column: that of the line which joins or leaves.
    paths += [
        _path(max(place, line.column), _curve(_place(place), 0, at, middle))
        for place in line.joining
    ]
    paths += [
        _path(max(place, line.column), _curve(at, middle, _place(place), _HIGH))
        for place in line.leaving
    ]
    dot = Markup('<circle class="c{}" cx="{}" cy="{:g}" r="4.5"/>').format(
        line.column % _COLOURS, at, middle
    )
    return Markup(
        '<svg class="graph" viewBox="0 0 {w} {h}" width="{w}" height="{h}" aria-hidden="true">'
        "{paths}{dot}</svg>"
    ).format(w=wide, h=_HIGH, paths=Markup("").join(paths), dot=dot)


def _place(column: int) -> int:
    return min(column, _MOST - 1) * _WIDE + 9


def _curve(x: int, y: float, to: int, down: float) -> str:
    half = (y + down) / 2
    return f"M{x} {y:g}C{x} {half:g} {to} {half:g} {to} {down:g}"


def _path(column: int, shape: str) -> Markup:
    return Markup('<path class="c{}" d="{}"/>').format(column % _COLOURS, shape)
