"""The user's conditions, put after a relation in a query of ours."""

from __future__ import annotations

from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.statements.syntax.cursor import TokenCursor
from dbt.adapters.vcs.statements.syntax.expressions import read_expression
from dbt.adapters.vcs.statements.syntax.lexer import tokenize


def where_clause(condition: str) -> str:
    """Return a `where` clause that is safe after any relation, whatever its condition.

    Spark parses `t where (flag)` as a relation with the alias `where` and a list of columns,
    and a comment at the end of the condition would hide what follows. Only an expression is
    valid in the parentheses: no `limit`, no `union`.
    """
    return f"where true and ({condition}\n)"


def check_condition(text: str, what: str) -> None:
    """Check that a text is one expression.

    Args:
        text: A condition from a string, which no reader of statements has checked.
        what: Its name in errors, such as "`where` of snapshot_diff".

    Raises:
        InputError: It is empty, or closes a parenthesis that it hasn't opened.
    """
    tokens = tokenize(text)
    cursor = TokenCursor(text, tokens)
    try:
        read_expression(cursor, lambda: False)
        cursor.end()
        if any(token.word == ";" for token in tokens):
            raise InputError("A condition has no semicolon. Leave it out.")
    except InputError as error:
        raise InputError(f"{what} is not one condition: {text!r}. {error}") from error
