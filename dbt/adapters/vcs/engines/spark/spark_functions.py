"""The functions of the branch that one session can call.

SQL functions are in the catalog that all sessions share, but a session keeps the version that
it called first until its cache is cleared. Python functions are registered in each session as
if they were permanent, since Spark rejects temporary ones in views and in other functions. A
scalar one is wrapped in a SQL function that casts the arguments and fills in defaults.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from dbt.adapters.vcs.core.model import Function, RelationName
from dbt.adapters.vcs.engines.dataframes.function_definition import function_definition
from dbt.adapters.vcs.engines.port import PRIVATE
from dbt.adapters.vcs.engines.spark.catalog import Catalog
from dbt.adapters.vcs.engines.spark.function_builders import builder, identifier, register
from dbt.adapters.vcs.table.quoting import literal, quoted, quoted_relation

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_PLACEHOLDER: Final = "a.function.in.Python"
"""The class of a Python function's catalog entry; it is never loaded."""


class SparkFunctions:
    """The functions that one session can call besides Spark's own."""

    def __init__(self, spark: SparkSession, catalog: Catalog) -> None:
        """Take the session, and the catalog that it shares with others."""
        self._spark = spark
        self._catalog = catalog
        self._known: dict[RelationName, str] = {}
        self._programs: set[str] = set()

    def mount(self, name: RelationName, id: str, function: Function) -> None:
        """Mount a function under a name."""
        if function.shape == "aggregate":
            if self._known.get(name) != id:
                self._register(name, id, builder(self._spark, name, function))
        else:
            body = function.text
            if function.language == "python":
                body = self._program(name, id, function)
            self._catalog.mount_function(
                self._spark, name, id, function_definition(function, body)
            )
            # Spark looks it up again at the next call.
            if self._known.get(name) != id:
                self._forget(name)
        self._known[name] = id

    def unmount(self, name: RelationName) -> None:
        """Remove the function of a name."""
        self._catalog.unmount_function(self._spark, name)
        if self._known.pop(name, None) is not None:
            self._forget(name)

    def has(self, identifier: str) -> bool:
        """Return whether Spark has a built-in or temporary function of that name."""
        catalog = self._state.catalog()
        return bool(
            catalog.lookupBuiltinOrTempFunction(identifier).isDefined()
            or catalog.lookupBuiltinOrTempTableFunction(identifier).isDefined()
        )

    def _program(self, name: RelationName, id: str, function: Function) -> str:
        """Register a Python function under an immutable name, and return a call of it."""
        program = RelationName(PRIVATE, f"p_{id}")
        if id not in self._programs:
            self._register(program, id, builder(self._spark, name, function))
            self._programs.add(id)
        arguments = ", ".join(quoted(parameter.name) for parameter in function.parameters)
        return f"{quoted_relation(program)}({arguments})"

    def _register(self, name: RelationName, id: str, builder: Any) -> None:
        # Spark checks the catalog for the function's existence and the registry for its
        # definition.
        self._catalog.mount_function(self._spark, name, id, f" as {literal(_PLACEHOLDER)}")
        self._forget(name)
        register(self._spark, name, builder)

    def _forget(self, name: RelationName) -> None:
        known = identifier(self._spark, name)
        self._state.functionRegistry().dropFunction(known)
        self._state.tableFunctionRegistry().dropFunction(known)

    @property
    def _state(self) -> Any:
        return self._spark._jsparkSession.sessionState()
