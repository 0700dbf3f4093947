"""Entry lines: lines of a listing, fitted to a terminal."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from dbt.adapters.vcs.layout.cell_text import cell_width, shortened
from dbt.adapters.vcs.layout.spans import Span, TextLine

_PIECES: Final = re.compile(r"\s+|\S+")
_INDENT: Final = 4
_READABLE: Final = 8
"""The span that is shortened keeps at least this width."""


def fitted_entry(entry: TextLine, room: int) -> Iterator[TextLine]:
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
