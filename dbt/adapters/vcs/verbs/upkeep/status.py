"""Status: where a repository stands, and what one branch of it holds."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from dbt.adapters.vcs.core.ids import CommitId, datetime_of
from dbt.adapters.vcs.core.model import Commit, FunctionEntry, TableEntry, ViewEntry
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.store.each import each
from dbt.adapters.vcs.merges.conflicts.open_merges import open_merge_of
from dbt.adapters.vcs.runs.run_branch import run_of
from dbt.adapters.vcs.verbs.left_runs import RunSummary, list_runs
from dbt.adapters.vcs.verbs.reading.waiting_merges import OpenMergeReport, list_open_merges

DONE_WITH: Final = frozenset({"published", "resumed"})
"""Runs that need nobody's care any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """What a commit shows, counted from manifests alone.

    Attributes:
        schemas: How many.
        tables: How many.
        views: How many.
        functions: How many.
        rows: Rows of all tables.
        bytes: Size of the files that the tables are read from.
    """

    schemas: int
    tables: int
    views: int
    functions: int
    rows: int
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RepositoryStatus:
    """Where a repository stands.

    Attributes:
        repository: Where it is.
        default_branch: The branch that others start from.
        branches: How many, those of runs and of open merges aside.
        tags: How many.
        branch: The branch that is looked at.
        head: The commit that it points to, None if the branch is not there yet.
        author: Who made that commit.
        committed_at: When.
        summary: First line of its message.
        contents: What it shows, None if the branch is not there yet.
        runs: Runs that are neither published nor resumed, newest first.
        merges: Merges that wait for their conflicts to be resolved, by target.
    """

    repository: str
    default_branch: str
    branches: int
    tags: int
    branch: str
    head: CommitId | None
    author: str | None
    committed_at: datetime | None
    summary: str | None
    contents: Contents | None
    runs: tuple[RunSummary, ...]
    merges: tuple[OpenMergeReport, ...]


def read_status(repository: Repository, branch: str) -> RepositoryStatus:
    """Return where a repository stands; a branch that a run has yet to make is no error."""
    found = repository.find_branch(branch)
    commit = repository.objects.commit(found.head) if found else None
    return RepositoryStatus(
        repository=repository.uri,
        default_branch=repository.default_branch,
        branches=sum(
            1
            for other in repository.branches()
            if run_of(other) is None and open_merge_of(other) is None
        ),
        tags=len(repository.tags()),
        branch=branch,
        head=found.head if found else None,
        author=commit.author if commit else None,
        committed_at=datetime_of(commit.committed_at) if commit else None,
        summary=commit.summary if commit else None,
        contents=count_contents(repository, commit) if commit else None,
        runs=tuple(run for run in list_runs(repository) if run.status not in DONE_WITH),
        merges=list_open_merges(repository),
    )


def count_contents(repository: Repository, commit: Commit) -> Contents:
    """Count what a commit shows."""
    objects = repository.objects
    refs = objects.tree(commit.tree).schemas.values()
    schemas = each(lambda ref: objects.schema_tree(ref.id), refs)
    entries = [entry for schema in schemas for entry in schema.relations.values()]
    ids = [entry.snapshot for entry in entries if isinstance(entry, TableEntry)]
    snapshots = each(objects.snapshot, ids)
    return Contents(
        schemas=len(schemas),
        tables=len(ids),
        views=sum(1 for entry in entries if isinstance(entry, ViewEntry)),
        functions=sum(1 for entry in entries if isinstance(entry, FunctionEntry)),
        rows=sum(snapshot.rows for snapshot in snapshots),
        bytes=sum(snapshot.bytes for snapshot in snapshots),
    )
