"""Layout: lines and grids of styled text, for a terminal, a file or dbt's log."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice
from typing import Final, Literal, NamedTuple, TypeAlias

from dbt.adapters.vcs.core.ids import CommitId

MARK: Final = "…"
"""Marks text that was left out."""

PAGE: Final = 200
"""Number of rows read before the first is printed; they determine the column widths."""

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

_GAP_WIDTH: Final = 2
_GAP: Final = " " * _GAP_WIDTH
_READABLE_CELL: Final = 16
"""Text in a grid is not shortened below this width."""

# Joins emoji; str.isprintable treats it as a control character.
_JOINER: Final = "\u200d"

_NUMBER: Final = re.compile(r"[-+]?\d+(?:[.,:/_-]?\d+)*(?:[eE][-+]?\d+)?")
"""A number with its sign, separators and exponent; also a date or a time of day."""

Style: TypeAlias = Literal["plain", "heading", "commit", "name", "faint", "good", "bad", "warn"]


class Span(NamedTuple):
    """Text in one style.

    Attributes:
        style: How a terminal shows it.
        marked: In a grid, true for a changed value. If not all columns fit, those with a marked
            cell are shown first.
    """

    text: str
    style: Style = "plain"
    marked: bool = False


@dataclass(frozen=True, slots=True)
class TextLine:
    """A sequence of spans.

    Attributes:
        is_entry: True for a line of a listing, which is fitted to the terminal. A sentence is left
            for the terminal to wrap, so that commands in it can be copied.
        gives: Index of the entry's span that is shortened before the line is wrapped.
    """

    spans: tuple[Span, ...]
    is_entry: bool = False
    gives: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """Rows of aligned cells under heads.

    Attributes:
        heads: Names of the columns.
        rows: One cell per head in each row. They can be computed lazily, and are read once.
        right: Columns that are right-aligned; they are never shortened.
        whole: Other columns that are never shortened, such as names.
        first: Columns that are shown first if not all fit. If there are none, and no cell is
            marked, no column is left out: rows that don't fit are printed with one line per
            column.
    """

    heads: tuple[str, ...]
    rows: Iterable[tuple[Span, ...]]
    right: frozenset[str] = frozenset()
    whole: frozenset[str] = frozenset()
    first: tuple[str, ...] = ()


Block: TypeAlias = TextLine | Grid


def line(*parts: str | Span) -> TextLine:
    """Return spans as a sentence; plain strings have no style."""
    return TextLine(_spans(parts))


def entry(*parts: str | Span, gives: int | None = None) -> TextLine:
    """Return a line of a listing; plain strings have no style. `gives` is as in `TextLine`."""
    return TextLine(_spans(parts), is_entry=True, gives=gives)


def short(id: CommitId) -> Span:
    """Return the first digits of a commit id."""
    return Span(id[:12], "commit")


def _spans(parts: Iterable[str | Span]) -> tuple[Span, ...]:
    return tuple(part if isinstance(part, Span) else Span(part) for part in parts)


Row = tuple[Span, ...]


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


def plain_lines(blocks: Iterable[Block]) -> list[str]:
    """Return blocks as unstyled lines of any width."""
    return list(plain_text(blocks))


def plain_text(blocks: Iterable[Block]) -> Iterator[str]:
    """Yield blocks as unstyled lines of any width as they are read; nothing is left out."""
    for block in blocks:
        if isinstance(block, TextLine):
            yield "".join(printable(span.text) for span in block.spans).rstrip()
        else:
            yield from _plain_grid(block)


def fitted_lines(blocks: Iterable[Block], room: int) -> Iterator[TextLine]:
    """Yield blocks, as they are read, as lines for a terminal with `room` columns.

    Their text is printable. Lines of listings and grids are no wider than `room`, with `…` where
    something is left out; a sentence can be wider.
    """
    for block in blocks:
        if isinstance(block, Grid):
            yield from _fitted_grid(block, room)
            continue
        spans = tuple(span._replace(text=printable(span.text)) for span in block.spans)
        if block.is_entry:
            yield from _fitted_entry(TextLine(spans, is_entry=True, gives=block.gives), room)
        else:
            yield TextLine(spans)


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
        yield from _wrapped_lines(entry, room)


def _wrapped_lines(entry: TextLine, room: int) -> Iterator[TextLine]:
    # In a very narrow terminal, the indent leaves room for words.
    indent = min(_INDENT, room // 4)
    line: list[Span] = []
    used = 0
    for word in _words(entry):
        width = sum(cell_width(span.text) for span in word)
        if line and used + width > room:
            yield TextLine(tuple(line), is_entry=True)
            line, used = [Span(" " * indent)], indent
            # The blank at which the line was broken.
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
    # A word can change its style in the middle, so it may be several spans.
    word: list[Span] = []
    for span in entry.spans:
        for piece in _PIECES.findall(span.text):
            if word and word[-1].text.isspace() != piece.isspace():
                yield word
                word = []
            word.append(Span(piece, span.style))
    if word:
        yield word


def _plain_grid(grid: Grid) -> Iterator[str]:
    """Yield a grid as text of any width, with nothing left out.

    A column becomes wider if a later page needs it.
    """
    rights = [head in grid.right for head in grid.heads]
    widths = [0] * len(rights)
    columns: list[Sequence[str]]
    for number, page in enumerate(_pages(grid.rows)):
        columns = _texts(page, len(rights))
        if not number:
            # Heads take part in the widths, so they are laid out with the first page.
            heads = map(printable, grid.heads)
            columns = [[head, *column] for head, column in zip(heads, columns, strict=True)]
        widths = [
            max(width, _widest(column)) for width, column in zip(widths, columns, strict=True)
        ]
        aligned = [
            _all_padded(column, width, right=right)
            for column, width, right in zip(columns, widths, rights, strict=True)
        ]
        yield from (_GAP.join(cells).rstrip() for cells in zip(*aligned, strict=True))


def _fitted_grid(grid: Grid, room: int) -> Iterator[TextLine]:
    """Yield a grid as lines no wider than `room`, which is at least 1.

    Each page is laid out separately by `fit`, or with one line per column if no grid fits. The
    heads are repeated when the columns shown change.
    """
    heads = [printable(head) for head in grid.heads]
    last: Fit | None = None
    for number, page in enumerate(_pages(grid.rows)):
        texts = _texts(page, len(heads))
        found = _fit(grid, heads, page, texts, room, last)
        if found is None:
            yield from _record_lines(heads, page, texts, room, is_begun=number > 0)
        else:
            yield from _table_lines(grid, heads, page, texts, found, last)
        last = found


def _pages(rows: Iterable[Row]) -> Iterator[Sequence[Row]]:
    """Yield rows in pages: an empty one if there are no rows, since heads are shown anyway."""
    reader = iter(rows)
    yield list(islice(reader, PAGE))
    while page := list(islice(reader, PAGE)):
        yield page


def _texts(page: Sequence[Row], count: int) -> list[Sequence[str]]:
    # By column, so that one look at the joined text tells that all cells are printable or ASCII.
    return [_all_printable([row[place].text for row in page]) for place in range(count)]


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
        max(cell_width(head), _widest(column)) for head, column in zip(heads, texts, strict=True)
    ]
    kept = dict(zip(last.places, last.widths, strict=True)) if last else {}
    # As wide as on the page before, if that fits: the lines of all pages are aligned then.
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


def _table_lines(
    grid: Grid,
    heads: Sequence[str],
    page: Sequence[Row],
    texts: Sequence[Sequence[str]],
    found: Fit,
    last: Fit | None,
) -> Iterator[TextLine]:
    places = list(zip(found.places, found.widths, strict=True))
    end = (Span(_GAP), Span(MARK, "faint")) if found.is_part else ()

    def spans(cells: Iterable[Span]) -> Iterator[Span]:
        for number, (cell, (place, width)) in enumerate(zip(cells, places, strict=True)):
            if number:
                yield Span(_GAP)
            # A column of empty cells without a head has no width, and nothing can be cut to that.
            text = shortened(cell.text, width) if width else ""
            right = grid.heads[place] in grid.right
            is_last = number == len(places) - 1 and not end and not right
            yield Span(text if is_last else _padded(text, width, right=right), cell.style)
        yield from end

    if last is None or (last.places, last.is_part) != (found.places, found.is_part):
        yield TextLine(tuple(spans(Span(heads[place], "heading") for place, _ in places)))
    for number, row in enumerate(page):
        yield TextLine(tuple(spans(Span(texts[p][number], row[p].style) for p, _ in places)))


def _record_lines(
    heads: Sequence[str],
    page: Sequence[Row],
    texts: Sequence[Sequence[str]],
    room: int,
    *,
    is_begun: bool,
) -> Iterator[TextLine]:
    """Yield one line per column, and an empty line between rows."""
    # Heads get half of the line at most, so that values have room, too.
    width = min(max(map(cell_width, heads)), max(1, (room - _GAP_WIDTH) // 2))
    left = room - width - _GAP_WIDTH
    for number, row in enumerate(page):
        if number or is_begun:
            yield TextLine(())
        for place, head in enumerate(heads):
            if left < 1:
                yield TextLine((Span(MARK, "faint"),))
                continue
            name = Span(_padded(shortened(head, width), width) + _GAP, "heading")
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
        return self.width if self.is_whole else min(self.width, _READABLE_CELL)


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
    # For the mark that says that columns are left out.
    room -= _GAP_WIDTH + 1
    if not chosen or _least([columns[place] for place in chosen]) > room:
        return None
    for place in everything:
        if not columns[place].is_first:
            if _least([columns[other] for other in (*chosen, place)]) > room:
                break
            chosen.append(place)
    widths = _widths([columns[place] for place in chosen], room)
    # `_least` has shown that they fit.
    assert widths is not None
    return Fit(tuple(chosen), widths, is_part=True)


def _widths(columns: Sequence[GridColumn], room: int) -> tuple[int, ...] | None:
    """Return a width for each column, shortening the widest first; None if they can't fit."""
    room -= _GAP_WIDTH * (len(columns) - 1)
    if sum(column.least for column in columns) > room:
        return None

    def at_most(cap: int) -> tuple[int, ...]:
        return tuple(min(column.width, max(column.least, cap)) for column in columns)

    # The largest width that fits for the widest columns, which give way first.
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


def printable(text: str) -> str:
    r"""Return text with control characters and line breaks escaped as `\x1b` or `\n`.

    The content of messages and rows must not control the terminal.
    """
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() or char == _JOINER else char.encode("unicode_escape").decode()
        for char in text
    )


def cell_width(text: str) -> int:
    """Return how many terminal columns a printable text takes."""
    if text.isascii():
        return len(text)
    # Imported here because it is slow to import and rarely needed.
    from rich.cells import cell_len

    return cell_len(text)


def _all_printable(texts: Sequence[str]) -> Sequence[str]:
    """Return `printable` of each text; fast if all are printable."""
    return texts if "".join(texts).isprintable() else [printable(text) for text in texts]


def _widest(texts: Sequence[str]) -> int:
    """Return the width of the widest printable text, or 0 if there is none."""
    measure = len if "".join(texts).isascii() else cell_width
    return max(map(measure, texts), default=0)


def shortened(text: str, room: int) -> str:
    """Return a printable text cut to a width; `…` replaces an end that is left out.

    A text is never cut inside a number or right after one, where the number would look cut: then
    the whole number is left out. Nor is it cut inside a character that consists of several code
    points. The width is at least 1.
    """
    if cell_width(text) <= room:
        return text
    end = _before_number(text, _fitting(text, room - 1))
    return text[:end] + MARK


def _padded(text: str, width: int, *, right: bool = False) -> str:
    """Return a printable text padded with blanks to a width, on the left if `right` is set."""
    blanks = " " * (width - cell_width(text))
    return blanks + text if right else text + blanks


def _all_padded(texts: Sequence[str], width: int, *, right: bool = False) -> Sequence[str]:
    """Return `_padded` of each text; fast if all are ASCII."""
    if "".join(texts).isascii():
        return [text.rjust(width) if right else text.ljust(width) for text in texts]
    return [_padded(text, width, right=right) for text in texts]


def _fitting(text: str, room: int) -> int:
    if text.isascii():
        return room
    end = 0
    for place in _boundaries(text):
        if cell_width(text[:place]) > room:
            break
        end = place
    return end


def _boundaries(text: str) -> Iterator[int]:
    """Yield the offset of the end of each character."""
    for place in range(1, len(text)):
        char = text[place]
        # Combining marks, skin tones and joined emoji belong to the character before them.
        joined = char == _JOINER or text[place - 1] == _JOINER
        if not (joined or unicodedata.category(char).startswith("M") or _is_tone(char)):
            yield place
    yield len(text)


def _is_tone(char: str) -> bool:
    """Return whether a character only changes the colour of the emoji before it."""
    return "\U0001f3fb" <= char <= "\U0001f3ff"


def _before_number(text: str, end: int) -> int:
    """Return the start of the number that text cut at `end` would end with, or `end`."""
    for number in _NUMBER.finditer(text):
        # A separator right before the cut may go on with digits behind it.
        if number.end() >= end or text[number.end() : end] in (".", ","):
            return min(end, number.start())
    return end
