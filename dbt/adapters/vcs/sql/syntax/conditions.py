"""Conditions: checked, put after a relation of ours, and taken apart into comparisons."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.sql.syntax.conjuncts import (
    Comparison,
    Constant,
    bare,
    column_of,
    comparisons_in,
    split_at_operator,
    split_at_top,
)
from dbt.adapters.vcs.sql.syntax.cursor import TokenCursor
from dbt.adapters.vcs.sql.syntax.expressions import read_expression
from dbt.adapters.vcs.sql.syntax.lexer import Kind, Token, tokenize
from dbt.adapters.vcs.sql.syntax.literals import decode


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


_NEGATED = ("in", "between", "like")


@dataclass(frozen=True)
class Negation:
    """The opposite of a condition; NULL stays NULL."""

    of: ConditionTree


@dataclass(frozen=True)
class Junction:
    """Conditions joined by `and` or `or`, in SQL's logic of three values."""

    word: Literal["and", "or"]
    parts: tuple[ConditionTree, ...]


@dataclass(frozen=True)
class LikePattern:
    """`column like 'pattern'`."""

    column: str
    pattern: str


ConditionTree: TypeAlias = "Comparison | LikePattern | Negation | Junction"


def condition_tree(condition: str) -> ConditionTree | None:
    """Take a condition apart; return None if a part of it is none of these.

    `and`, `or`, `not`, parentheses; comparisons of a column with constants, `[not] in`,
    `[not] between`, `is [not] null`; `[not] like` without `escape`; a column of booleans.
    """
    return _tree(tokenize(condition)[:-1])


def _tree(tokens: Sequence[Token]) -> ConditionTree | None:
    tokens = bare(tokens)
    if not tokens:
        return None
    # `or` binds less than `and`, so it is looked for first.
    words: tuple[Literal["or"], Literal["and"]] = ("or", "and")
    for word in words:
        parts = split_at_top(tokens, word)
        if len(parts) > 1:
            return _joined(word, parts)
    if tokens[0].word in ("not", "!") and tokens[1:2] and tokens[1].word != "=":
        part = _tree(tokens[1:])
        return None if part is None else Negation(part)
    return _predicate(tokens)


def _joined(word: Literal["and", "or"], parts: Sequence[Sequence[Token]]) -> ConditionTree | None:
    found = tuple(map(_tree, parts))
    known = tuple(part for part in found if part is not None)
    return Junction(word, known) if len(known) == len(found) else None


def _predicate(tokens: Sequence[Token]) -> ConditionTree | None:
    found = comparisons_in(tokens)
    if found:
        return found[0] if len(found) == 1 else Junction("and", tuple(found))
    compared = split_at_operator(tokens)
    if compared is not None:
        if compared.word != "!=":
            return None
        equal = comparisons_in([*compared.left, _EQUAL, *compared.right])
        return Negation(equal[0]) if equal else None
    for place, token in enumerate(tokens):
        if token.word == "not" and tokens[place + 1 :] and tokens[place + 1].word in _NEGATED:
            part = _predicate([*tokens[:place], *tokens[place + 1 :]])
            return None if part is None else Negation(part)
        if token.word == "like":
            return _like(tokens[:place], tokens[place + 1 :])
    column = column_of(tokens)
    return None if column is None else Comparison(column, "=", (Constant("boolean", "true"),))


_EQUAL = tokenize("=")[0]


def _like(left: Sequence[Token], right: Sequence[Token]) -> LikePattern | None:
    column = column_of(left)
    if column is None or len(right) != 1 or right[0].kind is not Kind.STRING:
        return None
    return LikePattern(column, decode(right[0].text))
