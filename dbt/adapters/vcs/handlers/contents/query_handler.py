"""Queries and Spark commands, run as written on what the branch shows."""

from __future__ import annotations

import pyarrow as pa

from dbt.adapters.vcs.core.model import Input, RelationName, TableEntry
from dbt.adapters.vcs.handlers.contents.whole_count import whole_count
from dbt.adapters.vcs.handlers.handler_registry import handles
from dbt.adapters.vcs.scope.answer import ArrowRows, Outcome
from dbt.adapters.vcs.scope.statement_scope import Scope
from dbt.adapters.vcs.statements.families.command import SparkCommand
from dbt.adapters.vcs.statements.syntax.lexer import tokenize
from dbt.adapters.vcs.statements.syntax.query import Query


@handles(Query)
def query(scope: Scope, statement: Query) -> Outcome:
    """Return a query's rows, computed when they are fetched."""
    counted = _counted(scope, statement)
    if counted is not None:
        return Outcome(rows=counted)
    with scope.shown(scope.reads(statement.reads)):
        return Outcome(rows=scope.session.query(statement.text))


@handles(SparkCommand)
def spark_command(scope: Scope, statement: SparkCommand) -> Outcome:
    """Run a statement that changes no branch in Spark."""
    known = [name for name in scope.reads(statement.mentions) if _is_known(scope, name)]
    if known and tokenize(statement.text)[0].word == "analyze":
        # Manifests already hold the statistics of every version.
        return Outcome()
    with scope.shown(known):
        return Outcome(rows=scope.session.query(statement.text))


def _counted(scope: Scope, statement: Query) -> ArrowRows | None:
    """Return the rows of a count that the manifests know; None for any other query."""
    wanted = whole_count(statement)
    if wanted is None or scope.is_temporary(wanted.read.name):
        return None
    if scope.called() or any(map(scope.temporaries.function, scope.calls)):
        # `count` is a function of the user's.
        return None
    name = scope.name(wanted.read.name)
    entry = scope.overlay.entry(name)
    if not isinstance(entry, TableEntry):
        return None
    scope.note(Input(relation=str(name), snapshot=entry.snapshot))
    rows = scope.overlay.snapshot(entry.snapshot).rows
    return ArrowRows(pa.table({wanted.column: pa.array([rows], pa.int64())}))


def _is_known(scope: Scope, name: RelationName) -> bool:
    return scope.overlay.entry(name) is not None or name in scope.externals
