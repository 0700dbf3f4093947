"""Queries and Spark commands, run as written on what the branch shows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import pyarrow as pa

from dbt.adapters.vcs.core.model import Input, TableEntry
from dbt.adapters.vcs.sql.syntax.lexer import Kind, Token, tokenize
from dbt.adapters.vcs.sql.syntax.names import Reference, is_name
from dbt.adapters.vcs.sql.syntax.parser import Query, SparkCommand
from dbt.adapters.vcs.workspace.statement_scope import ArrowRows, Outcome, Scope, handles


@handles(Query)
def query(scope: Scope, statement: Query) -> Outcome:
    """Return a query's rows, computed when they are fetched."""
    counted = _count_rows(scope, statement)
    if counted is not None:
        # Manifests never change.
        scope.is_repeatable = lambda: True
        return Outcome(rows=counted)
    # Names have to hold only while the query is analysed: its rows are computed when they are
    # fetched.
    with scope.shown(scope.reads(statement.reads)):
        rows = scope.session.query(statement.text)
    scope.is_repeatable = rows.is_repeatable
    return Outcome(rows=rows)


@handles(SparkCommand)
def spark_command(scope: Scope, statement: SparkCommand) -> Outcome:
    """Run a statement that changes no branch in Spark."""
    # Keywords and columns are among the mentions: only what exists can be shown.
    known = [
        name
        for name in scope.reads(statement.mentions)
        if scope.overlay.entry(name) is not None or name in scope.externals
    ]
    if known and tokenize(statement.text)[0].word == "analyze":
        # Manifests already hold the statistics of every version.
        return Outcome()
    with scope.shown(known):
        return Outcome(rows=scope.session.query(statement.text))


def _count_rows(scope: Scope, statement: Query) -> ArrowRows | None:
    """Return the rows of a count that the manifests know; None for any other query."""
    wanted = _whole_count(statement)
    # A temporary view hides the table of its name.
    if wanted is None or scope.is_temporary(wanted.read.name):
        return None
    if scope.called() or any(map(scope.temporaries.function, scope.calls)):
        # `count` is a function of the user's.
        return None
    name = scope.name(wanted.read.name)
    entry = scope.overlay.entry(name)
    if not isinstance(entry, TableEntry):
        return None
    # Counted by the manifests or by Spark, the result follows from this version.
    scope.note(Input(relation=str(name), snapshot=entry.snapshot))
    rows = scope.overlay.snapshot(entry.snapshot).rows
    return ArrowRows(pa.table({wanted.column: pa.array([rows], pa.int64())}))


_COUNTS: Final = ("select count ( * )", "select count ( 1 )")
# Spark's name for the column of either form.
_SPARKS_NAME: Final = "count(1)"


class WholeCount(NamedTuple):
    """What `select count(*) [[as] n] from t` asks for."""

    read: Reference
    column: str


def _whole_count(query: Query) -> WholeCount | None:
    """Return what a query counts; None if it does anything else."""
    if len(query.reads) != 1 or query.files or query.diffs:
        return None
    (read,) = query.reads
    if read.at is not None:
        return None
    tokens = [token for token in tokenize(query.text) if token.kind is not Kind.END]
    before = [token for token in tokens if token.end <= read.start]
    after = [token for token in tokens if token.start >= read.end]
    name = _column(before) if _is_alias(after) else None
    return None if name is None else WholeCount(read, name)


def _column(before: Sequence[Token]) -> str | None:
    """Return the name of the column; None if other tokens are before the relation."""
    if " ".join(token.word for token in before[:5]) not in _COUNTS or before[-1].word != "from":
        return None
    named = before[5:-1]
    if not named:
        return _SPARKS_NAME
    is_bare = len(named) == 1 and is_name(named[0])
    # What begins with a digit may be a number, which names nothing.
    is_number = named[-1].word[:1].isdigit()
    return named[-1].text if (is_bare or _is_alias(named)) and not is_number else None


def _is_alias(tokens: Sequence[Token]) -> bool:
    """Return whether tokens are nothing, or `as` and a name."""
    return not tokens or (len(tokens) == 2 and tokens[0].word == "as" and is_name(tokens[1]))
