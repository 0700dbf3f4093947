"""Text about diffs: one line per relation, its columns, and the rows of one table."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from dbt.adapters.vcs.diffs.change_summary import rows_text
from dbt.adapters.vcs.layout.styled import Span, counted, entry, line
from dbt.adapters.vcs.text.change_text import changes_text
from dbt.adapters.vcs.text.diff_row_text import diff_rows

if TYPE_CHECKING:
    from dbt.adapters.vcs.layout.styled import Block, Style
    from dbt.adapters.vcs.verbs.reading.diff_report import ColumnDiff, DiffReport, RelationDiff

_STYLES: Final[dict[str, Style]] = {"added": "good", "removed": "bad", "changed": "warn"}


def diff_text(report: DiffReport) -> Iterator[Block]:
    """Yield a whole diff: relations, their columns, and rows if there are any."""
    if report.is_equal:
        yield line(report.before, " and ", report.after, " are equal.")
        return
    yield from changes_text(report.schemas)
    for relation in report.relations:
        yield _relation(relation)
        yield from _columns(relation)
    yield from _rows(report)
    if not report.heads:
        yield from _totals(report)


def diff_summary_text(report: DiffReport) -> Iterator[Block]:
    """Yield the totals of a diff."""
    if report.is_equal:
        yield line(report.before, " and ", report.after, " are equal.")
    else:
        yield from _totals(report)


def diff_schema_text(report: DiffReport) -> Iterator[Block]:
    """Yield the columns that differ."""
    changed = [item for item in report.relations if item.columns]
    if not changed:
        yield line(f"No columns differ between {report.before} and {report.after}.")
    for relation in changed:
        yield line(Span(relation.name, "name"))
        yield from _columns(relation)


def _relation(relation: RelationDiff) -> Block:
    how = Span(f"  {relation.how:<8}", _STYLES.get(relation.how, "plain"))
    parts: list[str | Span] = [how, f" {relation.kind:<6} {relation.name}"]
    if relation.kind == "table":
        parts.append(f"  {rows_text([relation])}")
    if relation.settings:
        parts.append(Span(f"  ({', '.join(relation.settings)})", "faint"))
    return entry(*parts)


def _columns(relation: RelationDiff) -> Iterator[Block]:
    for item in relation.columns:
        yield line(Span(f"      column {_column(item)}", "faint"))


def _column(item: ColumnDiff) -> str:
    match item.kind:
        case "added":
            return f"{item.column} added: {item.after}"
        case "dropped":
            return f"{item.column} dropped: {item.before}"
        case "moved":
            return f"{item.column} moved: position {item.before} -> {item.after}"
    return f"{item.column} {item.kind}: {item.before} -> {item.after}"


def _totals(report: DiffReport) -> Iterator[Block]:
    relations = report.relations
    yield line(f"{counted(len(relations), 'relation')}, {rows_text(relations)} rows")
    if not all(item.is_exact for item in relations):
        yield line(
            Span("To compare the rows of large tables, use snapshot_diff() in SQL.", "faint")
        )


def _rows(report: DiffReport) -> Iterator[Block]:
    if report.rows:
        yield diff_rows(report)
    left = report.row_count - len(report.rows)
    if report.heads and left:
        yield line(
            Span(
                f"{counted(left, 'more row')}: use --limit to show more, or --limit 0 for all.",
                "faint",
            )
        )
