"""Temporary views and functions of a session, which are not on any branch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Protocol

GLOBAL_TEMPORARY: Final = "global_temp"
"""The schema of temporary views that all sessions of an engine share."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TemporaryDefinition:
    """The definition of a temporary view or function.

    Attributes:
        text: The query, or the body of the function.
        schema: The schema of its unqualified names, lower case; empty if they are in another
            catalog.
        views: Temporary views that it names, lower case, a global one as `global_temp.v`.
            Other names in it don't refer to temporary views, even to later ones.
        functions: The same for temporary functions.
    """

    text: str
    schema: str
    views: frozenset[str]
    functions: frozenset[str]


class SessionTemporaries(Protocol):
    """Temporary views and functions of one session, which no branch knows."""

    def temporary_views(self) -> frozenset[str]:
        """Return the temporary views of this session, lower case, global ones with schema."""

    def temporary_view(self, name: str) -> TemporaryDefinition | None:
        """Return the definition of a temporary view; None if missing or not made by SQL."""

    def temporary_functions(self) -> frozenset[str]:
        """Return the temporary functions of this session, lower case."""

    def temporary_function(self, name: str) -> TemporaryDefinition | None:
        """Return the definition of a temporary function; None if missing or not made by SQL."""
