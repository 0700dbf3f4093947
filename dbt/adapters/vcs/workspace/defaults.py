"""Defaults of columns: those that the engine could not give to a row are refused."""

from __future__ import annotations

import uuid

from dbt.adapters.vcs.core.errors import EngineError, InputError
from dbt.adapters.vcs.core.model import RelationName
from dbt.adapters.vcs.engines.catalog import PRIVATE
from dbt.adapters.vcs.engines.quoting import quoted_relation
from dbt.adapters.vcs.workspace.scope import Scope


def check_default(scope: Scope, column: str, default: str, type_: str) -> None:
    """Refuse a default that Spark would refuse in a table of its own.

    It must be an expression that needs no row, reads no table, and whose type can be stored as
    the column's: else the column takes no row at all, not even with a value.

    Args:
        scope: The statement's scope.
        column: What errors call the column.
        default: An expression in SQL.
        type_: The column's type.

    Raises:
        InputError: It is none.
    """
    table = quoted_relation(RelationName(PRIVATE, f"d_{uuid.uuid4().hex}"))
    scope.session.ensure_schema(PRIVATE)
    try:
        # Nothing but DDL knows all of these rules; it makes an empty folder and no file.
        scope.session.query(f"create table {table} (c {type_} default {default}) using parquet")
    except EngineError as error:
        raise InputError(
            f"The default of the column {column} is no expression of type {type_} that needs no "
            f"row: {default}. Spark says: {error}"
        ) from error
    scope.session.query(f"drop table {table}")
