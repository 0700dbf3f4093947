"""`dbt-vcs runs`: list, discard and publish runs of dbt."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Final

import click

from dbt.adapters.vcs.commands.layout import Block, Grid, Span, Style, age, line
from dbt.adapters.vcs.commands.session import CommandSession
from dbt.adapters.vcs.commands.verb import Option, check_only, verb, verbs
from dbt.adapters.vcs.core.errors import NotFoundError, ProtectedError, VcsError
from dbt.adapters.vcs.core.ids import CommitId, Micros, datetime_of
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.retention import read_retention
from dbt.adapters.vcs.workspace import run_branch
from dbt.adapters.vcs.workspace.run_branch import RunBranch, Status, find_run


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


def discard_run(
    repository: Repository, id: str, *, author: str, force: bool = False
) -> RunSummary:
    """Delete the branch of a run, given by its id, the start of its id, or its branch.

    What it published is kept.

    Raises:
        NotFoundError: There is no such run.
        InputError: The start of an id matches several runs, or is empty.
        ConflictError: The run is still running, and `force` is not set.
    """
    run = find_run(repository, id)
    # First its parts: without it nobody would find them.
    # Imported here: listing runs, which is far more common, deletes none.
    from dbt.adapters.vcs.workspace.shared_run import parts_of

    for part in parts_of(repository, run) if run.is_shared else ():
        run_branch.discard(repository, part, author=author, force=force)
    run_branch.discard(repository, run, author=author, force=force or run.is_shared)
    return summarize_run(repository, run, repository.clock())


def discard_expired(repository: Repository, *, author: str) -> list[RunSummary]:
    """Delete the branches of all runs older than the retention period, and return these runs."""
    gone = []
    keep = read_retention(repository).keep
    for run in run_branch.runs(repository):
        now = repository.clock()
        if not run_branch.is_expired(repository, run, now, keep):
            continue
        # Before it is discarded, since its branch tells its age.
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


def _discarded_text(runs: Sequence[RunSummary]) -> Iterator[Block]:
    for run in runs:
        yield line("Discarded ", Span(run.branch, "name"), f" ({run.status}).")
    if not runs:
        yield line("No run has expired.")


@verbs()
def runs_command() -> None:
    """List, discard and publish runs of dbt.

    Without a command: list them. RUN is a run's invocation id, its first digits, or its branch.
    """


@verb(runs_command)
def runs_list(session: CommandSession) -> None:
    """List runs, newest first."""
    found = list_runs(session.repository)
    session.show(found, runs_text(found, session.now))


def _check_discard(*, id: tuple[str, ...], expired: bool, **_: object) -> None:
    if bool(id) == expired:
        raise click.UsageError("Give the runs to discard, or --expired.")
    if expired:
        check_only("--expired", "expired")


@verb(runs_command, prints_json=False, check=_check_discard)
def runs_discard(
    session: CommandSession,
    id: Annotated[tuple[str, ...], Option(metavar="[RUN]...")] = (),
    *,
    expired: Annotated[bool, "All runs older than the retention period."] = False,
    force: Annotated[bool, "Also a run that is still running."] = False,
) -> None:
    """Delete the branches of runs.

    What they published is kept.
    """
    if expired:
        session.say(_discarded_text(discard_expired(session.repository, author=session.author)))
    for item in id:
        gone = discard_run(session.repository, item, author=session.author, force=force)
        session.say(_discarded_text([gone]))


@verb(runs_command)
def runs_publish(
    session: CommandSession,
    id: Annotated[str, Option(metavar="RUN")],
    *,
    force: Annotated[bool, "Also publish a run that failed or is still running."] = False,
) -> None:
    """Merge a run into its target.

    The target is the branch that the run was started for; it gets one commit.
    """
    publish_run(session, find_run(session.repository, id), force=force)


def publish_run(session: CommandSession, run: RunBranch, *, force: bool = False) -> None:
    """Merge a run into its target, and show what that did.

    A shared run is closed first, so that no command adds to it any more.

    Raises:
        ConflictError: It did not succeed, and `force` is not set; or the merge conflicts.
        VcsError: It could not be merged; a shared run can be joined again then.
    """
    # Imported here: listing runs, which is far more common, doesn't need the code that merges.
    from dbt.adapters.vcs.changes.merges.conflicts.open_merges import open_merges
    from dbt.adapters.vcs.changes.merges.conflicts.policy import OnStale
    from dbt.adapters.vcs.commands.merge import MergeRequest, noted_merge
    from dbt.adapters.vcs.commands.merge_report import merge_text
    from dbt.adapters.vcs.workspace.shared_run import close_run, reopen_run

    repository, author = session.repository, session.author
    closes = run.is_shared and run.status in (Status.OPEN, Status.PASSED)
    if closes:
        # What `fail` and `heal` refuse of a run's own tables: they can't be computed again here.
        fresh = session.rules.on_stale is not OnStale.WARN
        run = close_run(repository, run, author=author, force=force, fresh=fresh)
    try:
        report = noted_merge(
            session,
            run.name,
            session.bound(run.target),
            # Decision 31: what a run did is known to its own process only, so nothing is healed.
            MergeRequest(
                policy=session.policy(None),
                force=force,
                on_stale=session.rules.on_stale,
                contracts=session.rules.contracts_on(repository, run.target),
            ),
        )
    except VcsError as error:
        # A promotion takes a closed run only, and so does the merge whose conflicts wait.
        waits = isinstance(error, ProtectedError) or any(
            item.source == run.name for item in open_merges(repository)
        )
        if closes and not waits:
            reopen_run(repository, run, author=author)
        raise
    session.show(report, merge_text(report))
