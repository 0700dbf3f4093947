"""`execute immediate`: a statement in a string, with its parameters and variables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.statements.syntax.cursor import TokenCursor
from dbt.adapters.vcs.statements.syntax.lexer import Kind, Token, tokenize
from dbt.adapters.vcs.statements.syntax.query import Edit, edited
from dbt.adapters.vcs.statements.syntax.relations import is_name
from dbt.adapters.vcs.statements.syntax.scan import QUERY_WORDS


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundValue:
    """A value for a parameter.

    Attributes:
        value_sql: SQL text of a constant expression, which may name session variables.
        name: The parameter's name, lower case; None for the next `?`.
    """

    value_sql: str
    name: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecuteImmediate:
    """`execute immediate e [into v, ...] [using e [as n], ...]`.

    Attributes:
        text_sql: SQL text of the string with the statement.
        into: Session variables, as written, that receive the single row of a query.
        using: The parameters' values.
    """

    text_sql: str
    into: tuple[str, ...] = ()
    using: tuple[BoundValue, ...] = ()


def read_immediate(text: str, tokens: Sequence[Token]) -> ExecuteImmediate:
    """Read a statement that begins with `execute immediate`.

    Raises:
        InputError: It is not well formed.
    """
    cursor = TokenCursor(text, tokens)
    cursor.expect("execute", "immediate")
    text_sql = cursor.sql_until(lambda: cursor.at("into") or cursor.at("using"))
    into: tuple[str, ...] = ()
    if cursor.take("into"):
        into = cursor.bare_items(lambda: _variable(cursor))
    using: tuple[BoundValue, ...] = ()
    if cursor.take("using"):
        grouped = cursor.at("(") and _closes_at_end(cursor)
        read = cursor.items if grouped else cursor.bare_items
        using = read(lambda: _parameter(cursor))
    cursor.end()
    return ExecuteImmediate(text_sql=text_sql, into=into, using=using)


def with_values(text: str, values: Sequence[tuple[str | None, str]]) -> str:
    """Return a statement with its parameters, `?` or `:name`, replaced by values.

    Args:
        text: The statement.
        values: Names, lower case or None, and SQL text of literals.

    Raises:
        InputError: Parameters have no value, or values no parameter, or both kinds are used.
    """
    named = {name: value for name, value in values if name is not None}
    if named and len(named) < len(values):
        raise InputError(
            "Found values with and without names after `using`. Name all of them (`using 1 as a, "
            "2 as b` for :a and :b), or none (for ?)."
        )
    tokens = tokenize(text)
    edits = _of_names(tokens, named) if named else _of_places(tokens, [v for _, v in values])
    return edited(text, edits)


def is_query(text: str) -> bool:
    """Return whether a statement returns rows and changes nothing."""
    first = tokenize(text)[0].word
    return first == "(" or first in QUERY_WORDS - {"map", "reduce"}


def _of_names(tokens: Sequence[Token], values: Mapping[str, str]) -> list[Edit]:
    edits: list[Edit] = []
    for index in range(len(tokens) - 1):
        name = tokens[index + 1]
        glued = tokens[index].end == name.start
        if tokens[index].word == ":" and glued and is_name(name):
            if index and tokens[index - 1].word == ":":
                continue  # `a::int` is a cast
            if name.text.lower() not in values:
                raise InputError(
                    f"The parameter :{name.text} has no value. Name one after `using`: "
                    f"using 1 as {name.text}."
                )
            edits.append(Edit(tokens[index].start, name.end, values[name.text.lower()]))
    return edits


def _of_places(tokens: Sequence[Token], values: Sequence[str]) -> list[Edit]:
    marks = [token for token in tokens if token.word == "?"]
    if len(marks) != len(values):
        raise InputError(
            f"Found {len(marks)} parameters (?) in the statement and {len(values)} values after "
            "`using`; expected the same number of both."
        )
    return [Edit(m.start, m.end, value) for m, value in zip(marks, values, strict=True)]


def _variable(cursor: TokenCursor) -> str:
    start = cursor.token.start
    cursor.parts()
    return cursor.text[start : cursor.last.end]


def _parameter(cursor: TokenCursor) -> BoundValue:
    value = cursor.sql_until(lambda: cursor.at("as") and cursor.ahead(2).word in (",", ")", ""))
    if not cursor.take("as"):
        return BoundValue(value_sql=value)
    return BoundValue(value_sql=value, name=cursor.identifier("a parameter's name").lower())


def _closes_at_end(cursor: TokenCursor) -> bool:
    """Return whether the parenthesis here encloses the rest of the text."""
    depth = 0
    for place in range(cursor.index, len(cursor.tokens)):
        depth += {"(": 1, ")": -1}.get(cursor.tokens[place].word, 0)
        if not depth:
            behind = cursor.tokens[place + 1]
            return behind.kind is Kind.END
    return False
