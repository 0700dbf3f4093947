"""Names of commits: which ones a commit has, and which branch a revision names."""

from __future__ import annotations

from collections.abc import Mapping

from dbt.adapters.vcs.core.ids import CommitId
from dbt.adapters.vcs.core.repository import Branch, Repository
from dbt.adapters.vcs.core.store.names import is_name


def names_by_commit(repository: Repository) -> Mapping[CommitId, tuple[str, ...]]:
    """Return the names of each commit that has any: branches, then tags as `tag: <name>`."""
    found: dict[CommitId, tuple[str, ...]] = {}
    for branch in repository.branches():
        found[branch.head] = (*found.get(branch.head, ()), branch.name)
    for tag in repository.tags():
        found[tag.commit] = (*found.get(tag.commit, ()), f"tag: {tag.name}")
    return found


def named_branch(repository: Repository, revision: str) -> Branch | None:
    """Return the branch that a revision is the very name of, None if it says something else.

    As in revisions a tag hides a branch of its name, which is still `heads/<name>`.
    """
    bare = revision.removeprefix("refs/")
    if is_name(revision) and repository.find_tag(revision) is None:
        found = repository.find_branch(revision)
        if found is not None:
            return found
    name = bare.removeprefix("heads/")
    return repository.find_branch(name) if name != bare and is_name(name) else None
