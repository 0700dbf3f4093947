"""`dbt-vcs show`: one commit, its run, and what it changed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from dbt.adapters.vcs.changes.diffs.summaries import ChangeSummary, list_changes
from dbt.adapters.vcs.commands.layout import (
    Block,
    Grid,
    Span,
    Style,
    age,
    counted,
    entry,
    line,
    local_time,
)
from dbt.adapters.vcs.commands.output import changes_text
from dbt.adapters.vcs.commands.revisions import names_by_commit
from dbt.adapters.vcs.commands.runs import STATUS_STYLES, RunSummary, summarize_run
from dbt.adapters.vcs.commands.session import CommandSession
from dbt.adapters.vcs.commands.verb import verb
from dbt.adapters.vcs.core.branches import Branch
from dbt.adapters.vcs.core.ids import CommitId, datetime_of
from dbt.adapters.vcs.core.model import NodeRun, Run
from dbt.adapters.vcs.core.model.tree import reused_nodes
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.workspace.run_branch import run_of


@dataclass(frozen=True, slots=True, kw_only=True)
class RunDetail:
    """The dbt run that a commit publishes.

    Attributes:
        invocation: dbt's invocation id.
        command: dbt's sub-command.
        target: Name of the profile target; empty if not known.
        dbt_version: Version of dbt-core; empty if not known.
        git_sha: Commit of the dbt project's own git repository, or None.
        seconds: Wall time in seconds until it was published; 0 if not known.
        head: Last commit of the run's own branch, which has the single steps.
        nodes: How each node ended.
    """

    invocation: str
    command: str
    target: str
    dbt_version: str
    git_sha: str | None
    started_at: datetime
    seconds: float
    head: CommitId | None
    nodes: tuple[NodeRun, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitDetail:
    """One commit.

    Attributes:
        parents: Its parents; two for a merge.
        names: Branches that point to it, and tags as `tag: <name>`.
        metadata: Extra metadata by name.
        run: The dbt run that it publishes, or None.
        run_branch: The run whose branch was requested; None if it is not a run's branch.
        since: The commit that the changes are relative to: for a run's branch, where the run
            started; otherwise the first parent; None for the first commit.
        changes: What changed since then.
    """

    id: CommitId
    parents: tuple[CommitId, ...]
    names: tuple[str, ...]
    author: str
    committed_at: datetime
    message: str
    metadata: Mapping[str, str]
    run: RunDetail | None
    run_branch: RunSummary | None
    since: CommitId | None
    changes: tuple[ChangeSummary, ...]


def show_commit(repository: Repository, revision: str) -> CommitDetail:
    """Return the commit of a revision; for the branch of a run, what the whole run changed.

    Raises:
        NotFoundError: There is no such revision.
        InputError: It is not a revision, or matches several commits.
    """
    id, ref = repository.resolve_ref(revision)
    commit = repository.objects.commit(id)
    work = run_of(ref) if isinstance(ref, Branch) else None
    # Decision 5: a run's branch has a commit for each node, and who names it means the whole run.
    since = work.fork if work else next(iter(commit.parents), None)
    return CommitDetail(
        id=id,
        parents=commit.parents,
        names=names_by_commit(repository, revision).get(id, ()),
        author=commit.author,
        committed_at=datetime_of(commit.committed_at),
        message=commit.message,
        metadata=commit.metadata,
        run=_run_detail(commit.run) if commit.run else None,
        run_branch=summarize_run(repository, work, repository.clock()) if work else None,
        since=since,
        changes=list_changes(repository, since, id),
    )


def _run_detail(run: Run) -> RunDetail:
    return RunDetail(
        invocation=run.invocation,
        command=run.command,
        target=run.target,
        dbt_version=run.dbt_version,
        git_sha=run.git_sha,
        started_at=datetime_of(run.started_at),
        seconds=run.seconds,
        head=run.head,
        nodes=run.nodes,
    )


_GOOD_NODES: Final = frozenset({"success", "pass"})
_BAD_NODES: Final = frozenset({"error", "fail", "runtime error"})


def _commit_text(commit: CommitDetail, now: datetime) -> Iterator[Block]:
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
        yield entry("    ", text)
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
            "Reused:  ", f"{reused:,} of {counted(total, 'node')}, {saved:.1f} s of work saved"
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


@verb(pages=True)
def show_command(session: CommandSession, revision: str | None = None) -> None:
    """Show a commit: its run, and what it changed.

    REVISION defaults to the branch in the dbt profile, else the default branch. For the branch of
    a run, shows what the whole run changed.
    """
    found = show_commit(session.repository, revision or session.shown)
    session.show(found, _commit_text(found, session.now))
