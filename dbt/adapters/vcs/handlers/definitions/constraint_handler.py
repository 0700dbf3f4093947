"""Adding and dropping the check constraints of an existing table."""

from __future__ import annotations

import msgspec

from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.handlers.handler_registry import handles
from dbt.adapters.vcs.scope.answer import Outcome
from dbt.adapters.vcs.scope.statement_scope import Scope
from dbt.adapters.vcs.statements.families.alter import AddCheck, DropConstraint
from dbt.adapters.vcs.statements.readers.check_reader import CHECK, free_name
from dbt.adapters.vcs.writes.checks import checks_of
from dbt.adapters.vcs.writes.versions import changed


@handles(AddCheck)
def add_check(scope: Scope, statement: AddCheck) -> Outcome:
    """Add a check constraint, which existing rows must meet.

    Raises:
        InputError: The name is taken, rows violate it, or its condition is invalid.
    """
    name = scope.name(statement.target.name)
    snapshot = scope.overlay.require_table(name)
    given = statement.check.name
    constraint = given.lower() if given else free_name(name.identifier, snapshot.properties)
    if CHECK + constraint in snapshot.properties:
        raise InputError(
            f"{name} already has a constraint {constraint}. Drop it first, or choose another name."
        )
    properties = {**snapshot.properties, CHECK + constraint: statement.check.expression}
    version = msgspec.structs.replace(snapshot, properties=properties)
    changed(scope, name, snapshot, version, operation="alter")
    return Outcome(relation=name)


@handles(DropConstraint)
def drop_constraint(scope: Scope, statement: DropConstraint) -> Outcome:
    """Drop a check constraint.

    Raises:
        InputError: There is no such constraint, and `if exists` was not given.
    """
    name = scope.name(statement.target.name)
    snapshot = scope.overlay.require_table(name)
    properties = dict(snapshot.properties)
    if properties.pop(CHECK + statement.name.lower(), None) is not None:
        version = msgspec.structs.replace(snapshot, properties=properties)
        changed(scope, name, snapshot, version, operation="alter")
    elif not statement.if_exists:
        known = ", ".join(checks_of(snapshot.properties)) or "none"
        raise InputError(
            f"{name} has no check constraint {statement.name}; it has: {known}. To drop a "
            f"primary key: alter table {name} drop primary key."
        )
    return Outcome(relation=name)
