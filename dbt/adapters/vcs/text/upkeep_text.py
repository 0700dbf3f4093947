"""Text about garbage collection and checks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from dbt.adapters.vcs.layout.styled import Span, counted, line, size

if TYPE_CHECKING:
    from dbt.adapters.vcs.layout.styled import Block
    from dbt.adapters.vcs.verbs.upkeep.copy import CopyReport
    from dbt.adapters.vcs.verbs.upkeep.data_check import DataProgress, DataRead
    from dbt.adapters.vcs.verbs.upkeep.fsck import FsckReport
    from dbt.adapters.vcs.verbs.upkeep.gc import GcReport
    from dbt.adapters.vcs.verbs.upkeep.standing_up import RepairReport

_SHOWN: Final = 10


def gc_text(report: GcReport) -> Iterator[Block]:
    """Yield what a garbage collection did."""
    for name in report.runs:
        yield line(
            "Would discard " if report.dry_run else "Discarded ",
            Span(name, "name"),
            ", which is older than the retention period.",
        )
    verb = "Would delete" if report.dry_run else "Deleted"
    more = f", {counted(report.metadata, 'file')} for other engines" if report.metadata else ""
    if report.results:
        more += f", {counted(report.results, 'remembered result')}"
    yield line(
        f"{verb} {counted(report.files, 'data file')} and "
        f"{counted(report.objects, 'manifest')}{more}, {size(report.bytes)}."
    )
    yield line(
        f"Kept {counted(report.kept_files, 'data file')} ({size(report.kept_bytes)}) and "
        f"{counted(report.kept_objects, 'manifest')}; unnamed history is kept for "
        f"{report.keep_days:g} days."
    )
    if report.young:
        yield line(
            f"Left {counted(report.young, 'unused file')} alone that may belong to a running "
            "writer; a later gc checks again."
        )


def shorter_text(before: float, days: float) -> str:
    """Return what a shorter retention does, both in days, and how to see it first."""
    return (
        f"{days:g} days are shorter than the retention of now, {before:g} days: what only history "
        "between the two keeps can no longer be restored after the next gc. To see how much that "
        f"is: dbt-vcs gc --dry-run --retention {days:g}. To keep something, give it a name first: "
        "dbt-vcs tag create NAME REVISION."
    )


def retention_text(days: float) -> Iterator[Block]:
    """Yield the line for a retention that was set."""
    yield line(f"Unnamed history is kept for {days:g} days.")


def problem_text(problem: str) -> Iterator[Block]:
    """Yield one problem found in a repository."""
    yield line(Span(problem, "bad"))


def fsck_text(report: FsckReport, *, with_problems: bool = True) -> Iterator[Block]:
    """Yield the summary of a check, without the problems that were already shown."""
    for problem in report.problems if with_problems else ():
        yield from problem_text(problem)
    yield line(
        f"Checked {counted(report.commits, 'commit')}, {counted(report.objects, 'manifest')} and "
        f"the sizes of {counted(report.files, 'data file')} ({size(report.bytes)})."
    )
    if report.read is not None:
        yield line(_read_text(report.read))
    if report.orphans:
        yield line(
            f"{counted(report.orphans, 'file')} ({size(report.orphan_bytes)}) are not "
            "needed; dbt-vcs gc deletes them once they are a day old."
        )
    if report.problems:
        yield line(Span(f"{counted(len(report.problems), 'problem')}.", "bad"))
    else:
        yield line(Span("No problems found.", "good"))


def _read_text(read: DataRead) -> str:
    if read.seed is None:
        return f"Read all bytes of {counted(read.files, 'data file')} ({size(read.bytes)})."
    return (
        f"Read all bytes of {counted(read.files, 'data file')} ({size(read.bytes)}), a sample of "
        f"{read.percent:g}% with the seed {read.seed}."
    )


def progress_text(done: DataProgress) -> str:
    """Return how far a check of data files is, as one line."""
    return (
        f"Read {done.files:,} of {counted(done.of, 'data file')}, {size(done.bytes)} of "
        f"{size(done.of_bytes)}"
    )


def repair_text(report: RepairReport) -> Iterator[Block]:
    """Yield what a repair did, and what is damaged."""
    if report.done and report.dry_run:
        yield line("Nothing was changed. The repair would do this:")
    for done in report.done:
        yield line(done)
    for damage in report.damages:
        yield line(Span(damage.where, "name"), ": ", Span(damage.what, "bad"))
        for way in damage.help:
            yield line("    ", way)
    if report.damages:
        left = "is left" if report.done else "was found"
        yield line(Span(f"{counted(len(report.damages), 'damage')} {left}.", "bad"))
    elif not report.done:
        yield line(Span("Nothing is damaged.", "good"))
    if report.sizes_only:
        yield line("Of data files only the sizes were looked at; dbt-vcs fsck can read them.")


def copy_text(report: CopyReport) -> Iterator[Block]:
    """Yield what a copy did."""
    if not (report.files or report.moves):
        yield line(f"{report.target} is up to date with {report.source}.")
        return
    yield line(
        f"Copied {counted(report.files, 'file')} ({size(report.bytes)}) and "
        f"{counted(report.moves, 'move')} from {report.source} to {report.target}."
    )
