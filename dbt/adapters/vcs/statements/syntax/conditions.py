"""Conditions: text of the user's, put behind a relation in a query of ours."""

from __future__ import annotations

from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.statements.syntax.cursor import Cursor
from dbt.adapters.vcs.statements.syntax.expressions import read_expression
from dbt.adapters.vcs.statements.syntax.lexer import tokenize


def where_clause(condition: str) -> str:
    """Return a `where` clause that is read as one behind any relation, whatever its condition.

    Spark takes `t where (flag)` for a relation with an alias, `where`, and a list of columns; a
    comment at the condition's end would hide what follows. In the parentheses nothing but an
    expression is valid: no `limit`, no `union`.
    """
    return f"where true and ({condition}\n)"


def check_condition(text: str, what: str) -> None:
    """Raise unless a text is one expression.

    Args:
        text: A condition that stood in a string, so no reader of statements has seen it.
        what: How errors name it, such as "`where` of snapshot_diff".

    Raises:
        InputError: It is none: it is empty, or closes a parenthesis that it hasn't opened.
    """
    tokens = tokenize(text)
    cursor = Cursor(text, tokens)
    try:
        read_expression(cursor, lambda: False)
        cursor.end()
        if any(token.word == ";" for token in tokens):
            raise InputError("A semicolon ends no condition. Leave it out.")
    except InputError as error:
        raise InputError(f"{what} is not one condition: {text!r}. {error}") from error
