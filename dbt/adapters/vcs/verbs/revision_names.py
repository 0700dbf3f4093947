"""Names of commits: the names of a commit, the branch that a revision names, and free names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.core.ids import CommitId
from dbt.adapters.vcs.core.repository import Branch, Repository
from dbt.adapters.vcs.core.store.branch_names import is_name
from dbt.adapters.vcs.merges.conflicts.open_merges import PREFIX as MERGES
from dbt.adapters.vcs.runs.run_branch import PREFIX as RUNS

_RESERVED: Final = ((RUNS, "dbt runs"), (MERGES, "merges with conflicts"))


def names_by_commit(repository: Repository) -> Mapping[CommitId, tuple[str, ...]]:
    """Return the names of each commit that has some: branches, then tags as `tag: <name>`."""
    found: dict[CommitId, tuple[str, ...]] = {}
    for branch in repository.branches():
        found[branch.head] = (*found.get(branch.head, ()), branch.name)
    for tag in repository.tags():
        found[tag.commit] = (*found.get(tag.commit, ()), f"tag: {tag.name}")
    return found


def named_branch(repository: Repository, revision: str) -> Branch | None:
    """Return the branch whose exact name the revision is; None if it is another revision.

    A tag hides a branch of the same name, as in all revisions; `heads/<name>` is the branch.
    """
    bare = revision.removeprefix("refs/")
    if is_name(revision) and repository.find_tag(revision) is None:
        found = repository.find_branch(revision)
        if found is not None:
            return found
    name = bare.removeprefix("heads/")
    return repository.find_branch(name) if name != bare and is_name(name) else None


def check_free(repository: Repository, word: Literal["branch", "tag"], name: str) -> None:
    """Raise if a name is reserved, or is already the name of a tag or branch.

    Raises:
        InputError: It is.
    """
    check_unreserved(word, name)
    if not is_name(name):
        return
    if word == "branch" and repository.find_tag(name) is not None:
        raise InputError(
            f"There is a tag {name!r}, which would hide a branch of the same name. "
            "Give the branch another name, or delete the tag."
        )
    if word == "tag" and repository.find_branch(name) is not None:
        raise InputError(
            f"There is a branch {name!r}, and a tag of the same name would hide it. Give "
            "the tag another name."
        )


def check_unreserved(word: str, name: str) -> None:
    """Raise if a name is reserved for runs or merges.

    Raises:
        InputError: It is.
    """
    for prefix, what in _RESERVED:
        if name.startswith(prefix):
            raise InputError(
                f"The {word} name {name!r} can't be used or changed: {prefix} is where {what} "
                "keep their branches. Choose another name."
            )
