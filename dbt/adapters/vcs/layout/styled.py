"""Layout: lines and grids of styled text, for a terminal, a file or dbt's log."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from typing import Final

from dbt.adapters.vcs.layout.cell_text import printable
from dbt.adapters.vcs.layout.entry_lines import fitted_entry
from dbt.adapters.vcs.layout.grid_lines import fitted_grid, plain_grid
from dbt.adapters.vcs.layout.spans import Block, Grid, Span, Style, TextLine, entry, line, short

__all__ = [
    "Block",
    "Grid",
    "Span",
    "Style",
    "TextLine",
    "age",
    "brief",
    "counted",
    "entry",
    "fitted_lines",
    "line",
    "local_time",
    "plain_lines",
    "plain_text",
    "printable",
    "short",
    "size",
]

_AGES: Final = (
    (timedelta(days=365), "year"),
    (timedelta(days=30), "month"),
    (timedelta(days=7), "week"),
    (timedelta(days=1), "day"),
    (timedelta(hours=1), "hour"),
    (timedelta(minutes=1), "minute"),
)
_UNITS: Final = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")


def plain_lines(blocks: Iterable[Block]) -> list[str]:
    """Return blocks as unstyled lines of any width."""
    return list(plain_text(blocks))


def plain_text(blocks: Iterable[Block]) -> Iterator[str]:
    """Yield blocks as unstyled lines of any width as they are read; nothing is left out."""
    for block in blocks:
        if isinstance(block, TextLine):
            yield "".join(printable(span.text) for span in block.spans).rstrip()
        else:
            yield from plain_grid(block)


def fitted_lines(blocks: Iterable[Block], room: int) -> Iterator[TextLine]:
    """Yield blocks, as they are read, as lines for a terminal with `room` columns.

    Their text is printable. Lines of listings and grids are no wider than `room`, with `…` where
    something is left out; a sentence can be wider.
    """
    for block in blocks:
        if isinstance(block, Grid):
            yield from fitted_grid(block, room)
            continue
        shown = TextLine(
            tuple(span._replace(text=printable(span.text)) for span in block.spans),
            block.is_entry,
            block.gives,
        )
        if shown.is_entry:
            yield from fitted_entry(shown, room)
        else:
            yield shown


def brief(text: str, length: int = 100) -> str:
    """Return text for a list, cut at the end if it is longer than `length`."""
    return text if len(text) <= length else f"{text[: length - 1]}…"


def local_time(moment: datetime) -> str:
    """Return a time in local time, to the second, in a form that `main@{...}` also accepts."""
    return moment.astimezone().isoformat(sep=" ", timespec="seconds")


def age(moment: datetime, now: datetime) -> str:
    """Return how long ago a time was, in its largest whole unit."""
    gone = now - moment
    for length, unit in _AGES:
        if gone >= length:
            return counted(gone // length, unit) + " ago"
    return "just now"


def counted(number: int, noun: str, nouns: str = "") -> str:
    """Return a count with its noun: `1 row`, `2,000 rows`."""
    return f"{number:,} {noun if number == 1 else nouns or f'{noun}s'}"


def size(number: int) -> str:
    """Return a number of bytes in the largest unit that leaves 1 or more: `1.5 MiB`."""
    value = float(number)
    for unit in _UNITS:
        if value < 1024 or unit == _UNITS[-1]:
            break
        value /= 1024
    return f"{number} B" if unit == "B" else f"{value:.1f} {unit}"
