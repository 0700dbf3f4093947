"""Named snapshots in SQL: `create snapshot`, `drop snapshot`, `show snapshots`."""

from __future__ import annotations

from dbt.adapters.vcs.core.branches import NamedSnapshot
from dbt.adapters.vcs.core.errors import ReadOnlyError
from dbt.adapters.vcs.core.ids import CommitId, SnapshotId, datetime_of
from dbt.adapters.vcs.core.model import RefMove, TableEntry
from dbt.adapters.vcs.core.retention import hold
from dbt.adapters.vcs.sql.handler_registry import handles
from dbt.adapters.vcs.sql.versioning import (
    CreateSnapshot,
    DropSnapshot,
    ShowSnapshots,
)
from dbt.adapters.vcs.workspace.answer import Listing, Outcome
from dbt.adapters.vcs.workspace.pins import pinned
from dbt.adapters.vcs.workspace.statement_scope import Scope

COLUMNS = ("relation", "name", "snapshot", "commit", "created_at", "created_by", "note")


@handles(CreateSnapshot)
def create_snapshot(scope: Scope, statement: CreateSnapshot) -> Outcome:
    """Name a version of a table; like a tag, the name exists at once, even in a run.

    Raises:
        InputError: The table has a snapshot with that name, or the relation is a view.
        NotFoundError: There is no such table or version.
    """
    author = _author(scope)
    repository = scope.overlay.repository
    relation = scope.name(statement.table.name)
    if repository.snapshots.find(relation, statement.name) and statement.if_not_exists:
        return Outcome()
    version: SnapshotId
    commit: CommitId | None = scope.overlay.base
    if statement.table.at is None:
        scope.overlay.require_table(relation)
        entry = scope.overlay.require(relation)
        assert isinstance(entry, TableEntry)
        version = entry.snapshot
    else:
        version, commit = pinned(scope.overlay, scope.engine, relation, statement.table.at)
        hold(repository, commit, [version], author=author, known=scope.overlay.base)
    repository.snapshots.create(
        relation, statement.name, version, at=commit or scope.overlay.base, author=author
    )
    return Outcome()


@handles(DropSnapshot)
def drop_snapshot(scope: Scope, statement: DropSnapshot) -> Outcome:
    """Delete a name; from then on its version is kept only as long as unnamed history.

    Raises:
        NotFoundError: The table has no such snapshot.
        ProtectedError: It is protected.
    """
    author = _author(scope)
    names = scope.overlay.repository.snapshots
    relation = scope.name(statement.target.name)
    if statement.if_exists and names.find(relation, statement.name) is None:
        return Outcome()
    names.delete(relation, statement.name, author=author)
    return Outcome()


@handles(ShowSnapshots)
def show_snapshots(scope: Scope, statement: ShowSnapshots) -> Outcome:
    """List the named snapshots of one table, one schema or all; columns as in `COLUMNS`."""
    names = scope.overlay.repository.snapshots
    if statement.target is not None:
        found = names.of(scope.name(statement.target.name))
    else:
        wanted = statement.schema.lower() if statement.schema is not None else None
        found = [item for item in names.all() if wanted in (None, item.relation.schema)]
    return Outcome(rows=Listing.of(COLUMNS, [_row(item, names.made(item)) for item in found]))


def _row(item: NamedSnapshot, move: RefMove) -> tuple[str, ...]:
    return (
        str(item.relation),
        item.name,
        item.snapshot,
        item.commit,
        datetime_of(move.at).isoformat(sep=" ", timespec="seconds"),
        move.by,
        move.note,
    )


def _author(scope: Scope) -> str:
    if not scope.overlay.author:
        raise ReadOnlyError("Nothing can be changed here: this is not a branch.")
    return scope.overlay.author
