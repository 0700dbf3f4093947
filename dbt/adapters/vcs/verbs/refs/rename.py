"""Rename a branch or a tag."""

from __future__ import annotations

from dataclasses import replace

from dbt.adapters.vcs.core.errors import ConflictError, InputError, ProtectedError
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.merges.conflicts.open_merges import open_merge_of, open_merges
from dbt.adapters.vcs.runs.run_branch import RunBranch, Status, run_of, runs
from dbt.adapters.vcs.verbs.refs.branch import BranchSummary, find_branch
from dbt.adapters.vcs.verbs.refs.tag import TagSummary, find_tag
from dbt.adapters.vcs.verbs.revision_names import check_free, check_unreserved


def rename_branch(repository: Repository, name: str, new: str, *, author: str) -> BranchSummary:
    """Rename a branch; runs that are waiting to be published to it follow.

    Nothing is copied. The reflog stays under the old name: `<old>@{1}` reads it if a branch of
    that name is created again, and times before the renaming are looked up there.

    Raises:
        NotFoundError: It is not there.
        InputError: It is the default branch, or the branch of a run or of a merge; or the new name
            is taken or not allowed.
        ProtectedError: It is protected.
        ConflictError: A run for it is still running, or a merge into it is waiting for its
            conflicts.
        RetryError: Others changed both names in the meantime.
    """
    check_free(repository, "branch", new)
    waiting = _waiting(repository, name)
    repository.rename("heads", name, new, author=author)
    for run in waiting:
        repository.set_state(run.name, replace(run, target=new).state, author=author)
    return find_branch(repository, new)


def rename_tag(repository: Repository, name: str, new: str, *, author: str) -> TagSummary:
    """Rename a tag.

    Raises:
        NotFoundError: It is not there.
        InputError: The new name is taken or not allowed.
        ProtectedError: It is protected.
    """
    check_free(repository, "tag", new)
    repository.rename("tags", name, new, author=author)
    return find_tag(repository, new)


def _waiting(repository: Repository, name: str) -> list[RunBranch]:
    """Check that a branch can be renamed, and return the runs to be published to it."""
    branch = repository.branch(name)
    if name == repository.default_branch:
        raise InputError(
            f"The branch {name!r} is the repository's default branch and can't be renamed: other "
            "branches start from it. Create a branch with the new name there instead: "
            "dbt-vcs branch create <name>"
        )
    if branch.protection is not None:
        raise ProtectedError(
            f"The branch {name!r} is protected and can't be renamed. Lift the protection first: "
            f"dbt-vcs branch unprotect {name}"
        )
    if run_of(branch) is not None or open_merge_of(branch) is not None:
        check_unreserved("branch", name)
    if any(merge.target == name for merge in open_merges(repository)):
        raise ConflictError(
            f"A merge into {name!r} is waiting for its conflicts to be resolved. Finish it, or "
            f"abort it: dbt-vcs merge --abort {name}"
        )
    found = [run for run in runs(repository) if run.target == name]
    now = repository.clock()
    for run in found:
        if run.status is Status.OPEN and not run.is_abandoned(now):
            raise ConflictError(
                f"The run {run.invocation} for {name!r} is still running ({run.owner}). Wait for "
                "it, or stop it."
            )
    return found
