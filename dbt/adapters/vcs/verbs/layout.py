"""Layout: lines and grids of text with styles, for a terminal, a file or dbt's log alike."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Literal, NamedTuple, TypeAlias

from dbt.adapters.vcs.core.ids import CommitId

Style: TypeAlias = Literal["plain", "heading", "commit", "name", "faint", "good", "bad", "warn"]

_KEPT: Final = "\u200d"
"""Joins emoji; str.isprintable takes it for a control character."""

_AGES: Final = (
    (timedelta(days=365), "year"),
    (timedelta(days=30), "month"),
    (timedelta(days=7), "week"),
    (timedelta(days=1), "day"),
    (timedelta(hours=1), "hour"),
    (timedelta(minutes=1), "minute"),
)
_UNITS: Final = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")


class Span(NamedTuple):
    """Text in one style."""

    text: str
    style: Style = "plain"


@dataclass(frozen=True, slots=True)
class Line:
    """Spans one after the other."""

    spans: tuple[Span, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """Rows of aligned cells under heads; the last column takes the room that is left.

    Attributes:
        heads: Names of the columns.
        rows: As many cells each as there are heads.
        right: Columns that are aligned to the right.
    """

    heads: tuple[str, ...]
    rows: tuple[tuple[Span, ...], ...]
    right: frozenset[str] = frozenset()


Block: TypeAlias = Line | Grid


def line(*parts: str | Span) -> Line:
    """Return a line of spans; bare text is plain."""
    return Line(tuple(part if isinstance(part, Span) else Span(part) for part in parts))


def short(id: CommitId) -> Span:
    """Return the first digits of a commit's id."""
    return Span(id[:12], "commit")


def plain_lines(blocks: Iterable[Block]) -> list[str]:
    """Return blocks as text without styles, a line each."""
    found: list[str] = []
    for block in blocks:
        if isinstance(block, Line):
            found.append("".join(printable(span.text) for span in block.spans).rstrip())
        else:
            found.extend(_grid_lines(block))
    return found


def printable(text: str) -> str:
    r"""Return text with control characters, line breaks too, spelled as `\x1b` or `\n`.

    What people wrote into messages must not steer the terminal.
    """
    return "".join(
        char if char.isprintable() or char == _KEPT else char.encode("unicode_escape").decode()
        for char in text
    )


def brief(text: str, length: int = 100) -> str:
    """Return a text that fits a list: its end is left out if it is longer."""
    return text if len(text) <= length else f"{text[: length - 1]}…"


def local_time(moment: datetime) -> str:
    """Return an instant in local time, to the second, in a form that `main@{...}` takes too."""
    return moment.astimezone().isoformat(sep=" ", timespec="seconds")


def age(moment: datetime, now: datetime) -> str:
    """Return how long ago an instant was, in its largest whole unit."""
    gone = now - moment
    for length, unit in _AGES:
        if gone >= length:
            return counted(gone // length, unit) + " ago"
    return "just now"


def counted(number: int, noun: str, nouns: str = "") -> str:
    """Return a number of things: `1 row`, `2,000 rows`."""
    return f"{number:,} {noun if number == 1 else nouns or f'{noun}s'}"


def size(number: int) -> str:
    """Return a number of bytes in the largest unit that leaves 1 or more: `1.5 MiB`."""
    value = float(number)
    for unit in _UNITS:
        if value < 1024 or unit == _UNITS[-1]:
            break
        value /= 1024
    return f"{number} B" if unit == "B" else f"{value:.1f} {unit}"


def _grid_lines(grid: Grid) -> Iterator[str]:
    rows = [grid.heads, *(tuple(printable(span.text) for span in row) for row in grid.rows)]
    widths = [max(map(_width, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  ".join(_padded(grid, row, widths)).rstrip()


def _padded(grid: Grid, row: Sequence[str], widths: Sequence[int]) -> Iterator[str]:
    for head, cell, width in zip(grid.heads, row, widths, strict=True):
        room = " " * (width - _width(cell))
        yield room + cell if head in grid.right else cell + room


def _width(text: str) -> int:
    """Return how many columns a terminal gives a text."""
    wide = sum(1 for char in text if unicodedata.east_asian_width(char) in "WF")
    joined = sum(1 for char in text if unicodedata.combining(char) or char == _KEPT)
    return len(text) + wide - joined
