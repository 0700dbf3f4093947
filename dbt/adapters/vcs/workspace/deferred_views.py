"""Deferred views: temporary views that a session will have once it is needed.

A view whose columns are known needs no engine until something reads its rows. What came before the
session's start is then carried out in order, on what the branch shows at that time, as Spark
resolves the names in a temporary view each time.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from dbt.adapters.vcs.core.model import Origin
from dbt.adapters.vcs.engines.port import TemporaryDefinition
from dbt.adapters.vcs.workspace.overlay import Overlay


@dataclass(frozen=True, slots=True, kw_only=True)
class DeferredView:
    """One view.

    Attributes:
        definition: Its query, and what its names refer to.
        columns: Name, type and comment of its columns.
    """

    definition: TemporaryDefinition
    columns: tuple[tuple[str, str, str | None], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeferredStatement:
    """A statement that a session has not been sent.

    Attributes:
        text: The statement.
        overlay: What it sees.
        origin: Who sent it.
    """

    text: str
    overlay: Overlay
    origin: Origin


@dataclass(slots=True)
class Deferred:
    """What a session has not been sent yet.

    Attributes:
        views: Temporary views, by lower-case name.
        statements: The statements that make them, and settings, in order.
    """

    views: dict[str, DeferredView] = field(default_factory=dict)
    statements: list[DeferredStatement] = field(default_factory=list)

    def put(self, statement: DeferredStatement, view: tuple[str, DeferredView] | None) -> None:
        """Defer a statement, which makes a view or changes a setting."""
        self.statements.append(statement)
        if view is not None:
            self.views[view[0]] = view[1]

    def drop(self, name: str, statement: DeferredStatement) -> None:
        """Defer the statement that drops a view."""
        self.views.pop(name, None)
        self.statements.append(statement)

    def take(self) -> list[DeferredStatement]:
        """Return the statements, and forget everything: the session is about to have it."""
        taken, self.statements = self.statements, []
        self.views.clear()
        return taken
