"""Creating views, and `alter view ... as`."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from dbt.adapters.vcs.core.errors import InputError, VcsError
from dbt.adapters.vcs.core.model import (
    Absent,
    RelationName,
    TableEntry,
    View,
    ViewColumn,
    ViewEntry,
)
from dbt.adapters.vcs.sql.handler_registry import handles
from dbt.adapters.vcs.sql.syntax.calls import calls_of
from dbt.adapters.vcs.sql.syntax.statement import CreateTemporaryView, Query, qualified
from dbt.adapters.vcs.sql.table import AlterViewAs, CreateView
from dbt.adapters.vcs.sql.time_travel import check_view, settled_query
from dbt.adapters.vcs.workspace.mounts import query_of_view
from dbt.adapters.vcs.workspace.statement_scope import Outcome, Scope


@handles(CreateView)
def create_view(scope: Scope, statement: CreateView) -> Outcome:
    """Create or replace a view.

    Raises:
        InputError: The name is taken, or the view would read itself.
        EngineError: Spark rejects the query.
    """
    name = scope.name(statement.target.name)
    scope.overlay.require_schema(name.schema)
    existing = scope.overlay.entry(name)
    if existing is not None:
        if statement.if_not_exists:
            return Outcome()
        if not isinstance(existing, ViewEntry):
            noun = existing.noun
            raise InputError(f"{name} is a {noun}. Drop it first: drop {noun} {name}.")
        if not statement.replace:
            raise InputError(
                f"{name} already exists. Drop it first, or use create or replace view."
            )
    return _put(
        scope,
        name,
        statement.query,
        aliases=[(column.name, column.comment) for column in statement.columns],
        comment=statement.comment,
        properties=dict(statement.properties),
    )


@handles(AlterViewAs)
def alter_view_as(scope: Scope, statement: AlterViewAs) -> Outcome:
    """Give a view another query; it keeps its comment and properties.

    Raises:
        InputError: The name is a table's.
        NotFoundError: There is no such view.
    """
    name = scope.name(statement.target.name)
    entry = scope.overlay.require(name)
    if isinstance(entry, TableEntry):
        raise InputError(f"{name} is a table; alter view needs a view.")
    before = scope.overlay.view(entry.view)
    return _put(
        scope,
        name,
        statement.query,
        aliases=(),
        comment=before.comment,
        properties=before.properties,
    )


@handles(CreateTemporaryView)
def create_temporary_view(scope: Scope, statement: CreateTemporaryView) -> Outcome:
    """Create a temporary view, which Spark keeps for the session."""
    names: tuple[RelationName, ...] = ()
    if statement.query is not None:
        names = (*scope.reads(statement.query.reads), *scope.called())
    with scope.shown(names):
        return Outcome(rows=scope.session.query(statement.text))


def stored_view(scope: Scope, name: RelationName, query: Query) -> View:
    """Return a view with its query as it is stored, and with what that reads and calls.

    Its columns are left to the caller. No engine is needed.

    Raises:
        InputError: The view would read itself, or a diff of tables without schema names.
        UnsupportedError: It reads what is there for one statement only.
    """
    check_view(scope, query)
    calls = [call for call in calls_of(query.text) if scope.function(call.name) is not None]
    reads = tuple(sorted({str(read) for read in scope.reads(query.reads)}))
    if str(name) in reads:
        raise InputError(f"The view {name} would read itself. Give it another name.")
    return View(
        text=qualified(query, scope.schema, scope.temporaries.views(), calls),
        columns=(),
        reads=reads,
        calls=tuple(sorted({str(scope.name(call.name)) for call in calls})),
    )


def _put(
    scope: Scope,
    name: RelationName,
    query: Query,
    *,
    aliases: Sequence[tuple[str, str | None]],
    comment: str | None,
    properties: dict[str, str],
) -> Outcome:
    stored = stored_view(scope, name, query)
    with scope.reading(query):
        columns = scope.session.columns_of(settled_query(scope, query_of_view(stored.text)).text)
    if aliases and len(aliases) != len(columns):
        raise InputError(
            f"The view {name} names {len(aliases)} columns and its query gives {len(columns)}."
        )
    shown = aliases or [(column.name, column.comment) for column in columns]
    view = msgspec.structs.replace(
        stored,
        columns=tuple(
            ViewColumn(name=alias, type=column.type, comment=note)
            for (alias, note), column in zip(shown, columns, strict=True)
        ),
        aliased=bool(aliases),
        comment=comment,
        properties=properties,
    )
    before = scope.overlay.entry(name)
    scope.overlay.put_view(name, view)
    try:
        # Mounting runs Spark's own checks (duplicate names, temporary views inside).
        scope.mounts.show(
            [name], overlay=scope.overlay, session=scope.session, externals=scope.externals
        )
    except VcsError:
        scope.overlay.put(name, Absent if before is None else before)
        raise
    return Outcome()
