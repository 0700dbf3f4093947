"""List, create, delete and protect branches."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Final, NamedTuple

from dbt.adapters.vcs.core.collection import EXPIRED
from dbt.adapters.vcs.core.errors import DamagedError, InputError, NotFoundError
from dbt.adapters.vcs.core.ids import CommitId, datetime_of
from dbt.adapters.vcs.core.repository import DEMANDS, Branch, Protection, Repository
from dbt.adapters.vcs.core.retention import hold_commit
from dbt.adapters.vcs.core.store.each import each
from dbt.adapters.vcs.merges.conflicts.open_merges import open_merge_of
from dbt.adapters.vcs.runs.run_branch import discard, run_of
from dbt.adapters.vcs.verbs.revision_names import check_free, named_branch
from dbt.adapters.vcs.verbs.sources import resolve_source

_AT_ONCE: Final = 64
"""Number of branches whose histories are read together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchSummary:
    """One branch.

    Attributes:
        name: Its name.
        head: The commit that it points to.
        author: Who made that commit.
        committed_at: When.
        summary: First line of that commit's message.
        is_default: True for the branch that others start from.
        is_run: True for the branch of a dbt run.
        ahead: Number of commits that it has and the default branch lacks; None if too many to
            count.
        behind: Number of commits that the default branch has and it lacks; None if too many to
            count.
        is_protected: True if it accepts only promotions.
        require: What it requires of promotions.
    """

    name: str
    head: CommitId
    author: str
    committed_at: datetime
    summary: str
    is_default: bool
    is_run: bool
    ahead: int | None
    behind: int | None
    is_protected: bool = False
    require: tuple[str, ...] = ()


def list_branches(
    repository: Repository, tell: Callable[[str], None] | None = None, *, with_runs: bool = False
) -> list[BranchSummary]:
    """Return the branches by name; those of runs and waiting merges only if requested.

    Raises:
        DamagedError: A branch is damaged. With `tell`, it is told instead and left out.
    """
    return list(iter_branches(repository, tell, with_runs=with_runs))


def iter_branches(
    repository: Repository, tell: Callable[[str], None] | None = None, *, with_runs: bool = False
) -> Iterator[BranchSummary]:
    """Yield what `list_branches` returns; reads few commits before it yields the first."""

    def damaged(error: DamagedError) -> None:
        if tell is None:
            raise error
        tell(str(error))

    branches = [
        branch
        for branch in repository.branches(damaged)
        if with_runs or (run_of(branch) is None and open_merge_of(branch) is None)
    ]
    trunk = repository.branch(repository.default_branch).head

    def summary(branch: Branch) -> BranchSummary | DamagedError:
        try:
            return _summary(repository, branch, trunk)
        except DamagedError as error:
            return DamagedError(f"The branch {branch.name!r} is damaged. {error}")

    reader = iter(branches)
    while some := list(islice(reader, _AT_ONCE)):
        for found in each(summary, some):
            if isinstance(found, DamagedError):
                damaged(found)
            else:
                yield found


def create_branch(
    repository: Repository,
    name: str,
    at: str | None = None,
    *,
    author: str,
    force: bool = False,
) -> BranchSummary:
    """Create a branch at a revision, by default at the default branch.

    Raises:
        InputError: The name is taken, invalid, or reserved for dbt runs or merges.
        NotFoundError: There is no such revision, or its rows have been garbage-collected.
        ConflictError: The revision belongs to a run that did not succeed, and `force` is not set.
    """
    check_free(repository, "branch", name)
    start = repository.default_branch if at is None else at
    commit = resolve_source(repository, start, force=force)
    if named_branch(repository, start) is None and repository.find_tag(start) is None:
        hold_commit(repository, commit, author=author)
    made = repository.create_branch(name, commit, author=author, note=f"from {start}")
    return _summary(repository, made, repository.branch(repository.default_branch).head)


def delete_branch(
    repository: Repository, name: str, *, author: str, force: bool = False
) -> CommitId:
    """Delete a branch and return the commit that it pointed to.

    Raises:
        NotFoundError: It is not there.
        InputError: It is the default branch.
        ProtectedError: It is protected.
        ConflictError: It is the branch of a run that is still running, and `force` is not set.
    """
    branch = repository.branch(name)
    run = run_of(branch)
    if run is not None:
        discard(repository, run, author=author, force=force)
    else:
        repository.delete_branch(name, author=author)
    return branch.head


def protect_branch(
    repository: Repository, name: str, require: tuple[str, ...] = (), *, author: str
) -> BranchSummary:
    """Protect a branch, so that it accepts only promotions.

    Raises:
        NotFoundError: It is not there.
        InputError: It is the branch of a run, or a requirement is unknown.
    """
    unknown = [item for item in require if item not in DEMANDS]
    if unknown:
        raise InputError(
            f"Unknown requirement {unknown[0]!r}; expected one of {', '.join(DEMANDS)}."
        )
    if run_of(repository.branch(name)) is not None:
        raise InputError(f"{name!r} is the branch of a dbt run; it can't be protected.")
    repository.protect(name, Protection(require), author=author)
    return find_branch(repository, name)


def unprotect_branch(repository: Repository, name: str, *, author: str) -> BranchSummary:
    """Let a branch accept any change again.

    Raises:
        NotFoundError: It is not there.
    """
    repository.protect(name, None, author=author)
    return find_branch(repository, name)


def find_branch(repository: Repository, name: str) -> BranchSummary:
    """Return one branch.

    Raises:
        NotFoundError: It is not there.
    """
    trunk = repository.branch(repository.default_branch).head
    return _summary(repository, repository.branch(name), trunk)


def _summary(repository: Repository, branch: Branch, trunk: CommitId) -> BranchSummary:
    read = repository.objects.commit
    commit = read(branch.head)
    counts = divergence(
        branch.head, trunk, lambda id: read(id).parents, lambda id: read(id).committed_at
    )
    return BranchSummary(
        name=branch.name,
        head=branch.head,
        author=commit.author,
        committed_at=datetime_of(commit.committed_at),
        summary=commit.summary,
        is_default=branch.name == repository.default_branch,
        is_run=run_of(branch) is not None,
        ahead=counts.ahead if counts else None,
        behind=counts.behind if counts else None,
        is_protected=branch.protection is not None,
        require=branch.protection.require if branch.protection else (),
    )


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


DIVERGENCE_LIMIT: Final = 1_000
"""Commits that are looked at before counting is given up."""

_LEFT, _RIGHT, _BOTH = 1, 2, 3


class Divergence(NamedTuple):
    """Numbers of commits that only the left and only the right head reaches."""

    ahead: int
    behind: int


def divergence(
    left: CommitId,
    right: CommitId,
    parents_of: Callable[[CommitId], Iterable[CommitId]],
    age_of: Callable[[CommitId], int],
) -> Divergence | None:
    """Count as `git rev-list --left-right --count` does; None beyond a limit.

    It gives up after DIVERGENCE_LIMIT commits, and relies on commits being later than their
    parents, which every landing ensures.
    """
    seen: dict[CommitId, int] = {}
    queue: list[tuple[int, CommitId]] = []

    def mark(node: CommitId, side: int) -> None:
        if node not in seen:
            heapq.heappush(queue, (-age_of(node), node))
        seen[node] = seen.get(node, 0) | side

    mark(left, _LEFT)
    mark(right, _RIGHT)
    counts = {_LEFT: 0, _RIGHT: 0}
    for _ in range(DIVERGENCE_LIMIT):
        if all(seen[node] == _BOTH for _, node in queue):
            return Divergence(counts[_LEFT], counts[_RIGHT])
        _, node = heapq.heappop(queue)
        side = seen[node]
        if side != _BOTH:
            counts[side] += 1
        for parent in parents_of(node):
            mark(parent, side)
    return None
