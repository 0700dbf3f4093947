"""The rows of a statement that Spark ran or will run."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from dbt.adapters.vcs.engines.dataframes.statement_jobs import StatementJobs
from dbt.adapters.vcs.engines.engine_errors import UnfitError, sending
from dbt.adapters.vcs.engines.port import Column
from dbt.adapters.vcs.table.types import field_type_text

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import DataType, StructType


def columns_of_schema(schema: StructType) -> tuple[Column, ...]:
    """Return the columns of a Spark schema."""
    return tuple(
        Column(
            name=field.name,
            type=field_type_text(field),
            nullable=field.nullable,
            comment=(field.metadata or {}).get("comment"),
        )
        for field in schema.fields
    )


class SparkRows:
    """`Rows` over a DataFrame."""

    def __init__(
        self,
        frame: DataFrame,
        jobs: StatementJobs,
        text: str,
        *,
        is_done: Callable[[], bool],
        is_repeatable: Callable[[], bool],
        reads: object = None,
    ) -> None:
        """Take a frame.

        Args:
            text: The statement, as Spark was given it.
            is_done: Returns whether the statement is a command, which has run already.
            is_repeatable: As `AnalysedRows.is_repeatable`.
            reads: What must be kept for as long as the rows may be fetched.
        """
        self._frame = frame
        self._jobs = jobs
        self._text = text
        self._is_done = is_done
        self.is_repeatable = is_repeatable
        self._reads = reads
        self.columns = columns_of_schema(frame.schema)

    def fetch(self, limit: int | None = None) -> list[tuple[Any, ...]]:
        """Return the rows as Python values."""
        with sending(self._text), self._jobs.run():
            frame = _cast(self._frame, _fetched_type)
            if limit is not None:
                frame = frame.limit(limit)
            try:
                rows = frame.collect()
            except (ValueError, OverflowError) as error:
                # Spark has years before 1 and after 9999, Python's dates have not.
                raise UnfitError(error) from error
            return [tuple(_plain(value) for value in row) for row in rows]

    def run(self) -> None:
        """Run the query to its end; commands have already run."""
        with sending(self._text), self._jobs.run():
            if not self._is_done():
                # Spark leaves out what nobody asks for, so `count` would not compute the columns.
                self._frame.write.format("noop").mode("overwrite").save()

    def arrow(self) -> pa.Table:
        """Return all rows as one Arrow table."""
        with sending(self._text), self._jobs.run():
            return _cast(self._frame, _arrow_readable_type, is_json=True).toArrow()


def _cast(frame: DataFrame, wanted: Any, *, is_json: bool = False) -> DataFrame:
    """Return the frame with columns cast where `wanted` gives another type, names unchanged.

    With `is_json`, columns of type VARIANT become their JSON text.
    """
    functions = functions_for(frame)
    types = [field.dataType for field in frame.schema.fields]
    targets = [wanted(type_) for type_ in types]
    is_text = [is_json and type_.typeName() == "variant" for type_ in types]
    if targets == types and not any(is_text):
        return frame
    # Names may repeat, or have dots in them: `col` could not tell columns apart.
    names = [f"c{number}" for number in range(len(types))]
    columns = []
    for name, type_, target, as_text in zip(names, types, targets, is_text, strict=True):
        column = functions.col(name)
        if as_text:
            column = functions.to_json(column)
        elif target != type_:
            column = column.cast(target)
        columns.append(column)
    return frame.toDF(*names).select(*columns).toDF(*frame.columns)


def _fetched_type(type_: DataType) -> DataType:
    """Return the type to fetch as: wall-clock times, and text where Python has no match."""
    from pyspark.sql import types

    if isinstance(type_, types.TimestampType):
        # PySpark would use this machine's time zone, not the session's.
        return types.TimestampNTZType()
    if isinstance(type_, types.DayTimeIntervalType | types.YearMonthIntervalType):
        return types.StringType()
    return _inside(type_, _fetched_type)


def _arrow_readable_type(type_: DataType) -> DataType:
    from pyspark.sql import types

    if isinstance(type_, types.YearMonthIntervalType):
        return types.StringType()
    return _inside(type_, _arrow_readable_type)


def _inside(type_: DataType, change: Any) -> DataType:
    from pyspark.sql import types

    if isinstance(type_, types.ArrayType):
        return types.ArrayType(change(type_.elementType), type_.containsNull)
    if isinstance(type_, types.MapType):
        return types.MapType(
            change(type_.keyType), change(type_.valueType), type_.valueContainsNull
        )
    if isinstance(type_, types.StructType):
        return types.StructType(
            [
                types.StructField(field.name, change(field.dataType), field.nullable)
                for field in type_.fields
            ]
        )
    return type_


def _plain(value: Any) -> Any:
    """Return a collected value without PySpark's own types."""
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, bytearray):
        return bytes(value)
    # A Row, which is a tuple.
    if hasattr(value, "__fields__"):
        return dict(zip(value.__fields__, map(_plain, value), strict=True))
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {_key(key): _plain(item) for key, item in value.items()}
    # A VARIANT.
    if hasattr(value, "toJson"):
        return value.toJson()
    return value


def _key(value: Any) -> Any:
    """Return a map's key in a hashable form: structs and arrays stay tuples."""
    plain = _plain(value)
    if isinstance(plain, dict):
        return tuple(plain.items())
    return tuple(plain) if isinstance(plain, list) else plain


_CONNECT = "pyspark.sql.connect."


def is_remote(made: object) -> bool:
    """Return whether a frame or session is a server's."""
    return type(made).__module__.startswith(_CONNECT)


def functions_for(frame: DataFrame) -> Any:
    """Return the module of functions whose columns fit a frame.

    PySpark's own choice depends on the process's environment, and not on the frame.
    """
    if is_remote(frame):
        from pyspark.sql.connect import functions as remote

        return remote
    from pyspark.sql import functions

    return functions


def with_metadata(column: Any, name: str, metadata: Mapping[str, Any]) -> Any:
    """Return a column by a name, with metadata.

    In a process with Spark PySpark's own `alias` calls Java three times as often, to say in
    errors which line of Python made the column: that would be this one.
    """
    if not hasattr(column, "_jc"):
        return column.alias(name, metadata=dict(metadata))
    from py4j.java_gateway import JavaClass

    java = column._jc
    told = JavaClass("org.apache.spark.sql.types.Metadata", java._gateway_client)
    return type(column)(getattr(java, "as")(name, told.fromJson(json.dumps(dict(metadata)))))


def user_function_for(spark: SparkSession) -> Any:
    """Return the class of functions in Python that fits a session."""
    if is_remote(spark):
        from pyspark.sql.connect.udf import UserDefinedFunction as Remote

        return Remote
    from pyspark.sql.udf import UserDefinedFunction

    return UserDefinedFunction


def observation_for(frame: DataFrame) -> Any:
    """Return a new observation for a frame."""
    if is_remote(frame):
        from pyspark.sql.connect.observation import Observation as Remote

        return Remote()
    from pyspark.sql import Observation

    return Observation()
