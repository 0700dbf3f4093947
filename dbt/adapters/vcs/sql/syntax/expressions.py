"""Finds the end of an expression without parsing it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from dbt.adapters.vcs.sql.syntax.cursor import TokenCursor
from dbt.adapters.vcs.sql.syntax.lexer import Kind
from dbt.adapters.vcs.sql.syntax.statement import Slice

# After these words an expression continues: an `end` there is a column, not the end of a `case`.
_GOES_ON: Final = frozenset({"case", "when", "then", "else", "and", "or", "not", "(", ","})
_QUERIES: Final = frozenset({"select", "with", "from", "values", "table"})
# fmt: off
_AFTER_A_COLUMN: Final = frozenset({
    ".", "=", "<", ">", "/", "%", "|", "&", "^", ")", ",", "and", "or", "is", "in", "between",
    "like", "ilike", "rlike", "regexp", "div", "then", "when", "where",
})
_CLAUSES: Final = frozenset({
    "as", "cluster", "cross", "distribute", "except", "from", "full", "group", "having", "inner",
    "intersect", "join", "lateral", "limit", "minus", "natural", "offset", "order", "qualify",
    "returning", "sort", "union", "using", "window",
})
# After these words comes an operand, whatever its name.
BEFORE_AN_OPERAND: Final = _GOES_ON | {
    "is", "in", "between", "like", "ilike", "rlike", "regexp", "div", "escape", "distinct", "from",
    "all", "any", "some",
}
# fmt: on


def read_expression(cursor: TokenCursor, stop: Callable[[], bool]) -> Slice:
    """Skip an expression, and return its place.

    It ends where `stop` returns true (outside of `case ... end`, and not after a dot), before
    a comma, before a word that begins a clause of a query, and before the end of the statement
    or of an outer group. A query without parentheses is not an expression, although it would
    become one in parentheses.
    """
    start, cases = cursor.token.start, 0
    following = cursor.ahead()
    is_column = following.kind is Kind.END or following.word in _AFTER_A_COLUMN
    if cursor.token.word in _QUERIES and not is_column:
        cursor.fail("an expression")

    def stops() -> bool:
        nonlocal cases
        before = cursor.last.word
        if before == ".":
            return False
        if cases == 0 and (stop() or _begins_clause(cursor, start)):
            return True
        if cursor.at("case") and cursor.ahead().kind is not Kind.SYMBOL:
            cases += 1
        elif cursor.at("end") and cases and before not in _GOES_ON:
            cases -= 1
        return False

    cursor.sql_until(stops)
    return Slice(start, cursor.last.end)


def _begins_clause(cursor: TokenCursor, start: int) -> bool:
    """Return whether a word after an operand can't be part of an expression."""
    if cursor.token.word not in _CLAUSES or cursor.token.start == start:
        return False
    before = cursor.last
    if before.kind is Kind.SYMBOL:
        return before.word in (")", "]")
    return before.word not in BEFORE_AN_OPERAND
