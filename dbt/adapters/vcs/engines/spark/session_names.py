"""The temporary views and functions of one session, as Spark knows them."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from dbt.adapters.vcs.engines.temporaries import GLOBAL_TEMPORARY, TemporaryDefinition

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_OWN: Final = "__vcs"
"""Prefix of the names of internal views that serve one statement."""

_CATALOG: Final = "spark_catalog"
_NAMESPACE: Final = "catalogAndNamespace.part."
_VIEWS: Final = "referredTempViewNames"
_FUNCTIONS: Final = "referredTempFunctionsNames"
_BODIES: Final = ("sqlFunction.query", "sqlFunction.expression")

Properties = Callable[[str], "str | None"]
"""Returns a property that Spark stores with a view or function, or None."""


class TemporaryNames:
    """Reads temporary names from a session's catalog.

    The catalog is read whenever a statement needs it, so it doesn't matter how a name was
    made, replaced, renamed or dropped: by a statement, a DataFrame, or another session.
    """

    def __init__(self, spark: SparkSession) -> None:
        """Take the session."""
        self._java: Any = spark._jsparkSession

    def views(self) -> frozenset[str]:
        """Return the names of views, lower case; a global one as `global_temp.v`."""
        catalog = self._catalog
        local = _lines(catalog.getTempViewNames())
        shared = _lines(catalog.globalTempViewManager().listViewNames("*"))
        names = {name.lower() for name in local if not name.startswith(_OWN)}
        return frozenset(names | {f"{GLOBAL_TEMPORARY}.{name.lower()}" for name in shared})

    def view(self, name: str) -> TemporaryDefinition | None:
        """Return the definition of a view; None if there is none or it was not made by SQL."""
        schema, _, identifier = name.rpartition(".")
        if schema == GLOBAL_TEMPORARY:
            found = self._catalog.getRawGlobalTempView(identifier)
        else:
            found = self._catalog.getRawTempView(name)
        if not found.isDefined():
            return None
        table = found.get().tableMeta()
        text = table.viewText()
        if not text.isDefined():
            return None
        properties = table.properties()

        def property_of(key: str) -> str | None:
            value = properties.get(f"view.{key}")
            return str(value.get()) if value.isDefined() else None

        return _definition(str(text.get()), property_of)

    def functions(self) -> frozenset[str]:
        """Return the names of functions, lower case."""
        names = _lines(self._catalog.listTemporaryFunctions())
        return frozenset(name.rpartition(".")[2].lower() for name in names)

    def function(self, name: str) -> TemporaryDefinition | None:
        """Return the definition of a function; None if there is none or it was not made by SQL."""
        catalog = self._catalog
        for found in (
            catalog.lookupBuiltinOrTempFunction(name),
            catalog.lookupBuiltinOrTempTableFunction(name),
        ):
            if found.isDefined() and found.get().getClassName().startswith("sqlFunction."):
                properties: dict[str, str] = json.loads(found.get().getUsage())
                body = next(properties[key] for key in _BODIES if key in properties)
                return _definition(body, properties.get)
        return None

    @property
    def _catalog(self) -> Any:
        return self._java.sessionState().catalog()


def _definition(text: str, property_of: Properties) -> TemporaryDefinition:
    # Names of another catalog don't concern a branch.
    is_ours = property_of(f"{_NAMESPACE}0") == _CATALOG
    views = json.loads(property_of(_VIEWS) or "[]")
    return TemporaryDefinition(
        text=text,
        schema=(property_of(f"{_NAMESPACE}1") or "").lower() if is_ours else "",
        views=frozenset(".".join(parts).lower() for parts in views),
        functions=frozenset(name.lower() for name in json.loads(property_of(_FUNCTIONS) or "[]")),
    )


def _lines(names: Any) -> list[str]:
    """Return a Scala sequence of names, made in a single call."""
    return [name for name in str(names.mkString("\n")).split("\n") if name]
