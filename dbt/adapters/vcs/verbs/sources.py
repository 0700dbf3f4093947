"""Sources: commits to start or merge from, which must not come from a failed run by accident."""

from __future__ import annotations

from collections.abc import Iterator

from dbt.adapters.vcs.core.errors import ConflictError
from dbt.adapters.vcs.core.ids import CommitId
from dbt.adapters.vcs.core.repository import Branch, Repository
from dbt.adapters.vcs.merges.conflicts.open_merges import open_merge_of
from dbt.adapters.vcs.runs.run_branch import RunBranch, Status, check_mergeable, run_of, runs
from dbt.adapters.vcs.verbs.revision_names import named_branch

_GOOD = (Status.PASSED, Status.PUBLISHED)


def resolve_source(repository: Repository, revision: str, *, force: bool = False) -> CommitId:
    """Return the commit of a revision to merge or start from.

    The commits of a run that failed or is still running are refused under any name: its branch,
    `<branch>~1`, a tag, a hash. They are accepted once an ordinary branch contains them, which
    requires force.

    Raises:
        NotFoundError: There is no such revision.
        ConflictError: It belongs to a run that did not succeed, and `force` is not set.
    """
    commit = repository.resolve(revision)
    branch = named_branch(repository, revision)
    if force:
        return commit
    if branch is not None:
        _check_no_conflicts(branch)
        check_mergeable(repository, branch.name)
        if run_of(branch) is None:
            return commit
    for run in runs(repository):
        if run.status in _GOOD or commit not in _steps(repository, run):
            continue
        if not _is_taken(repository, commit):
            check_mergeable(repository, run.name)
    return commit


def _check_no_conflicts(branch: Branch) -> None:
    if open_merge_of(branch) is not None:
        raise ConflictError(
            f"{branch.name!r} holds the conflicts of a merge, and can't be merged or "
            "branched from. Resolve them, then: dbt-vcs merge --continue"
        )


def _steps(repository: Repository, run: RunBranch) -> Iterator[CommitId]:
    """Yield the commits of a run, newest first."""
    commit = run.head
    while commit != run.fork:
        yield commit
        parents = repository.objects.commit(commit).parents
        if not parents:
            return
        commit = parents[0]


def _is_taken(repository: Repository, commit: CommitId) -> bool:
    return any(
        run_of(branch) is None and repository.merge_base(commit, branch.head) == commit
        for branch in repository.branches()
    )
