"""Text about purges."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from dbt.adapters.vcs.layout.styled import Span, counted, line

if TYPE_CHECKING:
    from dbt.adapters.vcs.layout.styled import Block
    from dbt.adapters.vcs.verbs.erasing.purge import PurgeReport

_SHOWN: Final = 20


def purge_text(report: PurgeReport) -> Iterator[Block]:
    """Yield what a purge did, or would do."""
    if not report.commits and not report.moved:
        yield line(Span(f"No version of {report.relation} has such rows.", "good"))
    else:
        yield from _rewritten(report)
    if report.unread_versions:
        yield line(
            f"{counted(report.unread_versions, 'version')} without a column of the condition: "
            "rows that only their files hold were not looked at."
        )
    for place in report.mentions[:_SHOWN]:
        yield line(Span(f"A text of the condition is also in {place}.", "bad"))
    if len(report.mentions) > _SHOWN:
        yield line(f"... and in {len(report.mentions) - _SHOWN} more places; --json lists all.")
    if report.results:
        would = "Would forget" if report.dry_run else "Forgot"
        yield line(
            f"{would} {counted(report.results, 'remembered result')}: the next build computes "
            "again what it needs."
        )
    if report.dry_run:
        return
    if report.deleted_files or report.deleted_objects:
        yield line(
            f"Deleted {counted(report.deleted_files, 'data file')} and "
            f"{counted(report.deleted_objects, 'manifest')} of the old history."
        )
    if report.young:
        yield line(
            f"Left {counted(report.young, 'unused file')} alone that may belong to a running "
            f"writer. They may hold such rows, too: run dbt-vcs gc after {report.young_until}."
        )


def _rewritten(report: PurgeReport) -> Iterator[Block]:
    would = "Would erase" if report.dry_run else "Erased"
    yield line(
        f"{would} {counted(report.rows, 'stored row')} and "
        f"{counted(report.before_images, 'copy', 'copies')} of deleted rows, in "
        f"{counted(report.rewritten_files, 'file')}."
    )
    for table in report.tables:
        yield line("  ", Span(table.relation, "name"), f": {counted(table.versions, 'version')}")
    would = "Would rewrite" if report.dry_run else "Rewrote"
    yield line(f"{would} {counted(report.commits, 'commit')}, and moved:")
    for name in report.moved:
        yield line("  ", Span(name, "name"))
