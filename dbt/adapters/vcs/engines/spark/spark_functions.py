"""The functions of the branch that one session can call.

SQL functions are Spark's own, in the catalog that all sessions share; but a session goes on with
the version that it called first, unless it is told to forget it. Python functions are registered
in each session as if they were such functions: Spark then takes them in views and in other
functions, which it refuses of temporary ones. A scalar one lies below a SQL function that casts
the arguments and fills in defaults.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from dbt.adapters.vcs.core.model import Function, Parameter, RelationName, ViewColumn
from dbt.adapters.vcs.engines.port import PRIVATE
from dbt.adapters.vcs.engines.spark.catalog import Catalog
from dbt.adapters.vcs.engines.spark.programs import builder
from dbt.adapters.vcs.rows.quoting import literal, quoted, quoted_relation

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_CATALOG: Final = "spark_catalog"
_PLACEHOLDER: Final = "a.function.in.Python"
"""Class of what stands in the catalog for a Python function; it is never loaded."""


class Functions:
    """What one session can call beside Spark's own functions."""

    def __init__(self, spark: SparkSession, catalog: Catalog) -> None:
        """Take the session, and the catalog that it shares with others."""
        self._spark = spark
        self._catalog = catalog
        self._known: dict[RelationName, str] = {}
        self._programs: set[str] = set()

    def mount(self, name: RelationName, id: str, function: Function) -> None:
        """Let a name call a function."""
        if function.shape == "aggregate":
            if self._known.get(name) != id:
                self._register(name, id, builder(self._spark, name, function))
        else:
            body = function.text
            if function.language == "python":
                body = self._program(name, id, function)
            self._catalog.mount_function(self._spark, name, id, _definition(function, body))
            # Spark looks it up anew when it is called next.
            if self._known.get(name) != id:
                self._forget(name)
        self._known[name] = id

    def unmount(self, name: RelationName) -> None:
        """Let a name call nothing."""
        self._catalog.unmount_function(self._spark, name)
        if self._known.pop(name, None) is not None:
            self._forget(name)

    def has(self, identifier: str) -> bool:
        """Tell whether Spark has a function of its own of that name, or a temporary one."""
        catalog = self._state.catalog()
        return bool(
            catalog.lookupBuiltinOrTempFunction(identifier).isDefined()
            or catalog.lookupBuiltinOrTempTableFunction(identifier).isDefined()
        )

    def _program(self, name: RelationName, id: str, function: Function) -> str:
        """Register a Python function under a name that never changes, and return a call of it."""
        program = RelationName(PRIVATE, f"p_{id}")
        if id not in self._programs:
            self._register(program, id, builder(self._spark, name, function))
            self._programs.add(id)
        arguments = ", ".join(quoted(parameter.name) for parameter in function.parameters)
        return f"{quoted_relation(program)}({arguments})"

    def _register(self, name: RelationName, id: str, builder: Any) -> None:
        # Spark asks the catalog whether there is such a function, and the registry what it is.
        self._catalog.mount_function(self._spark, name, id, f" as {literal(_PLACEHOLDER)}")
        self._forget(name)
        info = self._java.expressions.ExpressionInfo(
            "python", name.schema, name.identifier, "", ""
        )
        self._state.functionRegistry().registerFunction(self._identifier(name), info, builder)

    def _forget(self, name: RelationName) -> None:
        self._state.functionRegistry().dropFunction(self._identifier(name))
        self._state.tableFunctionRegistry().dropFunction(self._identifier(name))

    def _identifier(self, name: RelationName) -> Any:
        some = self._jvm.scala.Some
        return self._java.FunctionIdentifier(name.identifier, some(name.schema), some(_CATALOG))

    @property
    def _java(self) -> Any:
        return self._jvm.org.apache.spark.sql.catalyst

    @property
    def _state(self) -> Any:
        return self._spark._jsparkSession.sessionState()

    @property
    def _jvm(self) -> Any:
        return self._spark._jvm


def _definition(function: Function, body: str) -> str:
    """Return what follows the name in `create function`."""
    parts = [f"({', '.join(map(_parameter, function.parameters))})"]
    if function.shape == "table":
        parts.append(f"returns table {_columns(function.columns)}")
    elif function.returns is not None:
        parts.append(f"returns {function.returns}")
    if function.deterministic is not None:
        parts.append("deterministic" if function.deterministic else "not deterministic")
    if function.comment:
        parts.append(f"comment {literal(function.comment)}")
    return "\n".join([*parts, "return", body])


def _parameter(parameter: Parameter) -> str:
    default = f" default {parameter.default}" if parameter.default is not None else ""
    return f"{quoted(parameter.name)} {parameter.type}{default}"


def _columns(columns: tuple[ViewColumn, ...]) -> str:
    if not columns:
        return ""
    return f"({', '.join(f'{quoted(column.name)} {column.type}' for column in columns)})"
