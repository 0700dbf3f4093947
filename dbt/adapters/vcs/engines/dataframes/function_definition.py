"""The definition of a branch's function, as Spark reads it."""

from __future__ import annotations

from dbt.adapters.vcs.core.model import Function, Parameter, ViewColumn
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
