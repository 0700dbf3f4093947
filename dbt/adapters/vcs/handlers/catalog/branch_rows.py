"""Branch rows: the branches of a repository as rows of `vcs.branches`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dbt.adapters.vcs.core.errors import DamagedError
from dbt.adapters.vcs.core.ids import CommitId
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.runs.run_branch import run_of
from dbt.adapters.vcs.worktree.overlay import Overlay

Row = tuple[Any, ...]


def branch_rows(overlay: Overlay) -> Iterator[Row]:
    """Yield the rows of `vcs.branches`; a damaged branch is one, with what is wrong with it."""
    repository = overlay.repository
    damages: list[DamagedError] = []
    branches = repository.branches(damages.append)
    if damages:
        yield from _damaged_branches(repository, {branch.name for branch in branches})
    for branch in branches:
        run = run_of(branch)
        try:
            commit = repository.objects.commit(branch.head)
        except DamagedError as error:
            yield _damaged_branch(repository, branch.name, branch.head, error)
            continue
        yield (
            branch.name,
            branch.head,
            commit.author,
            commit.committed_at,
            commit.message,
            branch.name == repository.default_branch,
            run is not None,
            branch.ref.move.by,
            branch.ref.move.at,
            branch.ref.move.action,
        )


def _damaged_branches(repository: Repository, whole: set[str]) -> Iterator[Row]:
    """Yield the branches whose logs are damaged: a row is seen where an error would hide all."""
    for name in repository.refs.names("heads"):
        if name not in whole:
            try:
                # Else it was deleted.
                repository.find_branch(name)
            except DamagedError as error:
                yield _damaged_branch(repository, name, None, error)


def _damaged_branch(
    repository: Repository, name: str, head: CommitId | None, error: DamagedError
) -> Row:
    is_default = name == repository.default_branch
    return (name, head, None, None, str(error), is_default, False, None, None, "damaged")
