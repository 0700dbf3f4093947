"""Views: `create view`, `create temporary view`, `alter view ... as`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NoReturn

import msgspec

from dbt.adapters.vcs.core.errors import InputError, UnsupportedError
from dbt.adapters.vcs.core.model import RelationName, TableEntry, View, ViewColumn
from dbt.adapters.vcs.sql.syntax.clauses import is_replacing, read_if_not_exists, read_properties
from dbt.adapters.vcs.sql.syntax.cursor import TokenCursor
from dbt.adapters.vcs.sql.syntax.mentions import calls_of
from dbt.adapters.vcs.sql.syntax.parser import (
    ChangingRelation,
    CreateTemporaryView,
    Query,
    qualified,
    query_of_view,
    reads,
    remaining_query,
)
from dbt.adapters.vcs.sql.table import Creation, may_create, put_back_after_errors, read_creation
from dbt.adapters.vcs.sql.time_travel import check_view, settled_query
from dbt.adapters.vcs.workspace.statement_scope import Outcome, Scope, handles


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateView(Creation):
    """`create [or replace] view v as ...`.

    Attributes:
        columns: The view's own names of its columns, and their comments.
    """

    query: Query
    columns: tuple[tuple[str, str | None], ...] = ()
    comment: str | None = None
    properties: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterViewAs(ChangingRelation):
    """`alter view v as ...`."""

    query: Query


@reads("create [or replace] view")
def _read_create_view(cursor: TokenCursor) -> CreateView:
    creation = read_creation(cursor)
    in_brackets = cursor.token.word == "("
    columns = cursor.items(lambda: _view_column(cursor)) if in_brackets else ()
    comment: str | None = None
    properties: dict[str, str] = {}
    while not cursor.take("as"):
        if cursor.take("comment"):
            comment = cursor.string()
        elif cursor.take("tblproperties"):
            properties.update(read_properties(cursor))
        elif cursor.at("with", "schema"):
            _schema_binding(cursor)
        elif cursor.at("with", "metrics"):
            raise UnsupportedError("Metric views are not supported. Make it a plain view.")
        elif cursor.at("default", "collation"):
            raise UnsupportedError(
                "`default collation` is not supported on versioned views. "
                "Write `collate` in the query."
            )
        else:
            cursor.fail("a clause of `create view` or `as` and a query")
    return CreateView(
        **creation,
        query=remaining_query(cursor),
        columns=columns,
        comment=comment,
        properties=properties,
    )


def _schema_binding(cursor: TokenCursor) -> None:
    """Read `with schema evolution` and the like, which has no effect here."""
    cursor.expect("with", "schema")
    cursor.take("type")
    if cursor.take_any("binding", "compensation", "evolution") is None:
        cursor.fail("binding, compensation or evolution")


def _view_column(cursor: TokenCursor) -> tuple[str, str | None]:
    name = cursor.identifier("a column's name")
    return name, cursor.string() if cursor.take("comment") else None


@handles(CreateView)
def create_view(scope: Scope, statement: CreateView) -> Outcome:
    """Create or replace a view.

    Raises:
        InputError: The name is taken, or the view would read itself.
        EngineError: Spark rejects the query.
    """
    name = scope.name(statement.target.name)
    if not may_create(scope, statement, "view"):
        return Outcome()
    return _put(
        scope,
        name,
        statement.query,
        aliases=statement.columns,
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


@reads("create [or replace] [global] temporary view", "create [or replace] [global] temp view")
def _read_temporary_view(cursor: TokenCursor) -> CreateTemporaryView:
    # The cursor is behind `view`: `global` is two words before it.
    replace, global_ = is_replacing(cursor), cursor.ahead(-3).word == "global"
    read_if_not_exists(cursor)
    target = cursor.target()
    query, start = None, 0
    while not (cursor.at("using") or cursor.at("as") or cursor.done):
        if cursor.token.word == "(":
            cursor.skip_group()
        else:
            cursor.index += 1
    if cursor.take("as"):
        start = cursor.token.start
        query = remaining_query(cursor)
    elif cursor.done:
        cursor.fail("`as` and a query, or `using` and a format")
    return CreateTemporaryView(
        target=target,
        query=query,
        replace=replace,
        global_=global_,
        text=cursor.text,
        query_start=start,
    )


@handles(CreateTemporaryView)
def create_temporary_view(scope: Scope, statement: CreateTemporaryView) -> Outcome:
    """Create a temporary view, which Spark keeps for the session."""
    names: tuple[RelationName, ...] = ()
    if statement.query is not None:
        names = (*scope.reads(statement.query.reads), *scope.called())
    with scope.shown(names):
        return Outcome(rows=scope.session.query(statement.text))


@reads(
    "create [or replace] materialized view",
    "create [or replace] streaming table",
    "create [or replace] flow",
)
def _refuse_other_views(cursor: TokenCursor) -> NoReturn:
    word = cursor.tokens[3 if is_replacing(cursor) else 1].word
    raise UnsupportedError(
        f"`create {word} ...` is not supported on versioned tables. Make it a table or a view."
    )


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
        # The view may be read where another schema is the current one.
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
    # The stored text names versions as the user did; only the engine needs relations for them.
    read = settled_query(scope, query_of_view(stored.text))
    with scope.analysing(query):
        columns = scope.session.analysed(read.text).columns
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
    with put_back_after_errors(scope, name):
        scope.overlay.put_view(name, view)
        # Mounting runs Spark's own checks (duplicate names, temporary views inside).
        scope.mounts.show(
            [name], overlay=scope.overlay, session=scope.session, externals=scope.externals
        )
    return Outcome()
