"""Spark's registry of functions: Python functions, and arrays that queries look into."""

from __future__ import annotations

import threading
import weakref
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from dbt.adapters.vcs.core.model import Function, RelationName
from dbt.adapters.vcs.engines.dataframes.functions import program
from dbt.adapters.vcs.engines.spark.context import java_class
from dbt.adapters.vcs.engines.spark.plans import run_command
from dbt.adapters.vcs.sql.syntax.names import CATALOG
from dbt.adapters.vcs.table.quoting import literal, quoted_relation

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_NAME: Final = "__vcs_function"
_CATALYST: Final = "org.apache.spark.sql.catalyst"


def builder(spark: SparkSession, name: RelationName, function: Function) -> Any:
    """Return Spark's builder of calls of a Python function.

    Raises:
        InputError: As for `program`.
        UnsupportedError: As for `program`.
    """
    from pyspark.sql.udf import UserDefinedFunction

    found = program(name, function)
    state = spark._jsparkSession.sessionState()
    made = UserDefinedFunction(
        found.call,
        found.returns,
        name=name.identifier,
        evalType=found.kind,
        deterministic=found.deterministic,
    )
    # PySpark makes a builder only while it registers a function, as a temporary one.
    spark.udf.register(_NAME, made)
    try:
        registry = state.functionRegistry()
        return registry.lookupFunctionBuilder(_temporary(spark, registry)).get()
    finally:
        state.catalog().dropTempFunction(_NAME, True)


def register(spark: SparkSession, name: RelationName, builder: Any) -> None:
    """Let a session call a function as if it were permanent; its catalog must have an entry."""
    info = java_class(spark.sparkContext, f"{_CATALYST}.expressions.ExpressionInfo")(
        "python", name.schema, name.identifier, "", ""
    )
    registry = spark._jsparkSession.sessionState().functionRegistry()
    registry.registerFunction(identifier(spark, name), info, builder)


def identifier(spark: SparkSession, name: RelationName) -> Any:
    """Return Spark's identifier of a permanent function."""
    context = spark.sparkContext
    some = java_class(context, "scala.Some")
    made = java_class(context, f"{_CATALYST}.FunctionIdentifier")
    return made(name.identifier, some(name.schema), some(CATALOG))


def _temporary(spark: SparkSession, registry: Any) -> Any:
    """Return this Spark version's name of the temporary function: three parts, or one."""
    jvm: Any = spark._jvm
    some, identifier = jvm.scala.Some, jvm.org.apache.spark.sql.catalyst.FunctionIdentifier
    named = identifier(_NAME, some("session"), some("system"))
    return named if registry.functionExists(named) else identifier(_NAME)


_TYPES: Final = "org.apache.spark.sql.types"
# The class of a function's catalog entry; it is never loaded.
_PLACEHOLDER: Final = "an.array.of.this.process"


class SharedArrays:
    """The arrays of one engine's catalog. Safe to use from several threads.

    Spark checks the catalog, which all sessions share, for a function's existence, and the
    registry of the session for its definition.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        # Sessions share a catalog, but each has a registry of its own (decision 26).
        self._sessions: weakref.WeakSet[SparkSession] = weakref.WeakSet()
        self._builders: dict[RelationName, Any] = {}

    def attach(self, spark: SparkSession) -> None:
        """Give a session the arrays that there are, and those that will be."""
        with self._lock:
            self._sessions.add(spark)
            for name, builder in self._builders.items():
                register(spark, name, builder)

    def add(self, spark: SparkSession, name: RelationName, numbers: npt.NDArray[np.int64]) -> str:
        """Make an array, unless there is one of that name, and return SQL for it.

        Args:
            spark: A session of the catalog, in which the name's schema exists.
        """
        function = quoted_relation(name)
        with self._lock:
            if name not in self._builders:
                builder = _builder(spark, numbers)
                run_command(
                    spark, f"create function if not exists {function} as {literal(_PLACEHOLDER)}"
                )
                # Any of them may read the relation that looks into the array.
                for session in {spark, *self._sessions}:
                    register(session, name, builder)
                self._builders[name] = builder
        return f"{function}()"

    def remove(self, name: RelationName, catalog: Any) -> None:
        """Remove an array that nothing names from Spark's catalog, and from all sessions."""
        with self._lock:
            if self._builders.pop(name, None) is None:
                return
            catalog.dropFunction(name.schema, name.identifier)
            for session in self._sessions:
                registry = session._jsparkSession.sessionState().functionRegistry()
                registry.dropFunction(identifier(session, name))


def _builder(spark: SparkSession, numbers: npt.NDArray[np.int64]) -> Any:
    """Return a builder of calls, for Spark a function from arguments to an expression.

    A map with a default value is such a function, so that nothing calls back into Python.
    """
    context = spark.sparkContext
    gateway: Any = context._gateway
    # Py4J would send the numbers one by one; bytes go in one call. Java reads big-endian.
    values = gateway.new_array(gateway.jvm.long, len(numbers))
    buffer = java_class(context, "java.nio.ByteBuffer").wrap(numbers.astype(">i8").tobytes())
    buffer.asLongBuffer().get(values)
    data = java_class(context, f"{_CATALYST}.expressions.UnsafeArrayData")
    number = java_class(context, f"{_TYPES}.DataType").fromDDL("bigint")
    type = java_class(context, f"{_TYPES}.ArrayType")(number, False)
    value = java_class(context, f"{_CATALYST}.expressions.Literal")(
        data.fromPrimitiveArray(values), type
    )
    empty = java_class(context, "scala.collection.immutable.Map$EmptyMap$")
    return getattr(empty, "MODULE$").withDefaultValue(value)
