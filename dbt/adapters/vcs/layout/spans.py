"""Spans: styled text, and the lines and grids that answers are made of."""

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
        marked: In a grid: it is what the reader looks for, a value that changed. Where not all
            columns fit, those with a marked cell are shown first.
    """

    text: str
    style: Style = "plain"
    marked: bool = False


@dataclass(frozen=True, slots=True)
class Line:
    """Spans one after the other.

    Attributes:
        spans: The spans.
        is_entry: True for a line of a listing, which is made to fit a terminal. A sentence is
            left to the terminal to wrap, so that a command in it can be copied.
        gives: Number of the span of an entry that is shortened before the line is wrapped.
    """

    spans: tuple[Span, ...]
    is_entry: bool = False
    gives: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """Rows of aligned cells under heads.

    Attributes:
        heads: Names of the columns.
        rows: As many cells each as there are heads. They may be computed as they are read, and
            are read once.
        right: Columns that are aligned to the right; they are never shortened.
        whole: Other columns that are never shortened, such as names.
        first: Columns that are shown first where not all fit. Without any, and without a marked
            cell, no column is left out: rows that don't fit are printed a line a column.
    """

    heads: tuple[str, ...]
    rows: Iterable[tuple[Span, ...]]
    right: frozenset[str] = frozenset()
    whole: frozenset[str] = frozenset()
    first: tuple[str, ...] = ()


Block: TypeAlias = Line | Grid


def line(*parts: str | Span) -> Line:
    """Return a sentence of spans; bare text is plain."""
    return Line(_spans(parts))


def entry(*parts: str | Span, gives: int | None = None) -> Line:
    """Return a line of a listing; bare text is plain. `gives` is as for `Line`."""
    return Line(_spans(parts), is_entry=True, gives=gives)


def short(id: CommitId) -> Span:
    """Return the first digits of a commit's id."""
    return Span(id[:12], "commit")


def _spans(parts: Iterable[str | Span]) -> tuple[Span, ...]:
    return tuple(part if isinstance(part, Span) else Span(part) for part in parts)
