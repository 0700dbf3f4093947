"""Run steps: the single commits of a dbt run that was published as one."""

from __future__ import annotations

from contextlib import suppress

from dbt.adapters.vcs.core.errors import DamagedError
from dbt.adapters.vcs.core.ids import CommitId
from dbt.adapters.vcs.core.repository import Repository


def steps_of_published(repository: Repository, published: CommitId) -> list[CommitId]:
    """Return the steps of the run that a commit publishes, newest first.

    The last one is the commit that the run started from. Nothing is returned if it publishes none,
    or if the run's branch and its steps have been collected.
    """
    commit = repository.objects.commit(published)
    if commit.run is None or commit.run.head is None or not commit.parents:
        return []
    steps = [commit.run.head]
    with suppress(DamagedError):
        while not repository.is_ancestor(steps[-1], commit.parents[0]):
            parents = repository.objects.commit(steps[-1]).parents
            if not parents:
                return []
            steps.append(parents[0])
        return steps if len(steps) > 1 else []
    return []
