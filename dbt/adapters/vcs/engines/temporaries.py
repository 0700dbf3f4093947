"""Temporary views and functions, which an engine's session has and no branch knows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Protocol

GLOBAL_TEMPORARY: Final = "global_temp"
"""The schema of temporary views that all sessions of an engine share."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TemporaryDefinition:
    """What a temporary view or function was made of.

    Attributes:
        text: The query, or the body of the function.
        schema: The schema of the names in it that have none, lower case; empty if they are
            none of the engine's own catalog.
        views: Temporary views that it names, lower case, a global one as `global_temp.v`. Any
            other name in it means none, even if there is one by now.
        functions: The same of temporary functions.
    """

    text: str
    schema: str
    views: frozenset[str]
    functions: frozenset[str]


class SessionTemporaries(Protocol):
    """Temporary views and functions of one session, which no branch knows."""

    def temporary_views(self) -> frozenset[str]:
        """Return the temporary views of this session, lower case; global ones with schema."""

    def temporary_view(self, name: str) -> TemporaryDefinition | None:
        """Return what a temporary view was made of; None if there is none, or of no SQL."""

    def temporary_functions(self) -> frozenset[str]:
        """Return the temporary functions of this session, lower case."""

    def temporary_function(self, name: str) -> TemporaryDefinition | None:
        """Return what a temporary function was made of; None if there is none, or of no SQL."""
