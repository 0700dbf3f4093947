"""Text about a bisection."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING

from dbt.adapters.vcs.layout.styled import Span, age, brief, counted, entry, line, short

if TYPE_CHECKING:
    from dbt.adapters.vcs.layout.styled import Block
    from dbt.adapters.vcs.verbs.bisecting.bisect import BisectReport
    from dbt.adapters.vcs.verbs.bisecting.suspects import Suspect


def bisect_text(report: BisectReport, now: datetime) -> Iterator[Block]:
    """Yield the first bad commit, or those of which one is it, and what to do next."""
    if report.base is not None:
        yield line(
            short(report.good),
            " is no ancestor of ",
            short(report.bad),
            ": good is where they parted, ",
            short(report.base),
        )
    if report.first_bad is not None:
        yield from _suspect_text(report.first_bad, now, " is the first bad commit: ")
    else:
        yield line("The first bad commit is one of these, since some could not be evaluated:")
        reasons = {skipped.commit: skipped.reason for skipped in report.skipped}
        for suspect in report.candidates:
            yield from _suspect_text(suspect, now, " ")
            if suspect.commit in reasons:
                yield line(f"  skipped: {brief(reasons[suspect.commit], 200)}")
    looks, commits = counted(report.looks, "look"), counted(report.commits, "commit")
    yield line(f"{looks}; {commits} between good and bad")
    if report.first_bad is not None:
        yield line(f"Next: {_next_step(report.first_bad)}")


def _suspect_text(suspect: Suspect, now: datetime, verb: str) -> Iterator[Block]:
    yield entry(
        short(suspect.commit),
        verb,
        suspect.summary,
        Span(f"  {suspect.author}, {age(suspect.committed_at, now)}", "faint"),
        gives=2,
    )
    if suspect.invocation is not None:
        yield line(f"  run {suspect.invocation} (dbt {suspect.command})")
    if len(suspect.parents) > 1:
        yield line(f"  a merge of {' and '.join(id[:12] for id in suspect.parents)}")
    if suspect.steps:
        word = "step" if len(suspect.steps) == 1 else "one of the steps"
        yield line(f"  {word} {', '.join(step[:12] for step in suspect.steps)}")
    for item in suspect.changed:
        before = "nothing" if item.before is None else item.before[:12]
        after = "nothing" if item.after is None else item.after[:12]
        by = f" by {item.node}" if item.node else ""
        yield line("  ", Span(item.relation, "name"), f" {before} -> {after}{by}")


def _next_step(suspect: Suspect) -> str:
    at = suspect.steps[0] if len(suspect.steps) == 1 else suspect.commit
    tables = [item for item in suspect.changed if item.before and item.after]
    if len(tables) == 1 and suspect.parents:
        return f"dbt-vcs diff {at[:12]}^..{at[:12]} {tables[0].relation}"
    return f"dbt-vcs show {suspect.commit[:12]}"
