"""Named versions of tables: `create snapshot`, `drop snapshot`, `show snapshots`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from dbt.adapters.vcs.core.branches import NamedSnapshot
from dbt.adapters.vcs.core.errors import ReadOnlyError, UnsupportedError
from dbt.adapters.vcs.core.ids import datetime_of
from dbt.adapters.vcs.core.model import RefMove
from dbt.adapters.vcs.sql.syntax.clauses import (
    SCHEMA_WORDS,
    is_replacing,
    read_if_exists,
    read_if_not_exists,
    read_snapshot_name,
    read_table_at,
)
from dbt.adapters.vcs.sql.syntax.cursor import TokenCursor
from dbt.adapters.vcs.sql.syntax.lexer import quote_name
from dbt.adapters.vcs.sql.syntax.names import At, TableAt, Target, is_name
from dbt.adapters.vcs.sql.syntax.parser import ChangingStatement, Statement, reads
from dbt.adapters.vcs.sql.table import named_version
from dbt.adapters.vcs.workspace.statement_scope import Listing, Outcome, Scope, handles


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateSnapshot(ChangingStatement):
    """`create snapshot [if not exists] s for table t [as of ...]`: a name for a version.

    Attributes:
        table: The table and the version to name; None for the branch's own.
    """

    name: str
    table: TableAt
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DropSnapshot(ChangingStatement):
    """`drop snapshot [if exists] s for table t`."""

    name: str
    target: Target
    if_exists: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowSnapshots(Statement):
    """`show snapshots [for table t | in s]`; at most one of the two is given."""

    target: Target | None = None
    schema: str | None = None


COLUMNS = ("relation", "name", "snapshot", "commit", "created_at", "created_by", "note")


@reads("create snapshot", "create or replace snapshot")
def read_create_snapshot(cursor: TokenCursor) -> CreateSnapshot:
    """Read what follows `create snapshot`.

    Raises:
        UnsupportedError: It would replace a snapshot.
    """
    if_not_exists = read_if_not_exists(cursor)
    name = read_snapshot_name(cursor)
    _expect_table(cursor)
    table = read_table_at(cursor)
    if is_replacing(cursor):
        raise UnsupportedError(
            "A snapshot is not replaced in one statement. Drop it, and then create it: drop "
            f"snapshot if exists {quote_name(name)} for table {table.name}."
        )
    if table.at is None and cursor.take("as", "of"):
        cursor.take_any("version", "snapshot")
        kind: Literal["version", "timestamp"] = (
            "timestamp" if cursor.take("timestamp") else "version"
        )
        table = TableAt(table.name, At(kind=kind, value=cursor.string()))
    cursor.end()
    return CreateSnapshot(name=name, table=table, if_not_exists=if_not_exists)


@handles(CreateSnapshot)
def create_snapshot(scope: Scope, statement: CreateSnapshot) -> Outcome:
    """Name a version of a table; like a tag, the name exists at once, even in a run.

    Raises:
        InputError: The table has a snapshot with that name, or the relation is a view.
        NotFoundError: There is no such table or version.
    """
    # A name exists at once, so no commit refuses it later.
    author = _author(scope)
    repository = scope.overlay.repository
    relation = scope.name(statement.table.name)
    if repository.snapshots.find(relation, statement.name) and statement.if_not_exists:
        return Outcome()
    version, commit = named_version(scope, relation, statement.table.at)
    repository.snapshots.create(
        relation, statement.name, version, at=commit or scope.overlay.base, author=author
    )
    return Outcome()


@reads("drop snapshot")
def read_drop_snapshot(cursor: TokenCursor) -> DropSnapshot:
    """Read what follows `drop snapshot`."""
    if_exists = read_if_exists(cursor)
    name = read_snapshot_name(cursor)
    _expect_table(cursor)
    target = cursor.target()
    cursor.end()
    return DropSnapshot(name=name, target=target, if_exists=if_exists)


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


@reads("show snapshots")
def read_show_snapshots(cursor: TokenCursor) -> ShowSnapshots:
    """Read what follows `show snapshots`."""
    listed = ShowSnapshots()
    if cursor.take_any("for", "in", "from", "on"):
        # A schema may be called `table`.
        if cursor.at("table") and is_name(cursor.ahead()):
            cursor.index += 1
            listed = ShowSnapshots(target=cursor.target())
        else:
            if cursor.token.word in SCHEMA_WORDS and is_name(cursor.ahead()):
                cursor.index += 1
            elif cursor.last.word in ("for", "on"):
                cursor.fail("`table` and a table")
            listed = ShowSnapshots(schema=cursor.schema())
    cursor.end()
    return listed


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


def _expect_table(cursor: TokenCursor) -> None:
    if not (cursor.take("for", "table") or cursor.take("on", "table")):
        cursor.fail("`for table` and the snapshot's table")
