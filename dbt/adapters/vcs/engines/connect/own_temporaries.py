"""The temporary views and functions that a session's user made on the server."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from dbt.adapters.vcs.engines.connect.name_registry import PREFIX
from dbt.adapters.vcs.engines.temporaries import TemporaryDefinition

if TYPE_CHECKING:
    from pyspark.sql.connect.session import SparkSession

_INTERNAL: Final = PREFIX[:-1]


@dataclass(slots=True)
class Recorded:
    """A view or function made by SQL.

    Attributes:
        definition: Its text as its author wrote it.
        statement: Returns the statement that makes it, given its text as it is sent.
        sent: The text as it was sent last.
    """

    definition: TemporaryDefinition
    statement: Callable[[str], str]
    sent: str


class OwnTemporaries:
    """Knows the temporary names of one session.

    The server is asked for the names again after each statement that may have changed them. It
    doesn't tell what they were made of, so definitions are kept here.
    """

    def __init__(self, spark: SparkSession) -> None:
        """Take the session."""
        self._spark = spark
        self._lock = threading.RLock()
        self._views: frozenset[str] | None = None
        self._functions: frozenset[str] | None = None
        self.mounted: set[str] = set()
        self.recorded_views: dict[str, Recorded] = {}
        self.recorded_functions: dict[str, Recorded] = {}

    def forget(self) -> None:
        """Ask the server again, since anything may have been made or dropped."""
        with self._lock:
            self._views = self._functions = None

    def views(self) -> frozenset[str]:
        """Return the names of views, lower case, without those that serve statements."""
        with self._lock:
            if self._views is None:
                rows = self._spark.sql("show views").collect()
                names = {row.viewName.lower() for row in rows if row.isTemporary}
                self._views = frozenset(name for name in names if not name.startswith(_INTERNAL))
                self._drop_others(self.recorded_views, self._views)
            return self._views

    def functions(self) -> frozenset[str]:
        """Return the names of functions, lower case."""
        with self._lock:
            if self._functions is None:
                rows = self._spark.sql("show `user` functions").collect()
                names = {row[0].lower() for row in rows}
                self._functions = frozenset(
                    name for name in names if "." not in name and not name.startswith(_INTERNAL)
                )
                self._drop_others(self.recorded_functions, self._functions)
            return self._functions

    def view(self, name: str) -> TemporaryDefinition | None:
        """Return the definition of a view; None if there is none or it was not made by SQL."""
        found = self.recorded_views.get(name) if name in self.views() else None
        return None if found is None else found.definition

    def function(self, name: str) -> TemporaryDefinition | None:
        """Return the definition of a function; None if there is none."""
        found = self.recorded_functions.get(name) if name in self.functions() else None
        return None if found is None else found.definition

    @staticmethod
    def _drop_others(recorded: dict[str, Recorded], names: frozenset[str]) -> None:
        for name in recorded.keys() - names:
            del recorded[name]
