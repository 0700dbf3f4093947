"""Handlers by type of statement."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias, TypeVar

from dbt.adapters.vcs.sql.syntax.parser import load_families
from dbt.adapters.vcs.sql.syntax.statement import Statement
from dbt.adapters.vcs.workspace.statement_scope import Outcome, Scope

Handler: TypeAlias = Callable[[Scope, Any], Outcome]
"""Carries out a statement in its scope."""

_S = TypeVar("_S", bound=Statement)
_HANDLERS: Final[dict[type[Statement], Handler]] = {}


def handles(
    kind: type[_S],
) -> Callable[[Callable[[Scope, _S], Outcome]], Callable[[Scope, _S], Outcome]]:
    """Register a function as the handler of one type of statement."""

    def register(handler: Callable[[Scope, _S], Outcome]) -> Callable[[Scope, _S], Outcome]:
        if kind in _HANDLERS:
            raise ValueError(f"Two handlers for {kind.__name__}.")
        _HANDLERS[kind] = handler
        return handler

    return register


def handler_of(statement: Statement) -> Handler | None:
    """Return the handler of a statement; None if there is none."""
    load_families()
    return _HANDLERS.get(type(statement))
