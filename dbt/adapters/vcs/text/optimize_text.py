"""Text about compactions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from dbt.adapters.vcs.layout.styled import Grid, Span, counted, line, short, size

if TYPE_CHECKING:
    from dbt.adapters.vcs.layout.styled import Block
    from dbt.adapters.vcs.verbs.upkeep.optimize import OptimizeReport


def optimize_text(report: OptimizeReport) -> Iterator[Block]:
    """Yield what a compaction did."""
    if report.commit is None:
        what = counted(report.looked_at, "table")
        yield line(f"Nothing to do: {what} checked, and no block needs to be rewritten.")
        return
    yield Grid(
        heads=("TABLE", "BLOCKS", "SIZE", "DELETED ROWS DROPPED"),
        rows=tuple(
            (
                Span(table.relation, "name"),
                Span(f"{table.blocks_before:,} -> {table.blocks_after:,}"),
                Span(f"{size(table.bytes_before)} -> {size(table.bytes_after)}"),
                Span(f"{table.dropped_rows:,}"),
            )
            for table in report.tables
        ),
        right=frozenset({"BLOCKS", "SIZE", "DELETED ROWS DROPPED"}),
        whole=frozenset({"TABLE"}),
        first=("TABLE",),
    )
    yield line(
        f"Optimized {counted(len(report.tables), 'table')} on ",
        Span(report.branch, "name"),
        " at ",
        short(report.commit),
        ".",
    )
