"""The target branch of a profile, which the first run creates."""

from __future__ import annotations

from collections.abc import Callable

from dbt.adapters.vcs.commands.revisions import check_free
from dbt.adapters.vcs.core.branches import Branch
from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.credentials import VcsCredentials
from dbt.adapters.vcs.workspace.run_branch import PREFIX, check_mergeable


def make_target(
    repository: Repository, credentials: VcsCredentials, author: str, say: Callable[[str], None]
) -> None:
    """Create the target branch from its base, unless it exists; `say` tells the user.

    Raises:
        InputError: The name is that of a run's branch, or not allowed.
        NotFoundError: There is no base.
    """
    target, base = credentials.branch, credentials.base
    if target.startswith(PREFIX):
        raise InputError(
            f"branch: {target} is the branch of a run, which dbt manages itself. Use a "
            f"branch of your own; base: {target} starts it from the result of the run."
        )
    if repository.find_branch(target) is not None:
        return
    check_free(repository, "branch", target)
    check_mergeable(repository, base)
    repository.create_branch(
        target, repository.branch(base).head, author=author, note=f"from {base}"
    )
    say(f"Created branch {target} from {base}.")


def shown_branch(repository: Repository, credentials: VcsCredentials) -> Branch:
    """Return the branch to read: the target, or the branch that it would be created from.

    Raises:
        NotFoundError: There is neither, nor a default branch.
    """
    return (
        repository.find_branch(credentials.branch)
        or repository.find_branch(credentials.base)
        or repository.branch(repository.default_branch)
    )
