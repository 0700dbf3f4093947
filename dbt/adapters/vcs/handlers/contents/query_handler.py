"""Queries and Spark commands, run as written on what the branch shows."""

from __future__ import annotations

from dbt.adapters.vcs.core.model import RelationName
from dbt.adapters.vcs.handlers.handler_registry import handles
from dbt.adapters.vcs.scope.answer import Outcome
from dbt.adapters.vcs.scope.statement_scope import Scope
from dbt.adapters.vcs.statements.families.command import SparkCommand
from dbt.adapters.vcs.statements.syntax.lexer import tokenize
from dbt.adapters.vcs.statements.syntax.query import Query


@handles(Query)
def query(scope: Scope, statement: Query) -> Outcome:
    """Return a query's rows, computed when they are fetched."""
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


def _is_known(scope: Scope, name: RelationName) -> bool:
    return scope.overlay.entry(name) is not None or name in scope.externals
