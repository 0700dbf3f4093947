"""Which versions of a table a history showed, and when: what Iceberg calls snapshots."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, TypeVar

from dbt.adapters.vcs.core.errors import InputError, NotFoundError
from dbt.adapters.vcs.core.ids import CommitId, Micros, SnapshotId
from dbt.adapters.vcs.core.model import RelationName, TableEntry, ViewEntry
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.retention import read_retention

E = TypeVar("E", TableEntry, ViewEntry)


class ShownVersion(NamedTuple):
    """A version of a table, and since when a line of commits showed it.

    Attributes:
        commit: The commit that first showed it; None if that is older than the retention.
        before: The version of the same table that the commit before showed, if there was one.
    """

    snapshot: SnapshotId
    commit: CommitId | None
    at: Micros
    before: SnapshotId | None


def kept_since(repository: Repository) -> Micros:
    """Return the moment since which the rows of all commits are kept."""
    found = read_retention(repository)
    # A retention that was made longer brings nothing back that was released before.
    return max(Micros(repository.clock() - found.keep), found.horizon)


def shown_entry(
    repository: Repository, commit: CommitId, relation: RelationName, type_: type[E]
) -> E:
    """Return the entry of a table or of a view that a commit shows.

    Raises:
        NotFoundError: It shows nothing under the name.
        InputError: It shows something else.
    """
    entry = repository.tree(commit).entry(relation)
    if isinstance(entry, type_):
        return entry
    kind = NotFoundError if entry is None else InputError
    raise kind(
        f"Expected a {type_.noun} {relation} in the commit {commit[:12]}, found "
        f"{'nothing' if entry is None else entry.noun}. dbt-vcs show {commit[:12]} lists what "
        "changed there."
    )


def shown_since(
    repository: Repository, head: CommitId, relation: RelationName, since: Micros
) -> Micros:
    """Return when a line of commits began to show what its head shows under a name.

    Commits before `since` are not read: if they show it, too, the first one after it counts.
    """
    entry = repository.tree(head).entry(relation)
    commit = repository.objects.commit(head)
    # First parents are the line of a branch; what was merged shows at the merge.
    while commit.parents and commit.committed_at >= since:
        if repository.tree(commit.parents[0]).entry(relation) != entry:
            break
        commit = repository.objects.commit(commit.parents[0])
    return commit.committed_at


def shown_versions(
    repository: Repository, head: CommitId, relation: RelationName, since: Micros
) -> Iterator[ShownVersion]:
    """Yield the versions that a commit and its first parents showed, newest first.

    It ends where the table was created, replaced by another table of its name, or not shown, and
    with the commits before `since`; the version that the head shows is always among them.

    Raises:
        InputError: The head shows no such table.
    """
    version = shown_entry(repository, head, relation, TableEntry).snapshot
    table = repository.objects.snapshot(version).table
    newest, id = True, head
    while True:
        commit = repository.objects.commit(id)
        parent = commit.parents[0] if commit.parents else None
        old = None if parent is None else repository.tree(parent).entry(relation)
        if not isinstance(old, TableEntry) or old.snapshot != version:
            before = None
            if isinstance(old, TableEntry):
                is_same = repository.objects.snapshot(old.snapshot).table == table
                before = old.snapshot if is_same else None
            yield ShownVersion(version, id, commit.committed_at, before)
            if before is None:
                return
            newest, version = False, before
        if parent is None or repository.objects.commit(parent).committed_at < since:
            break
        id = parent
    # The commit that first showed it is older than the retention, and may be gone.
    if newest:
        made = repository.objects.snapshot(version).created_at
        yield ShownVersion(version, None, made, None)
