"""Text about remembered results."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Final

from dbt.adapters.vcs.layout.styled import Grid, Span, age, counted, line, size

if TYPE_CHECKING:
    from dbt.adapters.vcs.layout.styled import Block
    from dbt.adapters.vcs.verbs.reusing.remembered import DropReport, RememberedResult
    from dbt.adapters.vcs.verbs.reusing.reuse_figures import ReuseFigures
    from dbt.adapters.vcs.verbs.reusing.reuse_reasons import (
        ComputedStatement,
        LastRun,
        ReuseReasons,
    )

_SHOWN: Final = 12
_BY_CHOICE: Final = ("it depends on the moment", "it may give another result", "Spark does not")


def results_text(results: Sequence[RememberedResult], now: datetime) -> Iterator[Block]:
    """Yield a list of results."""
    if not results:
        yield line("Nothing is remembered.")
        return
    yield Grid(
        heads=("KEY", "KIND", "NODE", "ROWS", "SECONDS", "AGE", "BRANCH"),
        rows=tuple(
            (
                Span(item.key[:_SHOWN], "commit"),
                Span(item.kind),
                Span(item.node or item.relation, "name"),
                Span(
                    "gone" if not item.is_held else "" if item.rows is None else f"{item.rows:,}"
                ),
                Span(f"{item.seconds:.2f}"),
                Span(age(item.made_at, now), "faint"),
                Span(item.branch),
            )
            for item in results
        ),
        right=frozenset({"ROWS", "SECONDS"}),
        whole=frozenset({"KEY"}),
        first=("KEY", "KIND", "NODE"),
    )


def figures_text(figures: ReuseFigures, now: datetime) -> Iterator[Block]:
    """Yield what is remembered, and what it saved."""
    if not figures.results:
        yield line("Nothing is remembered.")
    else:
        since = "" if figures.oldest is None else f", the oldest {age(figures.oldest, now)}"
        yield line(
            f"Remembered: {counted(figures.results, 'result')} of "
            f"{counted(figures.nodes, 'node')}, {size(figures.bytes)}{since}."
        )
        kinds = ", ".join(f"{count:,} {kind}" for kind, count in figures.kinds.items())
        yield line(f"  {kinds}; they took {figures.seconds:,.1f} s to compute.")
    yield line(
        f"In {figures.days:g} days: {counted(figures.runs, 'run')} on record. Of "
        f"{counted(figures.ended, 'node')}, {figures.reused:,} "
        f"{'was' if figures.reused == 1 else 'were'} reused, {figures.saved:,.1f} s of work saved."
    )


def dropped_text(report: DropReport) -> Iterator[Block]:
    """Yield what was forgotten."""
    if not report.results:
        yield line("Nothing was remembered.")
        return
    nodes = f" of {counted(len(report.nodes), 'node')}" if report.nodes else ""
    yield line(
        f"Forgot {counted(report.results, 'result')}{nodes}, {size(report.bytes)}. Tables and "
        "history are as before; the next build computes what it needs of these."
    )


def reasons_text(reasons: ReuseReasons, now: datetime) -> Iterator[Block]:
    """Yield why a node's results were computed."""
    yield line(Span(reasons.node, "name"))
    if reasons.last is not None:
        yield from _last_text(reasons.last, now)
    for statement in reasons.statements:
        yield from _statement_text(statement, now)
    if not reasons.statements:
        yield line("  No result of it is remembered.")


def _last_text(last: LastRun, now: datetime) -> Iterator[Block]:
    run = f"dbt {last.command} for {last.branch}, {age(last.at, now)} ({last.invocation})"
    if last.reused is not None:
        yield line(f"  Reused from {last.reused} by {run}: {last.saved:.1f} s of work saved.")
        return
    yield line(f"  Ended as {last.status} in {run}; not all of it was taken.")
    for why in last.refused:
        yield line(f"  Not looked up: {why}.")
    if any(choice in why for why in last.refused for choice in _BY_CHOICE):
        yield line("  To take such a result in any case, set the config reuse: always.")


def _statement_text(statement: ComputedStatement, now: datetime) -> Iterator[Block]:
    on = f" for {statement.branch}" if statement.branch else ""
    yield line(
        Span("  "), Span(statement.statement), f" was last computed{on} {age(statement.at, now)}."
    )
    if statement.before is None:
        yield line("    Nothing is remembered of an earlier time.")
        return
    where = f" for {statement.before_branch}" if statement.before_branch else ""
    yield line(f"    Since it was computed{where} {age(statement.before, now)}:")
    for clause in statement.differs:
        yield line(f"      {clause}")
    if not statement.differs:
        yield line("      nothing that is on record differs; its result was dropped or collected")
