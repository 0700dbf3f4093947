"""Rows of a query in a grid."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dbt.adapters.vcs.verbs.layout import Block, Grid, Span, brief, counted, line


def rows_text(
    columns: Sequence[str],
    rows: Sequence[Mapping[str, Any]],
    total: int,
    *,
    width: int | None = None,
) -> Iterator[Block]:
    """Show rows, and how many there are if these are not all; nothing without columns.

    Values are cut to the width, if there is one; binary ones are shown in hex.
    """
    if not columns:
        return
    yield Grid(
        heads=tuple(columns),
        rows=tuple(tuple(_cell(row[name], width) for name in columns) for row in rows),
        right=frozenset(
            name for name in columns if rows and all(_is_number(row[name]) for row in rows)
        ),
    )
    if total > len(rows):
        yield line(f"{len(rows)} of {counted(total, 'row')}")


def _cell(value: Any, width: int | None) -> Span:
    if value is None:
        return Span("NULL", "faint")
    text = value.hex() if isinstance(value, bytes) else str(value)
    return Span(text if width is None else brief(text, width))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
