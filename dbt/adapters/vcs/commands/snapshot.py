"""`dbt-vcs snapshot`: named snapshots, each of which keeps a version of one table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from dbt.adapters.vcs.commands.layout import Block, Grid, Span, age, line
from dbt.adapters.vcs.commands.revisions import parse_relation
from dbt.adapters.vcs.commands.session import CommandSession
from dbt.adapters.vcs.commands.verb import Note, Option, verb, verbs
from dbt.adapters.vcs.core.branches import NamedSnapshot, is_protected
from dbt.adapters.vcs.core.ids import CommitId, SnapshotId, datetime_of
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.retention import hold
from dbt.adapters.vcs.core.store.blobs import each
from dbt.adapters.vcs.workspace.points import find_version


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotSummary:
    """One named snapshot.

    Attributes:
        relation: The table, `schema.identifier`.
        snapshot: The version that it names.
        commit: The commit where it was created.
        rows: Row count of the version.
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
    repository: Repository, relation: str, name: str, at: str, *, author: str, note: str = ""
) -> SnapshotSummary:
    """Name the version of a table that a revision shows.

    Raises:
        InputError: The table already has a snapshot of that name, or the name is invalid.
        NotFoundError: There is no such table or version, or its rows have been garbage-collected.
    """
    table = parse_relation(relation)
    version, commit = find_version(repository, table, at)
    known = repository.branch(repository.default_branch).head
    # A snapshot keeps its version, but only once it is there.
    hold(repository, commit, [version], author=author, known=known)
    # A version that is named by its id was found through no commit.
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


@verbs()
def snapshot_command() -> None:
    """List, create and delete named snapshots of tables.

    Each names a version of one table and keeps it until it is deleted. Without a command: list
    them.
    """


@verb(snapshot_command)
def snapshot_list(session: CommandSession, relation: str | None = None) -> None:
    """List named snapshots, or only those of the table RELATION."""
    found = list_snapshots(session.repository, relation)
    session.show(found, _snapshots_text(found, session.now))


@verb(snapshot_command)
def snapshot_create(
    session: CommandSession, relation: str, name: str, at: str | None = None, *, note: Note = ""
) -> None:
    """Name the version of the table RELATION that the revision AT shows.

    AT defaults to the branch in the dbt profile, else the default branch.
    """
    made = create_snapshot(
        session.repository, relation, name, at or session.branch, author=session.author, note=note
    )
    session.show(made, [_snapshot_line("Created", made, " at version ")])


@verb(snapshot_command, prints_json=False)
def snapshot_delete(
    session: CommandSession,
    relation: str,
    name: Annotated[tuple[str, ...], Option(metavar="NAME...")],
) -> None:
    """Delete named snapshots of the table RELATION."""
    for item in name:
        gone = delete_snapshot(session.repository, relation, item, author=session.author)
        session.say([_snapshot_line("Deleted", gone, ", which was version ")])


@verb(snapshot_command, prints_json=False)
def snapshot_protect(session: CommandSession, relation: str, name: str) -> None:
    """Protect the snapshot NAME of the table RELATION, so that it can't be deleted."""
    kept = protect_snapshot(session.repository, relation, name, True, author=session.author)
    where = f" of {kept.relation} can't be deleted."
    session.say([line("The snapshot ", Span(name, "name"), where)])


@verb(snapshot_command, prints_json=False)
def snapshot_unprotect(session: CommandSession, relation: str, name: str) -> None:
    """Let the snapshot NAME of the table RELATION be deleted again."""
    freed = protect_snapshot(session.repository, relation, name, False, author=session.author)
    where = f" of {freed.relation} can be deleted again."
    session.say([line("The snapshot ", Span(name, "name"), where)])


def _snapshots_text(found: Sequence[SnapshotSummary], now: datetime) -> Iterator[Block]:
    """Yield a list of named snapshots; `!` marks a protected one."""
    if not found:
        yield line("There are no named snapshots.")
        return
    yield Grid(
        heads=("", "TABLE", "SNAPSHOT", "VERSION", "ROWS", "AGE", "WHAT"),
        rows=tuple(
            (
                Span("!" if item.is_protected else ""),
                Span(item.relation),
                Span(item.name, "name"),
                Span(item.snapshot[:12], "commit"),
                Span(f"{item.rows:,}"),
                Span(age(item.made_at, now), "faint"),
                Span(item.note),
            )
            for item in found
        ),
        right=frozenset({"ROWS"}),
        whole=frozenset({"TABLE", "SNAPSHOT", "VERSION"}),
        first=("", "TABLE", "SNAPSHOT"),
    )


def _snapshot_line(done: str, item: SnapshotSummary, at: str) -> Block:
    version = Span(item.snapshot[:12], "commit")
    return line(
        f"{done} snapshot ", Span(item.name, "name"), f" of {item.relation}{at}", version, "."
    )
