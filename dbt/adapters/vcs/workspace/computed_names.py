"""Computed names such as `identifier('s.' || 't')`, evaluated before parsing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from dbt.adapters.vcs.core.errors import EngineError, InputError
from dbt.adapters.vcs.scope.statement_scope import Scope
from dbt.adapters.vcs.statements.syntax.lexer import Token, tokenize
from dbt.adapters.vcs.statements.syntax.literals import quote_text
from dbt.adapters.vcs.statements.syntax.query import Edit, edited
from dbt.adapters.vcs.statements.syntax.relations import is_spelled
from dbt.adapters.vcs.statements.syntax.scan import QUERY_WORDS

_WORD: Final = "identifier"


def written_out(scope: Scope) -> str:
    """Return the scope's statement with each computed `identifier(...)` given a string.

    As in Spark, the expression must be constant: strings, functions of them, and session
    variables. Any other is left unchanged, and the parser rejects it.
    """
    if _WORD not in scope.text.lower():
        return scope.text
    try:
        tokens = tokenize(scope.text)
    except InputError:
        return scope.text  # the parser reports the error
    edits: list[Edit] = []
    for index in range(len(tokens) - 1):
        if tokens[index].word != _WORD or tokens[index + 1].word != "(":
            continue
        inside = _inside(tokens, index + 2)
        if inside and not is_spelled(tokens, index):
            start, end = inside[0].start, inside[-1].end
            name = _value(scope, scope.text[start:end], inside)
            if name is not None:
                edits.append(Edit(start, end, quote_text(name)))
    return edited(scope.text, edits)


def _inside(tokens: Sequence[Token], first: int) -> Sequence[Token]:
    """Return the tokens up to the parenthesis that closes a group; none if it isn't closed."""
    depth = 1
    for index in range(first, len(tokens)):
        depth += {"(": 1, ")": -1}.get(tokens[index].word, 0)
        if not depth:
            return tokens[first:index]
    return ()


def _value(scope: Scope, expression: str, tokens: Sequence[Token]) -> str | None:
    """Return the value of a constant string expression, or None if it isn't one."""
    if any(token.word in QUERY_WORDS for token in tokens):
        return None
    try:
        [[value]] = scope.session.query(f"select {expression}").fetch()
    except EngineError:
        return None  # it names a column, or a parameter without a value
    return value if isinstance(value, str) else None
