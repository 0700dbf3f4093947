"""Text about runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Final

from dbt.adapters.vcs.layout.styled import Grid, Span, age, line

if TYPE_CHECKING:
    from dbt.adapters.vcs.layout.styled import Block, Style
    from dbt.adapters.vcs.verbs.left_runs import RunSummary

STATUS_STYLES: Final[dict[str, Style]] = {
    "open": "name",
    "abandoned": "bad",
    "failed": "bad",
    "interrupted": "bad",
    "passed": "good",
    "published": "faint",
    "resumed": "faint",
}


def runs_text(runs: Sequence[RunSummary], now: datetime) -> Iterator[Block]:
    """Yield a list of runs."""
    if not runs:
        yield line("There are no runs with a branch.")
        return
    yield Grid(
        heads=("RUN", "STATUS", "TARGET", "COMMAND", "AGE", "NOTE"),
        rows=tuple(
            (
                Span(run.id, "name"),
                Span(run.status, STATUS_STYLES[run.status]),
                Span(run.target),
                Span(run.command),
                Span(age(run.started_at, now), "faint"),
                Span(("(expired) " if run.is_expired else "") + run.note),
            )
            for run in runs
        ),
        whole=frozenset({"RUN"}),
        first=("RUN", "STATUS"),
    )


def discarded_text(runs: Sequence[RunSummary]) -> Iterator[Block]:
    """Yield the runs that were discarded."""
    for run in runs:
        yield line("Discarded ", Span(run.branch, "name"), f" ({run.status}).")
    if not runs:
        yield line("No run has expired.")
