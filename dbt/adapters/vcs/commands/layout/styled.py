"""Layout: lines and grids of styled text, for a terminal, a file or dbt's log."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from typing import Final

from dbt.adapters.vcs.commands.layout.cell_text import cell_width, printable, shortened
from dbt.adapters.vcs.commands.layout.grid_lines import fitted_grid, plain_grid
from dbt.adapters.vcs.commands.layout.spans import (
    Block,
    Grid,
    Span,
    Style,
    TextLine,
    entry,
    line,
    short,
)

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

_PIECES: Final = re.compile(r"\s+|\S+")
_INDENT: Final = 4
_READABLE: Final = 8
"""The span that is shortened keeps at least this width."""


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
            yield from _fitted_entry(shown, room)
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


def _fitted_entry(entry: TextLine, room: int) -> Iterator[TextLine]:
    """Yield a printable entry as one or more lines no wider than `room`, which is at least 1.

    First the span `gives` is shortened. If that is not enough, the line is wrapped between words.
    A word that doesn't fit on a line is shortened.
    """
    wide = sum(cell_width(span.text) for span in entry.spans) - room
    if wide > 0 and entry.gives is not None:
        span = entry.spans[entry.gives]
        left = max(_READABLE, cell_width(span.text) - wide)
        shorter = span._replace(text=shortened(span.text, left))
        spans = (*entry.spans[: entry.gives], shorter, *entry.spans[entry.gives + 1 :])
        entry = TextLine(spans, is_entry=True)
        wide = sum(cell_width(span.text) for span in spans) - room
    if wide <= 0:
        yield entry
    else:
        yield from _wrapped(entry, room)


def _wrapped(entry: TextLine, room: int) -> Iterator[TextLine]:
    """Yield an entry as several lines; all but the first are indented."""
    indent = min(_INDENT, room // 4)
    line: list[Span] = []
    used = 0
    for word in _words(entry):
        width = sum(cell_width(span.text) for span in word)
        if line and used + width > room:
            yield TextLine(tuple(line), is_entry=True)
            line, used = [Span(" " * indent)], indent
            if all(span.text.isspace() for span in word):
                continue
        if width > room - used:
            (span, *_) = word
            word = [Span(shortened("".join(part.text for part in word), room - used), span.style)]
            width = room - used
        line += word
        used += width
    if line:
        yield TextLine(tuple(line), is_entry=True)


def _words(entry: TextLine) -> Iterator[list[Span]]:
    """Yield words and the blanks between them, each as a list of spans."""
    word: list[Span] = []
    for span in entry.spans:
        for piece in _PIECES.findall(span.text):
            if word and word[-1].text.isspace() != piece.isspace():
                yield word
                word = []
            word.append(Span(piece, span.style))
    if word:
        yield word
