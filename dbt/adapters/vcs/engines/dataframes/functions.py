"""A branch's functions as Spark reads them: definitions in SQL, and programs in Python."""

from __future__ import annotations

import importlib.metadata
import linecache
import re
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from dbt.adapters.vcs.core.errors import InputError, UnsupportedError
from dbt.adapters.vcs.core.model import Function, Parameter, RelationName, ViewColumn
from dbt.adapters.vcs.engines.dataframes import worker_handlers
from dbt.adapters.vcs.table.quoting import literal, quoted, sql_type


def function_definition(function: Function, body: str) -> str:
    """Return the text after the name in `create function`."""
    parts = [f"({', '.join(map(_parameter, function.parameters))})"]
    if function.shape == "table":
        parts.append(f"returns table {_columns(function.columns)}")
    elif function.returns is not None:
        parts.append(f"returns {sql_type(function.returns)}")
    if function.deterministic is not None:
        parts.append("deterministic" if function.deterministic else "not deterministic")
    if function.comment:
        parts.append(f"comment {literal(function.comment)}")
    return "\n".join([*parts, "return", body])


def _parameter(parameter: Parameter) -> str:
    default = f" default {parameter.default}" if parameter.default is not None else ""
    return f"{quoted(parameter.name)} {sql_type(parameter.type)}{default}"


def _columns(columns: tuple[ViewColumn, ...]) -> str:
    if not columns:
        return ""
    return f"({', '.join(f'{quoted(column.name)} {sql_type(column.type)}' for column in columns)})"


_PACKAGE: Final = re.compile(r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)")


class Program(NamedTuple):
    """A Python function as a user-defined function of Spark.

    Attributes:
        call: What the workers call.
        returns: Spark's type of the result.
        kind: Spark's number for how its arguments come.
        deterministic: False if equal arguments may give different results.
    """

    call: Callable[..., Any]
    returns: str
    kind: int
    deterministic: bool


def load(name: RelationName, function: Function) -> Callable[..., Any]:
    """Run the source of a Python function once, and return its handler.

    Raises:
        InputError: The source does not run, has no such handler, or a package is missing.
    """
    for package in function.packages:
        _check_package(name, package)
    place = f"<{name}.py>"
    # Lets tracebacks quote the source lines.
    lines = function.text.splitlines(keepends=True)
    linecache.cache[place] = (len(function.text), None, lines, place)
    # No module of that name can be imported, so cloudpickle sends what is in it by value.
    namespace: dict[str, Any] = {"__name__": f"dbt.{name}"}
    try:
        exec(compile(function.text, place, "exec"), namespace)
    except Exception as error:
        raise InputError(
            f"The source of the Python function {name} does not run: "
            f"{type(error).__name__}: {error}. Correct it."
        ) from error
    handler: object = namespace.get(function.handler or "")
    if not callable(handler):
        defined = sorted(
            key for key, value in namespace.items() if callable(value) and key[0] != "_"
        )
        raise InputError(
            f"The source of the Python function {name} defines no {function.handler}, which its "
            f"handler (in dbt: entry_point) names. It defines: {', '.join(defined) or 'nothing'}."
        )
    if function.shape == "aggregate":
        _check_aggregate(name, handler)
    return handler


def program(name: RelationName, function: Function) -> Program:
    """Return a Python function as Spark needs it.

    Raises:
        InputError: As for `load`.
        UnsupportedError: This version of Spark has no Python aggregates.
    """
    from pyspark import cloudpickle
    from pyspark.util import PythonEvalType

    handler = load(name, function)
    returns = function.returns or "string"
    call: Callable[..., Any] = worker_handlers.Scalar(handler, str(name), returns)
    kind: Any = PythonEvalType.SQL_BATCHED_UDF
    if function.shape == "aggregate":
        call = worker_handlers.Aggregate(handler, str(name), returns)
        kind = getattr(PythonEvalType, "SQL_GROUPED_AGG_ARROW_UDF", None)
        if kind is None:
            raise UnsupportedError(
                f"Aggregate functions in Python ({name}) need Spark 4.1 or later. Upgrade "
                "pyspark, or aggregate in SQL."
            )
    # Workers may not have dbt-vcs, so the module goes with the function.
    cloudpickle.register_pickle_by_value(worker_handlers)  # type: ignore[no-untyped-call]
    return Program(call, sql_type(returns), kind, function.deterministic is not False)


def _check_package(name: RelationName, package: str) -> None:
    found = _PACKAGE.match(package)
    try:
        importlib.metadata.distribution(found.group(1) if found else package)
    except importlib.metadata.PackageNotFoundError as error:
        raise InputError(
            f"The Python function {name} needs the package {package}, which is not installed "
            f"here. In a session functions run in dbt's own Python: pip install '{package}'"
        ) from error


def _check_aggregate(name: RelationName, handler: object) -> None:
    missing = [item for item in ("accumulate", "finish") if not hasattr(handler, item)]
    if missing or not isinstance(handler, type):
        raise InputError(
            f"The handler of the aggregate function {name} should be a class with accumulate and "
            f"finish; {', '.join(missing) or 'a class'} is missing."
        )
