"""Spans: styled text, and the lines and grids that output consists of."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

from dbt.adapters.vcs.core.ids import CommitId

Style: TypeAlias = Literal["plain", "heading", "commit", "name", "faint", "good", "bad", "warn"]


class Span(NamedTuple):
    """Text in one style.

    Attributes:
        text: The text.
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
        spans: The spans.
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
    """Return a line of a listing; plain strings have no style. `gives` is as in `Line`."""
    return TextLine(_spans(parts), is_entry=True, gives=gives)


def short(id: CommitId) -> Span:
    """Return the first digits of a commit id."""
    return Span(id[:12], "commit")


def _spans(parts: Iterable[str | Span]) -> tuple[Span, ...]:
    return tuple(part if isinstance(part, Span) else Span(part) for part in parts)
