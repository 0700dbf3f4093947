"""Rows as a grid."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from dbt.adapters.vcs.layout.styled import Grid, Span, counted, line

if TYPE_CHECKING:
    from dbt.adapters.vcs.layout.styled import Block, Style
    from dbt.adapters.vcs.verbs.row_set import RowSet


def rows_text(rows: RowSet, total: int) -> Iterator[Block]:
    """Yield rows as they are read, and the total if these are not all.

    Yields nothing if there are no columns.
    """
    if not rows.columns:
        return
    yield Grid(
        heads=rows.columns,
        rows=(tuple(map(cell_of, values)) for values in rows.values()),
        right=rows.numeric,
    )
    if total > len(rows):
        yield line(f"{len(rows)} of {counted(total, 'row')}")


def cell_of(value: Any, style: Style = "plain", marked: bool = False) -> Span:
    """Return the cell for a value; binary is shown in hex."""
    if isinstance(value, str):
        return Span(value, style, marked)
    if value is None:
        return Span("NULL", "faint", marked)
    return Span(value.hex() if isinstance(value, bytes) else str(value), style, marked)
