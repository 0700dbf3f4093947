"""Shared runs: one run of many dbt commands, which are published together.

A shared run is a branch `runs/<id>` that a command begins and another ends. Each dbt command that
joins it has this branch as its target, so it builds on what earlier commands of the run did, and
lands there when it ends; what the run is for sees nothing of it. Commands may run side by side, on
any machine: they land as runs on any branch do. Beside its changes, each leaves the results of its
nodes, since what a run is worth is decided when it is published: by the last result of each node.
Before it builds anything it announces its nodes, so that one that was killed is missed.
"""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from shlex import quote
from typing import Final

from dbt.adapters.vcs.core.branches import Branch
from dbt.adapters.vcs.core.errors import ConflictError, InputError, NotFoundError, listed
from dbt.adapters.vcs.core.model import NodeRun, RelationName, Run
from dbt.adapters.vcs.core.origins.staleness import stale_among
from dbt.adapters.vcs.core.repository import BranchMovedError, Proposal, Repository
from dbt.adapters.vcs.core.tree_changes import TreeEntries
from dbt.adapters.vcs.core.turns import attempts
from dbt.adapters.vcs.variables import RUN
from dbt.adapters.vcs.workspace.run_branch import (
    FAILED,
    PENDING,
    PREFIX,
    UNDONE,
    RunBranch,
    Status,
    announced_and_ended,
    run_of,
    runs,
    steps_of,
    undone_nodes,
)

_SHOWN: Final = 10


def begin_run(repository: Repository, target: str, *, author: str) -> RunBranch:
    """Begin a shared run for a branch.

    Raises:
        NotFoundError: There is no such branch.
        InputError: It is the branch of a run.
    """
    branch = repository.branch(target)
    if run_of(branch) is not None:
        raise InputError(
            f"{target!r} is the branch of a run. Name the branch that the new run is for: "
            f"dbt-vcs run begin --branch {quote(repository.default_branch)}"
        )
    now = repository.clock()
    run = RunBranch(
        invocation=str(uuid.uuid4()),
        status=Status.OPEN,
        target=target,
        fork=branch.head,
        head=branch.head,
        command="run",
        started_at=now,
        alive_until=now,
        is_shared=True,
    )
    repository.create_branch(
        run.name, run.head, author=author, note=f"for {target}", state=run.state
    )
    return run


def joined_run(repository: Repository, id: str) -> RunBranch:
    """Return the shared run with an id, which commands may still join.

    Raises:
        NotFoundError: There is none.
        ConflictError: It has ended.
    """
    branch = repository.find_branch(PREFIX + id)
    run = None if branch is None else run_of(branch)
    if branch is None or run is None or not run.is_shared:
        raise NotFoundError(
            f"{RUN} is {id!r}, and there is no such run: it was discarded, or belongs to another "
            f"repository, {repository.uri}. Begin one: dbt-vcs run begin; or unset {RUN}."
        )
    check_joinable(branch)
    return run


def check_joinable(branch: Branch) -> None:
    """Refuse work on the branch of a shared run that has ended.

    Raises:
        ConflictError: It has.
    """
    run = run_of(branch)
    if run is not None and run.is_shared and run.status is not Status.OPEN:
        told = "is being published" if run.status is Status.PASSED else f"is {run.status}"
        raise ConflictError(
            f"The run {run.invocation} {told}, so nothing can be added to it. Begin another: "
            f"dbt-vcs run begin --branch {quote(run.target)}"
        )


def note_undone(
    repository: Repository, run: str, nodes: Iterable[NodeRun], *, author: str
) -> None:
    """Mark a shared run as one in which something failed, if a node did or was left out.

    To be called before the results land: later commands look at results of a marked run only,
    since they may be many.
    """
    if any(node.status in FAILED | UNDONE for node in nodes):
        _change(repository, run, author, lambda found: replace(found, has_failures=True))


def undone_before(repository: Repository, run: str) -> frozenset[str]:
    """Return the ids of the nodes that failed or were left out the last time in a shared run."""
    found = run_of(repository.branch(run))
    if found is None or not found.has_failures:
        return frozenset()
    last = {node.id: node.status for node in steps_of(repository, found)}
    return frozenset(id for id, status in last.items() if status in FAILED | UNDONE)


def put_results(repository: Repository, run: str, record: Run, message: str, author: str) -> None:
    """Add results of nodes that changed nothing, or that are announced, to a shared run's branch.

    Raises:
        ConflictError: The run has ended.
        RetryError: Other commands were first on every attempt.
    """
    note_undone(repository, run, record.nodes, author=author)
    with repository.turns.on(run) as turn:
        for _ in turn.attempts(f"record results on {run}"):
            branch = repository.branch(run)
            check_joinable(branch)
            try:
                repository.land(
                    Proposal(
                        branch=run,
                        base=branch.head,
                        tree=repository.tree(branch.head).id,
                        author=author,
                        message=message,
                        run=record,
                        allow_empty=True,
                        # Whoever closes the run counts the results that are on it then.
                        after=branch.ref,
                    )
                )
            except BranchMovedError:
                continue
            return


def check_succeeded(repository: Repository, run: RunBranch, *, fresh: bool = True) -> None:
    """Check that a shared run may be published.

    Args:
        repository: The repository.
        run: The run.
        fresh: Also check that no node read what the run built again afterwards.

    Raises:
        ConflictError: The last result of some node is a failure, or that it was left out, or the
            command that announced it has not ended; or a table of the run was made from what is
            not shown any more; or a command of the run is still running.
        RetryError: A purge is rewriting what the run did.
    """
    # One may have done so since the run was read.
    run = _now(repository, run)
    with repository.maintenance.told(run.head):
        _check_nodes(repository, run, fresh=fresh)
    now = repository.clock()
    at_work = [
        item
        for item in parts_of(repository, run)
        if item.status is Status.OPEN and not item.is_abandoned(now)
    ]
    if at_work:
        told = listed([f"dbt {item.command} ({item.owner})" for item in at_work], _SHOWN)
        raise ConflictError(
            f"The run {run.invocation} is not published, since commands of it are still running: "
            f"{told}. {run.target!r} is unchanged. Wait for them, then: dbt-vcs run publish "
            f"{quote(run.invocation)}"
        )


def _check_nodes(repository: Repository, run: RunBranch, *, fresh: bool) -> None:
    undone = undone_nodes(repository, run)
    failed = [f"{node.id} ({node.status})" for node in undone if node.status != PENDING]
    if failed:
        raise ConflictError(
            f"The run {run.invocation} is not published, since the last result of these is not a "
            f"success: {listed(failed, _SHOWN)}. {run.target!r} is unchanged. Run them again with "
            f"{RUN}={run.invocation}, then: dbt-vcs run publish {quote(run.invocation)}"
        )
    if undone:
        # A killed command says nothing more, and leaves no lease if it had not landed anything.
        nodes = listed([node.id for node in undone], _SHOWN)
        raise ConflictError(
            f"The run {run.invocation} is not published, since commands of it that were to build "
            f"these have not ended: {nodes}. {run.target!r} is unchanged. Wait for those that "
            f"still run, and run those that were killed again with {RUN}={run.invocation}, "
            f"then: dbt-vcs run publish {quote(run.invocation)}. To publish what the others did: "
            f"dbt-vcs run publish {quote(run.invocation)} --force"
        )
    outdated = outdated_tables(repository, run) if fresh else []
    if outdated:
        tables = listed(list(map(str, outdated)), _SHOWN)
        raise ConflictError(
            f"The run {run.invocation} is not published, since it built these before what they "
            f"read was built again: {tables}. {run.target!r} is unchanged. Build them again with "
            f"{RUN}={run.invocation}, then: dbt-vcs run publish {quote(run.invocation)}"
        )


def outdated_tables(repository: Repository, run: RunBranch) -> list[RelationName]:
    """Return the tables of a shared run that it made from what it built again afterwards.

    Each comes after those that it was made from. Of what a run built once, a table shows the
    version that the run chose to show it, whatever the order of its commands.
    """
    nodes = announced_and_ended(repository, run)
    begun = Counter(node.id for node in nodes if node.status == PENDING)
    results = Counter((node.id, node.relation) for node in nodes if node.status != PENDING)
    again = {
        RelationName.of(relation)
        for (id, relation), times in results.items()
        # A command that was killed and repeated leaves one result of the two.
        if relation is not None and max(times, begun[id]) > 1
    }
    if not again:
        return []
    changed = [item.name for item in repository.diff(run.fork, run.head).relations]
    found: list[RelationName] = []
    for stale in stale_among(repository, TreeEntries(repository.tree(run.head)), changed):
        if {item.relation for item in stale.moved} & again or {*stale.through} & {*found}:
            found.append(stale.relation)
    return found


def close_run(
    repository: Repository,
    run: RunBranch,
    *,
    author: str,
    force: bool = False,
    fresh: bool = True,
) -> RunBranch:
    """Let nobody join a shared run any more, and return it; it may be published now.

    A run that is closed already, since its publication was stopped, is checked again; `fresh` is
    as in `check_succeeded`. With `force`, nothing is checked. One that another process has
    published meanwhile is returned as it is.

    Raises:
        NotFoundError: Another process has discarded it.
        ConflictError: It did not succeed; it stays open then.
    """
    if run.status is Status.OPEN:
        if not force:
            check_succeeded(repository, run, fresh=fresh)
        _change_status(repository, run, Status.OPEN, Status.PASSED, author)
    # A command may have landed between the check and the closing. From here on none does.
    closed = _now(repository, run)
    if force or closed.status is Status.PUBLISHED:
        return closed
    try:
        check_succeeded(repository, closed, fresh=fresh)
    except ConflictError:
        reopen_run(repository, closed, author=author)
        raise
    return closed


def reopen_run(repository: Repository, run: RunBranch, *, author: str) -> None:
    """Let commands join a shared run that could not be published, if it is still closed."""
    # Another process may have published or discarded it meanwhile.
    if repository.find_branch(run.name) is not None:
        _change_status(repository, run, Status.PASSED, Status.OPEN, author)


def parts_of(repository: Repository, run: RunBranch) -> list[RunBranch]:
    """Return the runs of the commands that joined a shared run, whose branches exist."""
    return [item for item in runs(repository) if item.target == run.name]


def _now(repository: Repository, run: RunBranch) -> RunBranch:
    found = run_of(repository.branch(run.name))
    assert found is not None
    return found


def _change_status(
    repository: Repository, run: RunBranch, old: Status, new: Status, author: str
) -> None:
    """Give a run another status, unless it doesn't have the old one any more.

    Two processes may publish a run, and one that was published must not be opened again by the
    other.
    """
    _change(
        repository,
        run.name,
        author,
        lambda found: replace(found, status=new) if found.status is old else found,
    )


def _change(
    repository: Repository, run: str, author: str, change: Callable[[RunBranch], RunBranch]
) -> None:
    """Change the state of a run in one step, which compares and writes."""
    for _ in attempts(f"change the status of {run}"):
        branch = repository.branch(run)
        found = run_of(branch)
        if found is None or (changed := change(found)) == found:
            return
        state = changed.state
        if repository.move_branch(branch, branch.head, author=author, action="state", state=state):
            return
    raise AssertionError("attempts raises when it ends")


def fail_run(repository: Repository, run: RunBranch, note: str, *, author: str) -> RunBranch:
    """End a shared run that is not to be published, and return it; its branch keeps what it did.

    One that has been published meanwhile stays as it is.

    Raises:
        NotFoundError: It has been discarded.
    """
    ended = repository.clock()

    def failed(found: RunBranch) -> RunBranch:
        if found.status in (Status.PASSED, Status.PUBLISHED):
            return found
        return replace(found, status=Status.FAILED, note=note, ended_at=ended)

    _change(repository, run.name, author, failed)
    return _now(repository, run)
