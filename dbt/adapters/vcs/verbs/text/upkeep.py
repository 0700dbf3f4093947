"""Collections and checks in words."""

from __future__ import annotations

from collections.abc import Iterator

from dbt.adapters.vcs.verbs.fsck import FsckReport
from dbt.adapters.vcs.verbs.gc import GcReport
from dbt.adapters.vcs.verbs.layout import Block, Span, counted, line, size


def gc_text(report: GcReport) -> Iterator[Block]:
    """Tell what a collection did."""
    for name in report.runs:
        yield line("Discarded ", Span(name, "name"), ", which had outlived the retention.")
    verb = "Would delete" if report.dry_run else "Deleted"
    yield line(
        f"{verb} {counted(report.files, 'data file')} and "
        f"{counted(report.objects, 'manifest')}, {size(report.bytes)}."
    )
    yield line(
        f"Kept {counted(report.kept_files, 'data file')} ({size(report.kept_bytes)}) and "
        f"{counted(report.kept_objects, 'manifest')}; history without a name is kept for "
        f"{report.keep_days:g} days."
    )
    if report.young:
        yield line(
            f"Left {counted(report.young, 'file')} alone that nothing needs and that may be of "
            "a writer at work: a later collection looks again."
        )


def retention_text(days: float) -> Iterator[Block]:
    """Tell of a retention that was set."""
    yield line(f"History without a name is kept for {days:g} days.")


def fsck_text(report: FsckReport) -> Iterator[Block]:
    """Tell what was found in a repository."""
    for problem in report.problems:
        yield line(Span(problem, "bad"))
    yield line(
        f"Looked at {counted(report.commits, 'commit')}, "
        f"{counted(report.objects, 'manifest')} and {counted(report.files, 'data file')} "
        f"({size(report.bytes)})."
    )
    if report.orphans:
        yield line(
            f"{counted(report.orphans, 'file')} ({size(report.orphan_bytes)}) are needed by "
            "nothing; dbt-vcs gc deletes them once they are a day old."
        )
    if report.problems:
        yield line(Span(f"{counted(len(report.problems), 'problem')}.", "bad"))
    else:
        yield line(Span("All is well.", "good"))
