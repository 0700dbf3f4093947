"""Text about commits: the log, and a single commit with the run that it publishes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Final

from dbt.adapters.vcs.core.model.commit import reused_nodes
from dbt.adapters.vcs.layout.styled import (
    Grid,
    Span,
    age,
    counted,
    entry,
    line,
    local_time,
    short,
)
from dbt.adapters.vcs.text.change_text import changes_text
from dbt.adapters.vcs.text.run_text import STATUS_STYLES

if TYPE_CHECKING:
    from dbt.adapters.vcs.layout.styled import (
        Block,
        Style,
    )
    from dbt.adapters.vcs.verbs.left_runs import RunSummary
    from dbt.adapters.vcs.verbs.reading.log import LogEntry
    from dbt.adapters.vcs.verbs.reading.show_commit import CommitDetail, RunDetail

_GOOD_NODES: Final = frozenset({"success", "pass"})
_BAD_NODES: Final = frozenset({"error", "fail", "runtime error"})


def log_text(entries: Iterable[LogEntry], now: datetime) -> Iterator[Block]:
    """Yield one line per commit."""
    for item in entries:
        names = Span(f" ({', '.join(item.names)})", "name") if item.names else Span("")
        reused = f", {item.reused:,} of {item.nodes:,} reused" if item.reused else ""
        when = f"  {item.author}, {age(item.committed_at, now)}{reused}"
        yield entry(short(item.id), names, " ", item.summary, Span(when, "faint"), gives=3)


def commit_text(commit: CommitDetail, now: datetime) -> Iterator[Block]:
    """Yield all details of one commit."""
    names = Span(f" ({', '.join(commit.names)})" if commit.names else "", "name")
    yield line(Span(f"commit {commit.id}", "commit"), names)
    if len(commit.parents) > 1:
        yield line("Merge:   ", " ".join(parent[:12] for parent in commit.parents))
    yield line("Author:  ", commit.author)
    when = local_time(commit.committed_at)
    yield line("Date:    ", when, Span(f"  {age(commit.committed_at, now)}", "faint"))
    for name, value in sorted(commit.metadata.items()):
        yield line(f"{name}: ", value)
    yield line("")
    for text in commit.message.rstrip("\n").split("\n"):
        yield line("    ", text)
    if commit.run_branch is not None:
        yield from _run_branch_text(commit.run_branch)
    if commit.run is not None:
        yield from _run_text(commit.run)
    yield line("")
    if commit.changes:
        since = f" since {commit.since[:12]}" if commit.since else ""
        yield line(Span(f"Changes{since}", "heading"))
        yield from changes_text(commit.changes)
    else:
        yield line("No relation changed.")


def _run_branch_text(run: RunSummary) -> Iterator[Block]:
    yield line("")
    note = f": {run.note}" if run.note else ""
    yield line(
        Span("Run      ", "heading"),
        f"{run.id} (dbt {run.command}) for {run.target} is ",
        Span(run.status, STATUS_STYLES[run.status]),
        note,
    )


def _run_text(run: RunDetail) -> Iterator[Block]:
    target = f" --target {run.target}" if run.target else ""
    version = f", dbt {run.dbt_version}" if run.dbt_version else ""
    seconds = f", {run.seconds:.1f}s" if run.seconds else ""
    yield line("")
    yield line(
        Span("Run      ", "heading"),
        f"dbt {run.command}{target} ({run.invocation}){version}{seconds}",
    )
    yield line("Started: ", local_time(run.started_at))
    if run.git_sha:
        yield line("Git:     ", run.git_sha)
    if not run.nodes:
        return
    reused, total, saved = reused_nodes(run.nodes)
    if reused:
        yield line(
            "Reused:  ",
            f"{reused:,} of {counted(total, 'node')}, {saved:.1f} s of work saved",
        )
    yield Grid(
        heads=("", "NODE", "STATUS", "SECONDS", "ROWS", *(("REUSED FROM",) if reused else ())),
        rows=tuple(
            (
                Span(" "),
                Span(node.id),
                Span(node.status, _node_style(node.status)),
                Span(f"{node.seconds:.2f}"),
                Span("" if node.rows is None else f"{node.rows:,}"),
                *((Span(node.reused or "", "name"),) if reused else ()),
            )
            for node in run.nodes
        ),
        right=frozenset({"SECONDS", "ROWS"}),
        whole=frozenset({"NODE"}),
        first=("", "NODE", "STATUS"),
    )


def _node_style(status: str) -> Style:
    if status in _GOOD_NODES:
        return "good"
    return "bad" if status in _BAD_NODES else "warn"
