"""Names of commits that show a table's version: Iceberg's branches and tags."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, NamedTuple

from dbt.adapters.vcs.core.errors import DamagedError
from dbt.adapters.vcs.core.ids import CommitId
from dbt.adapters.vcs.core.model import RelationName, TableEntry
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.iceberg.manifest_lists import number_of

MAIN = "main"
"""Iceberg's name for what a table shows; here that is what the commit shows, on any branch."""


class NamedCommit(NamedTuple):
    """A branch or a tag, and the commit that it names."""

    name: str
    kind: Literal["branch", "tag"]
    commit: CommitId


def named_commits(repository: Repository) -> list[NamedCommit]:
    """Return all branches and tags; a branch stands before the tag of its name."""
    branches = [NamedCommit(item.name, "branch", item.head) for item in repository.branches()]
    return branches + [NamedCommit(item.name, "tag", item.commit) for item in repository.tags()]


def metadata_refs(
    repository: Repository,
    relation: RelationName,
    current: int,
    numbers: Iterable[int],
    names: Iterable[NamedCommit],
) -> dict[str, Any]:
    """Return the refs of a table.

    A name whose tree is damaged is left out, so that it takes no other table along; `dbt-vcs fsck`
    tells of it.

    Args:
        repository: The repository.
        relation: The table.
        current: The Iceberg snapshot that it shows.
        numbers: The Iceberg snapshots that its metadata has.
        names: Names to include if they show one of these.
    """
    known = set(numbers)
    refs = {MAIN: {"snapshot-id": current, "type": "branch"}}
    for name, kind, commit in names:
        try:
            entry = repository.tree(commit).entry(relation)
        except DamagedError:
            continue
        if isinstance(entry, TableEntry) and number_of(entry.snapshot) in known:
            refs.setdefault(name, {"snapshot-id": number_of(entry.snapshot), "type": kind})
    return refs
