"""Collections and checks in words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from dbt.adapters.vcs.layout.styled import Span, counted, line, size

if TYPE_CHECKING:
    from dbt.adapters.vcs.layout.styled import Block
    from dbt.adapters.vcs.verbs.upkeep.fsck import FsckReport
    from dbt.adapters.vcs.verbs.upkeep.gc import GcReport
    from dbt.adapters.vcs.verbs.upkeep.losses import Losses

_SHOWN: Final = 10


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


def losses_text(losses: Losses) -> Iterator[Block]:
    """Tell what nobody can have back once a collection has run with a shorter retention."""
    yield line(
        f"With a retention of {losses.days:g} days a collection (dbt-vcs gc) takes away for good, "
        "once it is a day old:"
    )
    if losses.files:
        yield line(
            f"  {counted(losses.files, 'data file')} ({size(losses.bytes)}) of history without a "
            "name, which restore, diff and time travel read now"
        )
    if losses.branches:
        yield line(
            f"  {_named('the deleted branch', 'the deleted branches', losses.branches)}, "
            "which branch undelete brings back now"
        )
    if losses.runs:
        yield line(
            f"  {_named('the branch', 'the branches', losses.runs)}, "
            "which dbt retry and runs publish go on with now"
        )
    if losses.at_work:
        yield line(
            f"  what {_named('the run at work', 'the runs at work', losses.at_work)} and other "
            "readers go on reading for longer than that, if it is replaced meanwhile"
        )
    yield line("To keep something, give it a name first: dbt-vcs tag create NAME REVISION")


def unconfirmed(told: Iterable[str], how: str) -> str:
    """Return why a retention was not shortened, after what `losses_text` told, and how it is."""
    return "\n".join([*told, f"Nothing was changed. If that is meant, say so: {how}"])


def _named(one: str, many: str, names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"{one if len(names) == 1 else many} {', '.join(names[:_SHOWN])}{more}"


def retention_text(days: float) -> Iterator[Block]:
    """Tell of a retention that was set."""
    yield line(f"History without a name is kept for {days:g} days.")


def problem_text(problem: str) -> Iterator[Block]:
    """Tell of one thing that is wrong with a repository."""
    yield line(Span(problem, "bad"))


def fsck_text(report: FsckReport, *, with_problems: bool = True) -> Iterator[Block]:
    """Tell what was found in a repository, without what has been told already."""
    for problem in report.problems if with_problems else ():
        yield from problem_text(problem)
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
