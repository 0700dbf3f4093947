"""Dropping and renaming relations."""

from __future__ import annotations

from dbt.adapters.vcs.core.errors import InputError, NotFoundError
from dbt.adapters.vcs.core.model import Absent, RelationName
from dbt.adapters.vcs.handlers.handler_registry import handles
from dbt.adapters.vcs.scope.answer import Outcome
from dbt.adapters.vcs.scope.statement_scope import Scope
from dbt.adapters.vcs.statements.alter import RenameRelation
from dbt.adapters.vcs.statements.table import DropRelation


@handles(DropRelation)
def drop_relation(scope: Scope, statement: DropRelation) -> Outcome:
    """Drop a table, a view or a function; its versions stay in the history.

    Raises:
        NotFoundError: There is no such relation.
        InputError: It is of another kind.
    """
    name = scope.name(statement.target.name)
    entry = scope.overlay.entry(name)
    if entry is None:
        if statement.if_exists:
            return Outcome()
        raise NotFoundError(f"There is no {statement.kind} {name} to drop.")
    if entry.noun != statement.kind:
        raise InputError(f"{name} is a {entry.noun}; write: drop {entry.noun} {name}.")
    scope.overlay.put(name, Absent)
    _hide(scope, name)
    return Outcome(relation=name)


@handles(RenameRelation)
def rename_relation(scope: Scope, statement: RenameRelation) -> Outcome:
    """Rename a table or a view; it keeps its history.

    Raises:
        NotFoundError: There is no such relation.
        InputError: The new name is taken.
    """
    name = scope.name(statement.target.name)
    new = statement.new.relation(name.schema)
    entry = scope.overlay.require(name)
    if scope.overlay.entry(new) is not None:
        raise InputError(f"{new} already exists; {name} can't be renamed to it.")
    scope.overlay.put(new, entry)
    scope.overlay.put(name, Absent)
    _hide(scope, name)
    return Outcome(relation=new)


def _hide(scope: Scope, name: RelationName) -> None:
    if scope.mounts.is_shown(name):
        scope.mounts.hide(name, scope.session)
