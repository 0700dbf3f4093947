"""Undelete: a branch that was deleted, made again where it was."""

from __future__ import annotations

from dbt.adapters.vcs.core.collection import EXPIRED
from dbt.adapters.vcs.core.errors import InputError, NotFoundError
from dbt.adapters.vcs.core.repository import Branch, Repository
from dbt.adapters.vcs.core.retention import hold_commit


def undelete_branch(repository: Repository, name: str, *, author: str) -> Branch:
    """Make a deleted branch again, with its last commit and what it carried along.

    Raises:
        InputError: It is there.
        NotFoundError: It never was, or its rows have been collected.
        RetryError: A collection is at work.
    """
    if repository.find_branch(name) is not None:
        raise InputError(f"The branch {name!r} is there. Only a deleted one can be undeleted.")
    moves = repository.refs.log("heads", name)
    last = next((ref for ref in moves if ref.move.commit is not None), None)
    if last is None or last.move.commit is None:
        repository.branch(name)
        raise NotFoundError(f"There never was a branch {name!r}.")
    commit = last.move.commit
    if moves[0].move.note == EXPIRED:
        raise NotFoundError(
            f"The branch {name!r} of a dbt run had outlived the retention and was collected on "
            "its expiry. Run the same command again."
        )
    hold_commit(repository, commit, author=author)
    return repository.create_branch(
        name, commit, author=author, note="undelete", state=last.move.state, check=False
    )
