"""Queries and Spark commands, run as written on what the branch shows.

Manifests answer the number of a table's rows and dbt's tests `not_null` and `unique`, where they
know that these find nothing (decision 53).
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import pyarrow as pa

from dbt.adapters.vcs.core.model import Field, Input, Snapshot, TableEntry
from dbt.adapters.vcs.core.model.data_type import INTEGERS, type_of
from dbt.adapters.vcs.sql.syntax.lexer import Token, tokenize
from dbt.adapters.vcs.sql.syntax.names import Reference, is_name
from dbt.adapters.vcs.sql.syntax.parser import Query, SparkCommand
from dbt.adapters.vcs.workspace.statement_scope import ArrowRows, Outcome, Scope, handles
from dbt.adapters.vcs.workspace.table_version import Version


@handles(Query)
def query(scope: Scope, statement: Query) -> Outcome:
    """Return a query's rows, computed when they are fetched."""
    known = _count_rows(scope, statement)
    if known is None:
        known = _passed_test(scope, statement)
    if known is not None:
        # Manifests never change.
        scope.is_repeatable = lambda: True
        return Outcome(rows=known)
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
    read = _only_read(statement)
    column = None if read is None else _count_column(statement.text, read)
    version = None if read is None or column is None else _counted_version(scope, read)
    if column is None or version is None:
        return None
    return ArrowRows(pa.table({column: pa.array([version.rows], pa.int64())}))


def _counted_version(scope: Scope, read: Reference) -> Snapshot | None:
    """Return the version whose rows a query counts; None if only Spark can count them."""
    # A temporary view hides the table of its name.
    if scope.is_temporary(read.name):
        return None
    if any(scope.temporaries.function(call) or scope.function(call) for call in scope.calls):
        # `count` is a function of the user's.
        return None
    name = scope.name(read.name)
    entry = scope.overlay.entry(name)
    if not isinstance(entry, TableEntry):
        return None
    # Counted by the manifests or by Spark, the result follows from this version.
    scope.note(Input(relation=str(name), snapshot=entry.snapshot))
    return scope.overlay.snapshot(entry.snapshot)


_COUNTS: Final = ("select count ( * )", "select count ( 1 )")
# Spark's name for the column of either form.
_SPARKS_NAME: Final = "count(1)"


def _only_read(query: Query) -> Reference | None:
    """Return the one relation that a query reads, as it is now; None if it reads anything else."""
    if len(query.reads) != 1 or query.files or query.diffs:
        return None
    (read,) = query.reads
    return None if read.at is not None else read


def _count_column(text: str, read: Reference) -> str | None:
    """Return the column of `select count(*) [[as] n] from t`; None for any other query."""
    tokens = tokenize(text)[:-1]
    before = [token for token in tokens if token.end <= read.start]
    if not _is_alias([token for token in tokens if token.start >= read.end]):
        return None
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


# What begins with a digit may be a number, and of the keywords of Spark 4.3 these five are no
# columns here without backquotes.
_NAME: Final = r"`[^`]+`|(?!(?i:all|distinct|join|not|null)\b)[A-Za-z_]\w*"
_CONDITION: Final = r"(!=|<>|==?|<=?|>=?)\s*(\d{1,9})"
_COMPARE: Final[Mapping[str, Callable[[int, int], bool]]] = {
    "!=": operator.ne,
    "<>": operator.ne,
    "=": operator.eq,
    "==": operator.eq,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
# The texts of dbt's own macros, with `\0` in the place of the relation. Another `fail_calc`, a
# `where`, and `--store-failures` give other texts.
_TEST: Final = re.compile(
    rf"""select\s+count\(\*\)\ as\ failures,
    \s+count\(\*\)\ {_CONDITION}\ as\ should_warn,
    \s+count\(\*\)\ {_CONDITION}\ as\ should_error
    \s+from\ \(\s+
    (?:
        select\ (?P<not_null>{_NAME})\s+from\s+\0\s+where\ (?P=not_null)\ is\ null
      | select\s+(?P<unique>{_NAME})\ as\ unique_field,\s+count\(\*\)\ as\ n_records
        \s+from\s+\0\s+where\ (?P=unique)\ is\ not\ null
        \s+group\ by\ (?P=unique)\s+having\ count\(\*\)\ >\ 1
    )
    (?:\s+limit\ \d+)?\s*\)\s+dbt_internal_test""",
    re.ASCII | re.VERBOSE,
)


def _passed_test(scope: Scope, statement: Query) -> ArrowRows | None:
    """Return what a test of dbt's finds, if the manifests know that it finds nothing."""
    text, read = statement.text, _only_read(statement)
    if read is None or not text.endswith("dbt_internal_test"):
        return None
    first = tokenize(text)[0].start
    asked = _TEST.fullmatch(f"{text[first : read.start]}\0{text[read.end :]}")
    version = None if asked is None else _counted_version(scope, read)
    if asked is None or version is None:
        return None
    name = (asked["not_null"] or asked["unique"]).strip("`")
    # In the table's own spelling: a setting decides whether Spark takes another.
    field = next((field for field in version.schema.fields if field.name == name), None)
    if field is None:
        return None
    if asked["unique"]:
        is_empty = _is_unique(version, field)
    else:
        is_empty = Version.of(scope.overlay.repository, version).nulls(field) == 0
    return _no_failures(asked) if is_empty else None


def _is_unique(version: Snapshot, field: Field) -> bool:
    """Return whether the check of the primary key says that no two values are equal."""
    # The check compares bytes, and so does Spark's `group by` for these types.
    type_ = type_of(field.type)
    is_compared_alike = type_.is_plain_text or type_.kind in (*INTEGERS, "date", "decimal")
    return version.is_key_enforced and version.primary_key == (field.id,) and is_compared_alike


def _no_failures(asked: re.Match[str]) -> ArrowRows:
    """Return the row of a test that finds nothing."""
    warn, warn_at, error, error_at = asked.groups()[:4]
    row: dict[str, Any] = {
        "failures": pa.array([0], pa.int64()),
        "should_warn": pa.array([_COMPARE[warn](0, int(warn_at))]),
        "should_error": pa.array([_COMPARE[error](0, int(error_at))]),
    }
    return ArrowRows(pa.table(row))
