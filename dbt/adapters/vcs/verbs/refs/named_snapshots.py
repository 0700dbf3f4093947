"""List, create, delete and protect named snapshots of tables."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from dbt.adapters.vcs.core.branches import is_protected
from dbt.adapters.vcs.core.ids import CommitId, SnapshotId, datetime_of
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.retention import hold
from dbt.adapters.vcs.core.snapshotnames import NamedSnapshot
from dbt.adapters.vcs.core.store.each import each
from dbt.adapters.vcs.core.tableversions import find_version
from dbt.adapters.vcs.verbs.reading.log import parse_relation


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotSummary:
    """One named snapshot.

    Attributes:
        relation: The table, `schema.identifier`.
        name: Name of the snapshot.
        snapshot: The version that it names.
        commit: The commit where it was created.
        rows: Row count of the version.
        made_at: When the snapshot was created.
        made_by: Who created it.
        note: The note given when it was created.
        is_protected: True if it can't be deleted.
    """

    relation: str
    name: str
    snapshot: SnapshotId
    commit: CommitId
    rows: int
    made_at: datetime
    made_by: str
    note: str
    is_protected: bool


def list_snapshots(repository: Repository, relation: str | None = None) -> list[SnapshotSummary]:
    """Return the named snapshots of one table or of all, by table and name.

    Raises:
        InputError: The relation's name is invalid.
    """
    names = repository.snapshots
    found = names.all() if relation is None else names.of(parse_relation(relation))
    return each(lambda item: _summary(repository, item), found)


def create_snapshot(
    repository: Repository,
    relation: str,
    name: str,
    at: str,
    *,
    author: str,
    note: str = "",
) -> SnapshotSummary:
    """Name the version of a table that a revision shows.

    Raises:
        InputError: The table already has a snapshot of that name, or the name is invalid.
        NotFoundError: There is no such table or version, or its rows have been garbage-collected.
    """
    table = parse_relation(relation)
    version, commit = find_version(repository, table, at)
    known = repository.branch(repository.default_branch).head
    hold(repository, commit, [version], author=author, known=known)
    made = repository.snapshots.create(
        table, name, version, at=commit or known, author=author, note=note
    )
    return _summary(repository, made)


def delete_snapshot(
    repository: Repository, relation: str, name: str, *, author: str
) -> SnapshotSummary:
    """Delete a named snapshot, and return it.

    Raises:
        NotFoundError: The table has no such snapshot.
        ProtectedError: It is protected.
    """
    gone = repository.snapshots.delete(parse_relation(relation), name, author=author)
    return _summary(repository, gone)


def protect_snapshot(
    repository: Repository, relation: str, name: str, is_protected: bool, *, author: str
) -> SnapshotSummary:
    """Protect a named snapshot, so that it can't be deleted, or remove its protection.

    Raises:
        NotFoundError: The table has no such snapshot.
    """
    table = parse_relation(relation)
    kept = repository.snapshots.protect(table, name, is_protected, author=author)
    return _summary(repository, kept)


def _summary(repository: Repository, item: NamedSnapshot) -> SnapshotSummary:
    move = repository.snapshots.made(item)
    return SnapshotSummary(
        relation=str(item.relation),
        name=item.name,
        snapshot=item.snapshot,
        commit=item.commit,
        rows=repository.objects.snapshot(item.snapshot).rows,
        made_at=datetime_of(move.at),
        made_by=move.by,
        note=move.note,
        is_protected=is_protected(item.ref),
    )
