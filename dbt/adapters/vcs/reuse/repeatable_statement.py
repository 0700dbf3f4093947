"""Repeatable statements: whether carrying one out twice gives the same rows."""

from __future__ import annotations

from dbt.adapters.vcs.scope.statement_scope import Scope
from dbt.adapters.vcs.statements.families.insert import Insert
from dbt.adapters.vcs.statements.families.row_change import Merge
from dbt.adapters.vcs.statements.families.table import CreateTable
from dbt.adapters.vcs.statements.parser import parse
from dbt.adapters.vcs.statements.statement import Statement
from dbt.adapters.vcs.statements.syntax.canonical import asks_for_columns
from dbt.adapters.vcs.statements.syntax.names import Reference
from dbt.adapters.vcs.statements.syntax.query import Query


def is_repeatable(scope: Scope, settled: Statement, own_text: str | None) -> bool:
    """Return whether a statement that was carried out would do the same again.

    The engine's analysis decides on its query. What depends on the moment was refused before.

    Args:
        scope: The statement's scope.
        settled: The statement, with versions resolved.
        own_text: The query to look at instead of the statement's own, if any.

    Raises:
        EngineError: The engine can't analyse the query.
    """
    if own_text is not None:
        own = parse(own_text)
        return isinstance(own, Query) and _is_query_repeatable(scope, own.text, own.reads)
    match settled:
        case Query():
            if asks_for_columns(settled.text):
                return True
            return _is_query_repeatable(scope, settled.text, settled.reads)
        case CreateTable(query=Query() as query):
            return _is_query_repeatable(scope, query.text, query.reads)
        case Insert():
            if settled.query.text.lstrip().lower().startswith("values"):
                return True
            return _is_query_repeatable(scope, settled.query.text, settled.query.reads)
        case Merge():
            return _is_query_repeatable(scope, settled.source_query(), settled.reads)
    # A definition, or a change whose text was searched.
    return True


def _is_query_repeatable(scope: Scope, text: str, reads: tuple[Reference, ...]) -> bool:
    with scope.shown(scope.reads(reads)):
        return scope.session.is_repeatable(text)
