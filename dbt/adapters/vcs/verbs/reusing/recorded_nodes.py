"""Recorded nodes: how nodes ended in the runs that a repository has a record of."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from dbt.adapters.vcs.core.ids import Micros
from dbt.adapters.vcs.core.model import Commit, NodeRun
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.runs.run_branch import commits_of, runs

_EVER: Final = Micros(0)


class RecordedNode(NamedTuple):
    """How one node ended in one run.

    Attributes:
        node: How it ended.
        invocation: dbt's invocation id.
        command: dbt's sub-command.
        branch: The branch that the run was for.
        at: When it was committed.
    """

    node: NodeRun
    invocation: str
    command: str
    branch: str
    at: Micros


def recorded_nodes(
    repository: Repository, branch: str, *, since: Micros = _EVER
) -> Iterator[RecordedNode]:
    """Yield the nodes in the history of a branch and in the branches of runs, each once a run.

    A run leaves a record if it changed something or ran a test. Those of runs on other branches
    come first, otherwise the newest does.

    Args:
        repository: The repository.
        branch: The branch.
        since: What is older is left out.

    Raises:
        NotFoundError: There is no such branch.
    """
    seen: set[tuple[str, str]] = set()
    for found in _all(repository, branch, since):
        key = (found.invocation, found.node.id)
        if key not in seen:
            seen.add(key)
            yield found


def _all(repository: Repository, branch: str, since: Micros) -> Iterator[RecordedNode]:
    for run in runs(repository):
        for commit in commits_of(repository, run):
            if commit.committed_at >= since:
                yield from _nodes(commit, run.target)
    for _, commit in repository.log(repository.resolve(branch)):
        if commit.committed_at < since:
            return
        yield from _nodes(commit, branch)


def _nodes(commit: Commit, branch: str) -> Iterator[RecordedNode]:
    if commit.run is None:
        return
    for node in commit.run.nodes:
        yield RecordedNode(
            node, commit.run.invocation, commit.run.command, branch, commit.committed_at
        )
