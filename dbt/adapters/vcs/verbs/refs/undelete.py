"""Undelete: restore a deleted branch."""

from __future__ import annotations

from dbt.adapters.vcs.core.collection import EXPIRED
from dbt.adapters.vcs.core.errors import InputError, NotFoundError
from dbt.adapters.vcs.core.repository import Branch, Repository
from dbt.adapters.vcs.core.retention import hold_commit


def undelete_branch(repository: Repository, name: str, *, author: str) -> Branch:
    """Restore a deleted branch, with its last commit and its metadata.

    Raises:
        InputError: It exists.
        NotFoundError: It never existed, or its rows have been garbage-collected.
        RetryError: A garbage collection is running.
    """
    if repository.find_branch(name) is not None:
        raise InputError(f"The branch {name!r} exists. Only a deleted branch can be undeleted.")
    moves = repository.refs.log("heads", name)
    last = next((ref for ref in moves if ref.move.commit is not None), None)
    if last is None or last.move.commit is None:
        repository.branch(name)
        raise NotFoundError(f"There never was a branch {name!r}.")
    commit = last.move.commit
    if moves[0].move.note == EXPIRED:
        raise NotFoundError(
            f"The branch {name!r} of a dbt run was older than the retention period and was "
            "collected on expiry. Run the same command again."
        )
    hold_commit(repository, commit, author=author)
    return repository.create_branch(
        name, commit, author=author, note="undelete", state=last.move.state, check=False
    )
