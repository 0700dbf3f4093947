"""Text about the conflicts of a merge."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from dbt.adapters.vcs.layout.styled import Grid, Span, counted, line
from dbt.adapters.vcs.merges.rowwise.choice import Choice
from dbt.adapters.vcs.text.row_text import cell_of

if TYPE_CHECKING:
    from dbt.adapters.vcs.layout.styled import Block
    from dbt.adapters.vcs.merges.conflicts.open_merges import OpenMerge
    from dbt.adapters.vcs.verbs.changing.resolve import Resolution
    from dbt.adapters.vcs.verbs.reading.waiting_merges import OpenMergeReport

_OWN: Final = ("our_diff_type", "their_diff_type", "resolution")
"""Columns of a conflict table in addition to those of the table itself."""


def conflicts_text(report: OpenMergeReport) -> Iterator[Block]:
    """Yield the conflicts, the requested rows and the next step."""
    target = Span(report.target, "name")
    if report.source is None:
        yield line("No merge into ", target, " is waiting for conflicts to be resolved.")
        return
    yield line("Merging ", Span(report.source, "name"), " into ", target, " is waiting for:")
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
        whole=frozenset({"RELATION"}),
        first=("RELATION",),
    )
    if report.rows:
        yield _rows(report)
    yield from _next(report)


def _rows(report: OpenMergeReport) -> Grid:
    """Return the rows in conflict; the key and the values that differ come first."""
    columns = report.rows.columns
    places = {name: place for place, name in enumerate(columns)}
    names = [name.removeprefix("our_") for name in columns if name.startswith("our_")]
    sides = [
        (places[f"our_{name}"], places[f"their_{name}"])
        for name in names
        if f"their_{name}" in places and f"base_{name}" in places
    ]

    def cells(values: tuple[Any, ...]) -> tuple[Span, ...]:
        differing = {
            place for pair in sides if values[pair[0]] != values[pair[1]] for place in pair
        }
        return tuple(
            cell_of(value, marked=place in differing) for place, value in enumerate(values)
        )

    keys = (f"{side}_{name}" for name in report.key for side in ("our", "their"))
    return Grid(
        heads=columns,
        rows=map(cells, report.rows.values()),
        right=report.rows.numeric,
        first=(*(name for name in _OWN if name in places), *keys),
    )


def _next(report: OpenMergeReport) -> Iterator[Block]:
    """Yield how to resolve what is left: whole relations one by one, rows by table."""
    if not report.left:
        yield line(
            f"No conflict is left. To finish the merge: dbt-vcs merge --continue {report.target}"
        )
        return
    for item in report.relations:
        if item.whole and not item.resolved:
            name = item.relation.removeprefix("schema ")
            yield line(
                f"{item.relation} conflicts as a whole ({item.what}); choose a side: "
                f"dbt-vcs resolve {name} --with ours|theirs|base|delete --into {report.target}"
            )
    if any(not item.whole for item in report.relations):
        yield line(
            f"Rows in conflict are in tables on the branch {report.branch}. To show and resolve "
            f"them: dbt-vcs conflicts {report.target} --relation NAME, dbt-vcs resolve NAME "
            f"--with ours|theirs|base|delete --into {report.target}, or for a row "
            "--key COLUMN=VALUE --set COLUMN=VALUE"
        )


def resolved_text(resolution: Resolution) -> Iterator[Block]:
    """Yield what was chosen, and what is left."""
    is_custom = resolution.choice is Choice.CUSTOM
    what = "values given by hand" if is_custom else str(resolution.choice)
    yield line(f"Resolved {counted(resolution.count, 'conflict')} with {what}.")
    left = resolution.left
    yield line(
        f"{left} left."
        if left
        else "No conflict is left. To finish the merge: dbt-vcs merge --continue"
    )


def aborted_text(merge: OpenMerge) -> Iterator[Block]:
    """Yield the line for an aborted merge."""
    source, target = Span(merge.source, "name"), Span(merge.target, "name")
    yield line("Aborted the merge of ", source, " into ", target, ", which is unchanged.")
