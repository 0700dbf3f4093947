"""Text about merges."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from dbt.adapters.vcs.diffs.change_summary import rows_text
from dbt.adapters.vcs.layout.styled import Span, counted, line, short
from dbt.adapters.vcs.text.change_text import changes_text

if TYPE_CHECKING:
    from dbt.adapters.vcs.layout.styled import Block
    from dbt.adapters.vcs.verbs.changing.merge import MergeReport

_SHOWN: Final = 10


def merge_text(report: MergeReport) -> Iterator[Block]:
    """Yield what a merge did, or would do."""
    source, target = Span(report.source, "name"), Span(report.target, "name")
    if report.how == "up_to_date":
        yield line(target, " is up to date: it contains everything from ", source)
        return
    if report.how == "conflict":
        yield line("Can't merge ", source, " into ", target, ": both changed")
        for name in report.conflicts:
            yield line(Span(f"  {name}", "bad"))
        if report.changes:
            yield line("Only these would merge:")
        yield from changes_text(report.changes)
        return
    word = "Would merge " if report.dry_run else "Merged "
    how = _way(report)
    after = short(report.after) if report.after else Span("a new commit")
    yield line(word, source, " into ", target, f", {how}: ", short(report.before), " -> ", after)
    yield from changes_text(report.changes)
    relations = sum(1 for change in report.changes if change.kind != "schema")
    yield line(f"{counted(relations, 'relation')}, {rows_text(report.changes)} rows")
    if report.stale:
        becomes = "becomes" if len(report.stale) == 1 else "become"
        shown = ", ".join(report.stale[:_SHOWN])
        more = f" and {len(report.stale) - _SHOWN} more" if len(report.stale) > _SHOWN else ""
        step = "" if report.dry_run else f"; see dbt-vcs stale {report.target}"
        yield line(f"{shown}{more} {becomes} stale{step}")
    if report.stale_unknown:
        tables = counted(report.stale_unknown, "other table")
        yield line(f"whether {tables} became stale was not checked; see dbt-vcs stale")


def _way(report: MergeReport) -> str:
    if report.how == "fast_forward":
        return "fast-forward"
    return "merged with what was there" if report.relations else "with a commit of its own"
