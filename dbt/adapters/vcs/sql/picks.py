"""The rows of another version that a `snapshot pick` selects."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timezone, tzinfo
from typing import Any, Final

import pyarrow as pa

from dbt.adapters.vcs.changes.diffs.diff_inputs import zone_of
from dbt.adapters.vcs.changes.diffs.difference import Difference
from dbt.adapters.vcs.changes.merges.rowwise.row_policy import Keys, Pick
from dbt.adapters.vcs.changes.merges.table_merge import TableMerge, base_of, key_of
from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.core.model import Field, Schema, Snapshot
from dbt.adapters.vcs.sql.syntax.conditions import where_clause
from dbt.adapters.vcs.sql.time_travel import settled_text
from dbt.adapters.vcs.sql.versioning import SnapshotPick
from dbt.adapters.vcs.table.exact_values import key_value
from dbt.adapters.vcs.table.python_values import python_value
from dbt.adapters.vcs.table.quoting import quoted
from dbt.adapters.vcs.table.types import arrow_type
from dbt.adapters.vcs.workspace.moments import zone_named
from dbt.adapters.vcs.workspace.pins import query_of_body
from dbt.adapters.vcs.workspace.statement_scope import Scope

_AT_A_TIME: Final = 200
"""How many values one query computes; each is a column of its own."""


def picked_rows(scope: Scope, work: TableMerge, statement: SnapshotPick) -> Pick:
    """Return the rows that a statement picks.

    With `where` these are the changed rows that meet the condition before or after the change.
    Everything that the condition, the keys or the query read is made readable and recorded as
    input.

    Raises:
        InputError: The keys don't fit the table's key, or a value doesn't fit its type.
    """
    if statement.where is not None:
        return Pick(keys=_by_condition(scope, work, statement))
    if statement.query is not None:
        return Pick(keys=_by_query(scope, work, statement.query))
    if statement.keys:
        return Pick(keys=_by_keys(scope, work, statement.keys))
    return Pick()


def _by_keys(scope: Scope, work: TableMerge, keys: Sequence[Sequence[str]]) -> Keys:
    columns = _telling(scope, work)
    _check_count(work, columns, len(keys[0]))
    texts = [value for key in keys for value in key]
    values: list[pa.Scalar] = []
    for first in range(0, len(texts), _AT_A_TIME):
        some = enumerate(texts[first : first + _AT_A_TIME])
        query = "select " + ", ".join(f"({text}\n) as k{number}" for number, text in some)
        values += (column[0] for column in _rows(scope, query).columns)
    by_column = [values[place :: len(columns)] for place in range(len(columns))]
    found = [_exact(scope, work, *pair) for pair in zip(columns, by_column, strict=True)]
    return list(zip(*found, strict=True))


def _by_query(scope: Scope, work: TableMerge, query: str) -> Keys:
    columns = _telling(scope, work)
    rows = _rows(scope, query)
    _check_count(work, columns, rows.num_columns)
    if all(map(_is_exact, columns, rows.columns)):
        return rows
    found = [_exact(scope, work, *pair) for pair in zip(columns, rows.columns, strict=True)]
    return list(zip(*found, strict=True))


def _by_condition(scope: Scope, work: TableMerge, statement: SnapshotPick) -> Keys:
    """Return the keys of changed rows that meet a condition."""
    repository = scope.overlay.repository
    base = base_of(repository, work)
    theirs: Snapshot = scope.overlay.snapshot(work.theirs)
    difference = Difference(
        repository=repository, before=scope.overlay.snapshot(base) if base else None, after=theirs
    )
    called = {field.id: field.name for field in theirs.schema.fields}
    names = ", ".join(quoted(called[column.id]) for column in _telling(scope, work))
    relation = difference.relation(scope.session, "changes")
    alias = quoted(statement.source.name.identifier)
    condition = query_of_body(settled_text(scope, query_of_body(statement.where or "")))
    text = f"select distinct {names} from {relation} as {alias} {where_clause(condition.text)}"
    with scope.reading(condition):
        return scope.session.query(text).arrow()


def _telling(scope: Scope, work: TableMerge) -> tuple[Field, ...]:
    """Return the columns that tell the rows of the target apart: a pick keeps its definition.

    Raises:
        InputError: The source lacks one.
    """
    columns = key_of(scope.overlay.snapshot(work.ours))
    theirs: Schema = scope.overlay.snapshot(work.theirs).schema
    # Where the source dropped one, the merge says so.
    known = [column for column in columns if column.id not in theirs.retired]
    lacking = [column.name for column in known if theirs.by_id(column.id) is None]
    if lacking:
        raise InputError(
            f"{', '.join(lacking)} tells the rows of {work.name} apart, and the version to pick "
            "from has no such column. Merge all of its changes with `snapshot merge`, or give "
            f"{work.name} a primary key of columns that both have."
        )
    return tuple(known)


def _rows(scope: Scope, text: str) -> pa.Table:
    query = query_of_body(settled_text(scope, query_of_body(text)))
    with scope.reading(query):
        return scope.session.query(query.text).arrow()


def _is_exact(column: Field, values: pa.ChunkedArray) -> bool:
    """Return whether values can be compared with a column's as they are: whole numbers."""
    type_ = arrow_type(column.type)
    return bool(pa.types.is_integer(type_) and values.type == type_ and not values.null_count)


def _exact(
    scope: Scope, work: TableMerge, column: Field, values: Sequence[pa.Scalar] | pa.ChunkedArray
) -> list[Any]:
    """Return values converted to the column's type."""
    return list(_exactly(scope, work, column, values))


def _exactly(
    scope: Scope, work: TableMerge, column: Field, values: Sequence[pa.Scalar] | pa.ChunkedArray
) -> Iterator[Any]:
    is_key = column.id in scope.overlay.snapshot(work.ours).primary_key
    zone = _zone(scope, column)
    for value in values:
        if is_key and not value.is_valid:
            raise InputError(
                f"The column {column.name} is in the primary key of {work.name} and is never "
                "NULL. Leave this key out."
            )
        yield python_value(key_value(work.name, column.name, column.type, value, zone))


def _zone(scope: Scope, column: Field) -> tzinfo:
    """Return the session's time zone if the column needs it."""
    if not pa.types.is_temporal(arrow_type(column.type)):
        return timezone.utc
    return zone_named(zone_of(scope.session))


def _check_count(work: TableMerge, columns: Sequence[Field], count: int) -> None:
    if count != len(columns):
        names = ", ".join(column.name for column in columns)
        raise InputError(
            f"A key of {work.name} needs a value for each of ({names}). Give all of them."
        )
