"""Defaults of columns. A default that the engine could not evaluate is rejected."""

from __future__ import annotations

from typing import Final

from dbt.adapters.vcs.core.errors import EngineError, InputError, UnsupportedError
from dbt.adapters.vcs.core.model.data_type import type_of
from dbt.adapters.vcs.core.model.snapshot import fitted
from dbt.adapters.vcs.sql.syntax.clauses import ColumnDef
from dbt.adapters.vcs.table.quoting import sql_type
from dbt.adapters.vcs.workspace.statement_scope import Scope

_KEPT: Final = (
    *("boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "decimal"),
    *("string", "char", "varchar", "date", "timestamp_ntz"),
)
"""Types of which a text is one value, whatever the session's time zone and the reader."""


def check_default(scope: Scope, column: str, default: str, type_: str) -> None:
    """Refuse a default that Spark would refuse in one of its own tables.

    It must be an expression that uses no row, reads no table, and has a type that can be stored as
    the column's. Otherwise no row could be inserted at all, not even with a value.

    Args:
        scope: The statement's scope.
        column: What errors call the column.
        default: An expression in SQL.
        type_: The column's type.

    Raises:
        InputError: It is not such an expression.
    """
    try:
        scope.session.check_default(default, type_)
    except EngineError as error:
        raise InputError(
            f"The default of the column {column} is not an expression of type {type_} without "
            f"columns: {default}. Spark says: {error}"
        ) from error


def initial_value(scope: Scope, column: ColumnDef) -> str | None:
    """Return the present value of a column's default, as stored in `Field.initial`; None for NULL.

    Raises:
        UnsupportedError: Values of the column's type have no stable text.
    """
    type_ = type_of(column.type)
    if type_.kind not in _KEPT or type_.collation:
        raise UnsupportedError(
            f"The column {column.name} can't have a default from the start: existing rows can't "
            f"get a value of type {column.type} without being rewritten. Add it without "
            "a default, fill it (update ... set), then alter the column: set default ..."
        )
    text = f"select cast(cast({column.default} as {sql_type(column.type)}) as string)"
    found = scope.session.query(text).fetch()[0][0]
    return None if found is None else fitted(str(found), column.type)
