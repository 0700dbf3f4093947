"""Statements in a string: `execute immediate`."""

from __future__ import annotations

from typing import Any, Final

from dbt.adapters.vcs.core.errors import EngineError, InputError
from dbt.adapters.vcs.core.model.data_type import FLOATS, INSTANTS, INTEGERS, TEXTS, type_of
from dbt.adapters.vcs.engines.port import Column
from dbt.adapters.vcs.rows.positions import placeless
from dbt.adapters.vcs.scope.statement_scope import Scope
from dbt.adapters.vcs.statements.families.immediate import (
    BoundValue,
    ExecuteImmediate,
    is_query,
    read_immediate,
    with_values,
)
from dbt.adapters.vcs.statements.syntax.lexer import tokenize
from dbt.adapters.vcs.statements.syntax.literals import quote_text

_PLAIN: Final = {"boolean", *INTEGERS, *FLOATS, *INSTANTS, "decimal", "interval", "time"}


def spoken(scope: Scope) -> str:
    """Return the scope's statement, taken from the string if it is `execute immediate`.

    Parameters are replaced by their values; with `into`, the statement sets the variables.

    Raises:
        InputError: The string is not a statement or is another `execute immediate`, or the
            values don't fit the parameters.
    """
    text = scope.text
    if "execute" not in text.lower():
        return text
    try:
        tokens = [token for token in tokenize(text) if token.word != ";"]
    except InputError:
        return text  # the parser reports the error
    if [token.word for token in tokens[:2]] != ["execute", "immediate"]:
        return text
    statement = read_immediate(text, tokens)
    inner = with_values(_text(scope, statement), [_value(scope, item) for item in statement.using])
    if [token.word for token in tokenize(inner)[:2]] == ["execute", "immediate"]:
        raise InputError(
            "`execute immediate` can't execute another `execute immediate`, as in Spark. Put the "
            "inner statement into the string."
        )
    if not statement.into:
        return inner
    if not is_query(inner):
        raise InputError(
            "`execute immediate ... into` needs a query whose row sets the variables. Leave "
            f"`into` out, or send a query; found: {' '.join(inner.split())[:80]}."
        )
    return f"set variable ({', '.join(statement.into)}) = ({inner.rstrip().rstrip(';')}\n)"


def _text(scope: Scope, statement: ExecuteImmediate) -> str:
    column, value = _constant(scope, statement.text_sql, "the statement's text")
    if value is None or not type_of(column.type).is_text:
        found = "NULL" if value is None else f"a value of type {column.type}"
        raise InputError(
            f"`execute immediate {statement.text_sql}` needs a string that holds a statement, "
            f"found {found}."
        )
    return str(value)


def _value(scope: Scope, parameter: BoundValue) -> tuple[str | None, str]:
    """Return the name of a parameter and its value as a literal."""
    column, value = _constant(scope, parameter.value_sql, "a value after `using`")
    if column.type == "void":
        return parameter.name, "null"
    if value is None:
        return parameter.name, f"cast(null as {column.type})"
    if type_of(column.type).is_text:
        return parameter.name, quote_text(value)
    if column.type == "binary":
        return parameter.name, f"unhex({quote_text(value)})"
    if type_of(column.type).kind not in _PLAIN:
        raise InputError(
            f"`using {parameter.value_sql}` is of type {column.type}; expected a number, a "
            "string, a time or another plain value. Write it into the statement's text."
        )
    if column.type in ("int", "boolean"):
        return parameter.name, str(value)
    return parameter.name, f"cast({quote_text(value)} as {column.type})"


def _constant(scope: Scope, expression: str, what: str) -> tuple[Column, Any]:
    """Evaluate an expression that reads no rows; return its column, and its value as text."""
    try:
        [column] = scope.session.columns_of(f"select {expression}\nas c")
        shown = "hex(c)" if column.type == "binary" else "cast(c as string)"
        if type_of(column.type).kind not in {*_PLAIN, *TEXTS, "binary", "void"}:
            return column, expression
        [[value]] = scope.session.query(f"select {shown} from (select {expression}\nas c)").fetch()
    except EngineError as error:
        raise InputError(
            f"Expected a constant for {what} of `execute immediate`, found {expression}: "
            f"{placeless(error)}"
        ) from error
    return column, value
