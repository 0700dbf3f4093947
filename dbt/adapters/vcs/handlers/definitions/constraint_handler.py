"""Adding and dropping the check constraints of a table that is there."""

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
    """Add a check constraint; the rows that are there have to keep to it.

    Raises:
        InputError: There is one of that name, rows break it, or its condition is none.
    """
    name = scope.name(statement.target.name)
    snapshot = scope.overlay.require_table(name)
    given = statement.check.name
    constraint = given.lower() if given else free_name(name.identifier, snapshot.properties)
    if CHECK + constraint in snapshot.properties:
        raise InputError(
            f"{name} has a constraint {constraint} already. Drop it first, or choose another name."
        )
    properties = {**snapshot.properties, CHECK + constraint: statement.check.expression}
    version = msgspec.structs.replace(snapshot, properties=properties)
    changed(scope, name, snapshot, version, operation="alter")
    return Outcome(relation=name)


@handles(DropConstraint)
def drop_constraint(scope: Scope, statement: DropConstraint) -> Outcome:
    """Drop a check constraint.

    Raises:
        InputError: There is none of that name, and `if exists` was not said.
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
            f"{name} has no check constraint {statement.name}; it has: {known}. A primary key "
            f"goes with: alter table {name} drop primary key."
        )
    return Outcome(relation=name)
