"""Conflicts of a merge in words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from dbt.adapters.vcs.verbs.layout import Block, Grid, Span, counted, line
from dbt.adapters.vcs.verbs.resolve import OpenMergeReport, Resolution
from dbt.adapters.vcs.verbs.text.rows import rows_text
from dbt.adapters.vcs.workspace.openmerges import OpenMerge

_WIDTH: Final = 60


def conflicts_text(report: OpenMergeReport) -> Iterator[Block]:
    """Tell what conflicts, and the rows that were asked for."""
    source, target = Span(report.source, "name"), Span(report.target, "name")
    yield line("Merging ", source, " into ", target, " waits for:")
    yield Grid(
        heads=("RELATION", "CONFLICTS", "RESOLVED", "WHAT"),
        rows=tuple(
            (
                Span(item.relation, "name"),
                Span(str(item.conflicts)),
                Span(str(item.resolved), "good" if item.resolved == item.conflicts else "bad"),
                Span(item.what),
            )
            for item in report.relations
        ),
        right=frozenset({"CONFLICTS", "RESOLVED"}),
    )
    if report.rows:
        yield from rows_text(tuple(report.rows[0]), report.rows, len(report.rows), width=_WIDTH)
    yield line(f"As tables: on the branch {report.branch}.")


def resolved_text(resolution: Resolution) -> Iterator[Block]:
    """Tell what was chosen, and what is left."""
    yield line(f"Resolved {counted(resolution.count, 'conflict')} with {resolution.choice}.")
    left = resolution.left
    yield line(f"{left} left." if left else "None is left: dbt-vcs merge --continue goes on.")


def aborted_text(merge: OpenMerge) -> Iterator[Block]:
    """Tell that a merge was given up."""
    source, target = Span(merge.source, "name"), Span(merge.target, "name")
    yield line("Gave up merging ", source, " into ", target, ", which stays as it is.")
