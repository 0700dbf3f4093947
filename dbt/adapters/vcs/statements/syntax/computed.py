"""Expressions to evaluate before a statement can be parsed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from dbt.adapters.vcs.statements.syntax.lexer import Kind, Token, padded
from dbt.adapters.vcs.statements.syntax.query import Slice
from dbt.adapters.vcs.statements.syntax.relations import is_name

_TIMES: Final = frozenset({"timestamp", "system_time"})
_CASTS: Final = [["cast", "(", "", "as", type_, ")"] for type_ in ("timestamp", "date")]
_NO_RELATION: Final = frozenset({"select", "distinct", "all", "when", "then", "else", "by"})
_OPERATORS: Final = frozenset({"+", "-", "*", "/", "%", "|"})
_SIGNS: Final = frozenset({"+", "-"})
_TYPED: Final = frozenset({"timestamp", "date", "timestamp_ntz", "timestamp_ltz"})
# fmt: off
_UNITS: Final = frozenset(
    unit + plural
    for unit in (
        "year", "quarter", "month", "week", "day", "hour", "minute", "second", "millisecond",
        "microsecond", "nanosecond",
    )
    for plural in ("", "s")
)
# fmt: on


def is_kept(tokens: Sequence[Token]) -> bool:
    """Return whether a statement stores its text to be read later: a view or function."""
    words = [token.word for token in tokens[:6]]
    if words[0] not in ("create", "alter") or "table" in words[:4]:
        return False
    return bool({"view", "function"} & set(words))


def computed_times(tokens: Sequence[Token]) -> Iterator[Slice]:
    """Yield the place of each expression after `timestamp as of` that is not a literal."""
    tokens = padded(tokens)
    for index in range(len(tokens) - 8):
        words = [token.word for token in tokens[index : index + 3]]
        if words[0] not in _TIMES or words[1:] != ["as", "of"] or not _names(tokens, index):
            continue
        first = index + 3
        behind = _expression(tokens, first)
        if behind is not None and not _is_literal(tokens, first, behind):
            yield Slice(tokens[first].start, tokens[behind - 1].end)


def _names(tokens: Sequence[Token], index: int) -> bool:
    """Return whether a relation's name may precede a token; in `select timestamp as` none does."""
    before = tokens[index - 1] if index else tokens[-1]
    return before.word == ")" or (is_name(before) and before.word not in _NO_RELATION)


def _is_literal(tokens: Sequence[Token], first: int, behind: int) -> bool:
    if behind - first == 1:
        return tokens[first].kind is Kind.STRING
    if [token.word for token in tokens[first:behind]] in _CASTS:
        return tokens[first + 2].kind is Kind.STRING
    typed = tokens[first].word in ("timestamp", "date") and behind - first == 2
    return typed and tokens[first + 1].kind is Kind.STRING


def _expression(tokens: Sequence[Token], index: int) -> int | None:
    """Return the index after operands and operators; None if there is no operand."""
    behind = _operand(tokens, index)
    while behind is not None and tokens[behind].word in _OPERATORS:
        while tokens[behind].word in _OPERATORS:
            behind += 1
        behind = _operand(tokens, behind)
    return behind


def _operand(tokens: Sequence[Token], index: int) -> int | None:
    while tokens[index].word in _SIGNS:
        index += 1
    token = tokens[index]
    if token.kind is Kind.STRING:
        return index + 1
    if token.word == "(":
        return _group(tokens, index)
    if not is_name(token):
        return None
    if token.word == "interval":
        return _interval(tokens, index + 1)
    if token.word in _TYPED and tokens[index + 1].kind is Kind.STRING:
        return index + 2
    index += 1
    while tokens[index].word == "." and is_name(tokens[index + 1]):
        index += 2
    return _group(tokens, index) if tokens[index].word == "(" else index


def _interval(tokens: Sequence[Token], index: int) -> int:
    """Return the index after `'1' day to second`, `1 day 2 hours` or `'1 day'`."""
    while True:
        following = index + (2 if tokens[index].word in _SIGNS else 1)
        if tokens[following].word not in _UNITS:
            return index + 1 if tokens[index].kind is Kind.STRING else index
        index = following + 1
        if tokens[index].word == "to" and tokens[index + 1].word in _UNITS:
            index += 2


def _group(tokens: Sequence[Token], index: int) -> int | None:
    depth = 0
    for place in range(index, len(tokens)):
        depth += {"(": 1, ")": -1}.get(tokens[place].word, 0)
        if not depth:
            return place + 1
    return None
