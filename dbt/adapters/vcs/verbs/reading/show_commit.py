"""Show: one commit, the dbt run that it publishes, and what it changed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from dbt.adapters.vcs.core.ids import CommitId, datetime_of
from dbt.adapters.vcs.core.model import NodeRun, Run
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.diffs.change_summary import ChangeSummary
from dbt.adapters.vcs.diffs.summaries import list_changes
from dbt.adapters.vcs.runs.run_branch import run_of
from dbt.adapters.vcs.verbs.left_runs import RunSummary, summarize_run
from dbt.adapters.vcs.verbs.revision_names import named_branch, names_by_commit


@dataclass(frozen=True, slots=True, kw_only=True)
class RunDetail:
    """The dbt run that a commit publishes.

    Attributes:
        invocation: dbt's invocation id.
        command: dbt's sub-command.
        target: Name of the profile target; empty if not known.
        dbt_version: Version of dbt-core; empty if not known.
        git_sha: Commit of the dbt project's own git repository, or None.
        started_at: When the run started.
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
        id: Its id.
        parents: Its parents; two for a merge.
        names: Branches that point to it, and tags as `tag: <name>`.
        author: Who made it.
        committed_at: When.
        message: The whole message.
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
    id = repository.resolve(revision)
    commit = repository.objects.commit(id)
    branch = named_branch(repository, revision)
    work = run_of(branch) if branch is not None else None
    since = work.fork if work else next(iter(commit.parents), None)
    return CommitDetail(
        id=id,
        parents=commit.parents,
        names=names_by_commit(repository).get(id, ()),
        author=commit.author,
        committed_at=datetime_of(commit.committed_at),
        message=commit.message,
        metadata=commit.metadata,
        run=_run(commit.run) if commit.run else None,
        run_branch=summarize_run(repository, work, repository.clock()) if work else None,
        since=since,
        changes=list_changes(repository, since, id),
    )


def _run(run: Run) -> RunDetail:
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
