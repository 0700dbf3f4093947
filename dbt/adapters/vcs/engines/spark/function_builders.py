"""Spark's builders of calls of functions, and the registry where a session finds them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from dbt.adapters.vcs.core.model import Function, RelationName
from dbt.adapters.vcs.engines.dataframes.programs import program
from dbt.adapters.vcs.engines.spark.context import java_class

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_NAME: Final = "__vcs_function"
_CATALYST: Final = "org.apache.spark.sql.catalyst"
_CATALOG: Final = "spark_catalog"


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
    return made(name.identifier, some(name.schema), some(_CATALOG))


def _temporary(spark: SparkSession, registry: Any) -> Any:
    """Return this Spark version's name of the temporary function: three parts, or one."""
    jvm: Any = spark._jvm
    some, identifier = jvm.scala.Some, jvm.org.apache.spark.sql.catalyst.FunctionIdentifier
    named = identifier(_NAME, some("session"), some("system"))
    return named if registry.functionExists(named) else identifier(_NAME)
