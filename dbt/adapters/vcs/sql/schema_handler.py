"""Creating, dropping and using schemas."""

from __future__ import annotations

from dbt.adapters.vcs.core.errors import InputError, NotFoundError
from dbt.adapters.vcs.core.model import RelationName
from dbt.adapters.vcs.engines.port import GLOBAL_TEMPORARY
from dbt.adapters.vcs.sql.definitions import CreateSchema, DropSchema, Use
from dbt.adapters.vcs.sql.handler_registry import handles
from dbt.adapters.vcs.workspace.statement_scope import Outcome, Scope


@handles(CreateSchema)
def create_schema(scope: Scope, statement: CreateSchema) -> Outcome:
    """Create a schema.

    Raises:
        InputError: It already exists, or the name is reserved by the engine.
    """
    schema = statement.name.lower()
    if schema == GLOBAL_TEMPORARY:
        raise InputError(
            f"{schema} is Spark's schema of global temporary views. Give the schema another name."
        )
    if scope.overlay.has_schema(schema):
        if statement.if_not_exists:
            return Outcome()
        raise InputError(f"The schema {schema} already exists.")
    scope.overlay.put_schema(
        schema, comment=statement.comment, properties=dict(statement.properties)
    )
    return Outcome()


@handles(DropSchema)
def drop_schema(scope: Scope, statement: DropSchema) -> Outcome:
    """Drop a schema; `cascade` drops everything in it as well.

    Raises:
        NotFoundError: There is no such schema.
        InputError: It has relations and `cascade` was not given.
    """
    schema = statement.name.lower()
    if not scope.overlay.has_schema(schema):
        if statement.if_exists:
            return Outcome()
        raise NotFoundError(f"There is no schema '{schema}' to drop.")
    entries = scope.overlay.entries(schema)
    if entries and not statement.cascade:
        raise InputError(
            f"The schema {schema} holds {len(entries)} relations. "
            f"To drop them with it: drop schema {schema} cascade."
        )
    for identifier in entries:
        name = RelationName(schema, identifier)
        if scope.mounts.is_shown(name):
            scope.mounts.hide(name, scope.session)
    scope.overlay.drop_schema(schema)
    return Outcome()


@handles(Use)
def use(scope: Scope, statement: Use) -> Outcome:
    """Set the schema of unqualified names."""
    schema = statement.schema.lower()
    scope.overlay.require_schema(schema)
    scope.session.ensure_schema(schema)
    scope.schema = schema
    return Outcome(rows=scope.session.query(scope.text))
