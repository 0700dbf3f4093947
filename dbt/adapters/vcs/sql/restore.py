"""Bringing past versions back: `restore table` and `undrop table`."""

from __future__ import annotations

from dataclasses import dataclass

from dbt.adapters.vcs.changes.writes.past_versions import Past, last_of, put_back, splits
from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.core.model import FunctionEntry, RelationName, TableEntry, ViewEntry
from dbt.adapters.vcs.sql.syntax.cursor import TokenCursor
from dbt.adapters.vcs.sql.syntax.names import TableAt, Target
from dbt.adapters.vcs.sql.syntax.parser import ChangingStatement, reads
from dbt.adapters.vcs.workspace.points import pinned, zone_of
from dbt.adapters.vcs.workspace.statement_scope import Listing, Outcome, Scope, handles


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreTable(ChangingStatement):
    """`restore table t from snapshot s{...}`, or `restore table t to version as of ...`.

    Attributes:
        source: The version to restore, which is always given. With `to`, it is a version of
            the table itself.
    """

    target: Target
    source: TableAt


@dataclass(frozen=True, slots=True, kw_only=True)
class UndropTable(ChangingStatement):
    """`undrop table t`."""

    target: Target


@reads("restore")
def _read_restore(cursor: TokenCursor) -> RestoreTable:
    cursor.expect("table")
    target = cursor.target()
    if cursor.take("to"):
        if cursor.token.word not in ("version", "timestamp"):
            cursor.fail("`version as of` or `timestamp as of`")
        source = TableAt(target.name, cursor.version())
    else:
        if not cursor.take("from", "snapshot"):
            cursor.fail("`from snapshot`, `to version as of` or `to timestamp as of`")
        named, at = cursor.versioned_target()
        source = TableAt(named.name, at)
        if source.at is None:
            cursor.fail("{snapshot = '...'} or {timestamp = '...'} after the table")
    cursor.end()
    return RestoreTable(target=target, source=source)


@handles(RestoreTable)
def restore_table(scope: Scope, statement: RestoreTable) -> Outcome:
    """Restore a table to a past version of itself or of another one: `restore table`.

    Returns `relation`, `snapshot`, `commit`, and `stays`: the relations that were changed
    together with it and are not restored.

    Raises:
        NotFoundError: There is no such version.
        InputError: The name is a view.
    """
    name, source = scope.name(statement.target.name), scope.name(statement.source.name)
    standing = scope.overlay.entry(name)
    if isinstance(standing, ViewEntry | FunctionEntry):
        raise InputError(f"{name} is a {standing.noun}; restore table needs a table.")
    assert statement.source.at is not None
    found = pinned(scope.overlay, lambda: zone_of(scope.session), source, statement.source.at)
    past = Past(TableEntry(snapshot=found.snapshot), found.commit)
    put_back(scope.overlay, name, past, author=scope.overlay.author)
    is_changed = scope.overlay.entry(name) != standing
    # A commit of several tables is undone in part: what belongs together may no longer fit.
    apart = splits(scope.overlay.repository, scope.overlay.base, name, past) if is_changed else ()
    # Several of these commits may have changed the same relation.
    others = sorted({other for split in apart for other in split.others})
    return _answer(name, past, ", ".join(others))


@reads("undrop")
def _read_undrop(cursor: TokenCursor) -> UndropTable:
    cursor.expect("table")
    target = cursor.target()
    cursor.end()
    return UndropTable(target=target)


@handles(UndropTable)
def undrop_table(scope: Scope, statement: UndropTable) -> Outcome:
    """Restore the last version of a dropped table: `undrop table`.

    Raises:
        InputError: The relation exists.
        NotFoundError: It never existed in the branch's history.
    """
    name = scope.name(statement.target.name)
    overlay = scope.overlay
    if overlay.entry(name) is None and isinstance(before := overlay.before(name), TableEntry):
        # It was dropped by this run, in no commit yet.
        past = Past(before, overlay.base)
    else:
        past = last_of(overlay.repository, overlay.base, name, overlay.branch)
    put_back(overlay, name, past, author=overlay.author)
    return _answer(name, past, "")


def _answer(name: RelationName, past: Past, stays: str) -> Outcome:
    version = past.entry.version
    rows = Listing.of(
        ["relation", "snapshot", "commit", "stays"], [[str(name), version, past.commit, stays]]
    )
    return Outcome(rows=rows)
