"""Statement keys: the cache key of each family of statements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from dbt.adapters.vcs.core.model import RelationName, TableEntry, ViewEntry
from dbt.adapters.vcs.core.model.snapshot import REBUILD
from dbt.adapters.vcs.core.model.tree import Entry
from dbt.adapters.vcs.core.origins.results import ResultKind
from dbt.adapters.vcs.reuse.cache_key import CacheKey, KeyContext, KeyMaker, facts_of
from dbt.adapters.vcs.reuse.contents import NotReusableError
from dbt.adapters.vcs.sql.alter import (
    AddCheck,
    AddColumns,
    AlterColumn,
    DropColumns,
    DropConstraint,
    RenameColumn,
)
from dbt.adapters.vcs.sql.create_table import CreateTable
from dbt.adapters.vcs.sql.function import CreateFunction
from dbt.adapters.vcs.sql.insert import Truncate
from dbt.adapters.vcs.sql.merge_into import Merge
from dbt.adapters.vcs.sql.properties import CommentOnTable, SetProperties, UnsetProperties
from dbt.adapters.vcs.sql.row_change import Delete, Update
from dbt.adapters.vcs.sql.show import ShowTableProperties
from dbt.adapters.vcs.sql.syntax.canonical import asks_for_columns, choice_in
from dbt.adapters.vcs.sql.syntax.insertion import Insert
from dbt.adapters.vcs.sql.syntax.parser import CreateTemporaryView, Query, Statement
from dbt.adapters.vcs.sql.view import CreateView
from dbt.adapters.vcs.workspace.statement_scope import Scope

_ALTERS: Final = (
    AddCheck,
    AddColumns,
    AlterColumn,
    CommentOnTable,
    DropColumns,
    DropConstraint,
    RenameColumn,
    SetProperties,
    Truncate,
    UnsetProperties,
)
_CHANGES: Final = (Insert, Update, Delete, Merge)


def statement_key(scope: Scope, statement: Statement, context: KeyContext) -> CacheKey | None:
    """Return the key of a statement; no engine is needed.

    None if there are no keys for its kind: those that have one may need an engine.

    Raises:
        NotReusableError: Its result has to be computed.
    """
    if isinstance(statement, CreateTable) and statement.query is None:
        return None  # It computes no rows.
    maker = _MAKERS.get(type(statement))
    return None if maker is None else maker(scope, statement, context)


def written_table(scope: Scope, statement: Statement) -> RelationName | None:
    """Return the table whose rows a statement computes, if it is of such a kind."""
    if isinstance(statement, CreateTable):
        return None if statement.query is None else scope.name(statement.target.name)
    if isinstance(statement, Insert | Update | Delete | Merge):
        return scope.name(statement.target.name)
    return None


def columns_key(scope: Scope, name: Any, context: KeyContext) -> CacheKey:
    """Return the key of the columns of a relation.

    Raises:
        NotReusableError: They have to be computed.
    """
    maker = KeyMaker(scope, context, shapes=True)
    maker.relation(name)
    maker.fact("columns")
    return maker.made("columns")


def _answer(scope: Scope, query: Query, context: KeyContext) -> CacheKey:
    maker = KeyMaker(scope, context, shapes=asks_for_columns(query.text))
    _add_query(scope, maker, query)
    return maker.made("answer")


def _properties(scope: Scope, statement: ShowTableProperties, context: KeyContext) -> CacheKey:
    name = scope.name(statement.target.name)
    if scope.overlay.entry(name) is None:
        raise NotReusableError(f"{name} does not exist")
    maker = KeyMaker(scope, context, shapes=True)
    maker.fact("show tblproperties", facts_of(statement, frozenset({"target"})))
    maker.present(name)
    return maker.made("answer")


def _table(scope: Scope, statement: CreateTable, context: KeyContext) -> CacheKey:
    assert statement.query is not None
    name = scope.name(statement.target.name)
    existing = scope.overlay.entry(name)
    if existing is not None and not (statement.replace and isinstance(existing, TableEntry)):
        raise NotReusableError(f"{name} exists")
    maker = KeyMaker(scope, context)
    _add_query(scope, maker, statement.query)
    left = frozenset({"target", "query", "replace", "if_not_exists"})
    # Its properties, partitioning and the like. The target's name counts nowhere: copies of a
    # model share a result.
    maker.fact("create table", facts_of(statement, left))
    # Rows that come out the same stay where they are, so the present version counts.
    if statement.properties.get(REBUILD, "").strip().lower() == "delta":
        maker.present(name)
    return maker.made("table", name)


def _change(
    scope: Scope, statement: Insert | Update | Delete | Merge, context: KeyContext
) -> CacheKey:
    name = scope.name(statement.target.name)
    if not isinstance(scope.overlay.entry(name), TableEntry):
        raise NotReusableError(f"{name} is not a table")
    # Spark is asked about queries only, and conditions and values are none.
    if not isinstance(statement, Insert) and not context.is_always:
        word = choice_in(statement.text)
        if word is not None:
            raise NotReusableError(f"it may give another result each time: {word}")
    maker = KeyMaker(scope, context)
    maker.text(statement.text, statement.reads, statement.diffs, target=statement.target)
    maker.files(statement.files)
    maker.calls(scope.calls)
    maker.fact(type(statement).__name__)
    maker.defaults(name)
    maker.present(name)
    return maker.made("table", name)


def _alter(scope: Scope, statement: Any, context: KeyContext) -> CacheKey:
    name = scope.name(statement.target.name)
    entry = scope.overlay.entry(name)
    if entry is None:
        raise NotReusableError(f"{name} does not exist")
    maker = KeyMaker(scope, context, shapes=True)
    maker.fact(type(statement).__name__, facts_of(statement, frozenset({"target"})))
    maker.present(name)
    return maker.made(_kind(entry), name)


def _view(scope: Scope, statement: CreateView, context: KeyContext) -> CacheKey:
    name = scope.name(statement.target.name)
    existing = scope.overlay.entry(name)
    if existing is not None and not (statement.replace and isinstance(existing, ViewEntry)):
        raise NotReusableError(f"{name} exists")
    maker = KeyMaker(scope, context, shapes=True)
    _add_query(scope, maker, statement.query)
    left = frozenset({"target", "query", "replace", "if_not_exists"})
    maker.fact("create view", statement.query.text, facts_of(statement, left))
    maker.schema()
    return maker.made("view", name)


def _temporary(scope: Scope, statement: CreateTemporaryView, context: KeyContext) -> CacheKey:
    query = statement.query
    # Others may read a global one before it is made.
    if query is None or statement.global_:
        raise NotReusableError("only a temporary view that a query makes can wait")
    if query.diffs or query.files or any(read.at is not None for read in query.reads):
        raise NotReusableError("a temporary view that names versions or files can't wait")
    maker = KeyMaker(scope, context, shapes=True)
    maker.text(statement.text, query.reads, target=statement.target, shift=statement.query_start)
    maker.calls(scope.calls)
    maker.fact("temporary view")
    return maker.made("columns")


def _function(scope: Scope, statement: CreateFunction, context: KeyContext) -> CacheKey:
    name = scope.name(statement.target.name)
    existing = scope.overlay.entry(name)
    if existing is not None and not (statement.replace and existing.noun == "function"):
        raise NotReusableError(f"{name} exists")
    maker = KeyMaker(scope, context, shapes=True)
    if statement.language == "sql":
        _add_query(scope, maker, statement.body)
    left = frozenset({"target", "body", "replace", "if_not_exists"})
    maker.fact("create function", statement.body.text, facts_of(statement, left))
    maker.schema()
    return maker.made("function", name)


def _add_query(scope: Scope, maker: KeyMaker, query: Query) -> None:
    maker.text(query.text, query.reads, query.diffs)
    maker.files(query.files)
    maker.calls(scope.calls)


def _kind(entry: Entry) -> ResultKind:
    if isinstance(entry, TableEntry):
        return "table"
    return "view" if isinstance(entry, ViewEntry) else "function"


_Maker = Callable[[Scope, Any, KeyContext], CacheKey]

_MAKERS: Final[dict[type[Statement], _Maker]] = {
    Query: _answer,
    ShowTableProperties: _properties,
    CreateTable: _table,
    CreateView: _view,
    CreateTemporaryView: _temporary,
    CreateFunction: _function,
    **dict.fromkeys(_CHANGES, _change),
    **dict.fromkeys(_ALTERS, _alter),
}
