"""Writes outside of the branch: refused where nothing may change, and over the repository."""

from __future__ import annotations

from dbt.adapters.vcs.core.errors import ReadOnlyError, UnsupportedError
from dbt.adapters.vcs.core.store.reach import reaches
from dbt.adapters.vcs.scope.statement_scope import Scope
from dbt.adapters.vcs.statements.families.command import SparkCommand
from dbt.adapters.vcs.statements.families.insert import Insert
from dbt.adapters.vcs.statements.statement import Statement
from dbt.adapters.vcs.statements.syntax.excerpts import excerpt


def check_outside(scope: Scope, statement: Statement, *, allowed: bool) -> None:
    """Check that a statement may write where it does.

    Args:
        scope: Its scope.
        statement: The statement, as it was read.
        allowed: False on a connection that only reads.

    Raises:
        EngineError: It isn't SQL, where a connection only reads.
        ReadOnlyError: It may write outside of the branch, and the connection only reads.
        UnsupportedError: It names a place of the repository.
    """
    if not isinstance(statement, SparkCommand) or not statement.writes:
        return
    shown = excerpt(scope.text, 60)
    if not allowed:
        # A statement that nobody knows may only be misspelt.
        scope.session.check_syntax(scope.text)
        raise ReadOnlyError(
            f"This connection only reads, and the statement may write files or to another "
            f"catalog: `{shown}`. Use a connection to a branch, or dbt run-operation or dbt run."
        )
    uri = scope.overlay.repository.uri
    for place in statement.places:
        if reaches(place, uri) or reaches(scope.session.place(place), uri):
            raise UnsupportedError(
                f"The statement would write to {place}, and the repository {uri} is there: its "
                f"files would be overwritten or removed (`{shown}`). Nothing was changed. Write "
                "to a folder outside of the repository."
            )


def check_target(statement: Statement, schema: str) -> None:
    """Check that a statement about a temporary view adds no rows to it.

    Raises:
        UnsupportedError: It does: Spark would write to the files that the view was made of.
    """
    if isinstance(statement, Insert):
        name = statement.target.name
        raise UnsupportedError(
            f"{name} is a temporary view here, and no statement writes rows to one. For a table "
            f"of the branch write its schema: {schema}.{name.identifier}."
        )
