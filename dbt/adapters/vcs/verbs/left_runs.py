"""List and discard dbt runs that left a branch behind."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from dbt.adapters.vcs.core.errors import InputError, NotFoundError
from dbt.adapters.vcs.core.ids import CommitId, Micros, datetime_of
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.retention import read_retention
from dbt.adapters.vcs.runs import run_branch
from dbt.adapters.vcs.runs.run_branch import RunBranch


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSummary:
    """One run.

    Attributes:
        id: dbt's invocation id.
        branch: Name of its branch.
        status: `open`, `abandoned` (its process is gone), `failed`, `interrupted`, `passed`
            (waiting to be published), `published` or `resumed` (another run continued it).
        target: The branch that it publishes to.
        command: dbt's sub-command.
        started_at: When it started.
        head: The last commit of its branch.
        tested: True if tests passed on it.
        owner: `host:pid` of its process.
        note: Why it is not published.
        is_expired: True if its branch is older than the retention period.
    """

    id: str
    branch: str
    status: str
    target: str
    command: str
    started_at: datetime
    head: CommitId
    tested: bool
    owner: str
    note: str
    is_expired: bool


def list_runs(repository: Repository) -> list[RunSummary]:
    """Return the runs whose branch exists, newest first."""
    now = repository.clock()
    return [summarize_run(repository, run, now) for run in run_branch.runs(repository)]


def find_run(repository: Repository, id: str) -> RunBranch:
    """Return a run by its id, the start of its id, or its branch.

    Raises:
        NotFoundError: There is no such run.
        InputError: The start of an id matches several runs, or is empty.
    """
    if not id.removeprefix(run_branch.PREFIX):
        raise InputError("The run id is empty. Use one from: dbt-vcs runs list")
    return run_branch.find_run(repository, id)


def discard_run(
    repository: Repository, id: str, *, author: str, force: bool = False
) -> RunSummary:
    """Delete the branch of a run, given by its id, the start of its id, or its branch.

    What it published is kept.

    Raises:
        NotFoundError: There is no such run.
        InputError: The start of an id matches several runs.
        ConflictError: The run is still running, and `force` is not set.
    """
    run = find_run(repository, id)
    run_branch.discard(repository, run, author=author, force=force)
    return summarize_run(repository, run, repository.clock())


def discard_expired(repository: Repository, *, author: str) -> list[RunSummary]:
    """Delete the branches of all runs older than the retention period, and return these runs."""
    gone = []
    keep = read_retention(repository).keep
    for run in run_branch.runs(repository):
        now = repository.clock()
        if not run_branch.is_expired(repository, run, now, keep):
            continue
        summary = summarize_run(repository, run, now)
        try:
            run_branch.discard(repository, run, author=author)
        except NotFoundError:
            # Another process discarded it in the meantime.
            continue
        gone.append(summary)
    return gone


def summarize_run(repository: Repository, run: RunBranch, now: Micros) -> RunSummary:
    """Return the summary of a run."""
    return RunSummary(
        id=run.invocation,
        branch=run.name,
        status="abandoned" if run.is_abandoned(now) else str(run.status),
        target=run.target,
        command=run.command,
        started_at=datetime_of(run.started_at),
        head=run.head,
        tested=run.tested,
        owner=run.owner,
        note=run.note,
        is_expired=run_branch.is_expired(repository, run, now, read_retention(repository).keep),
    )
