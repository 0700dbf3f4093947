"""Calls: names in a text that are followed by an opening parenthesis."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from dbt.adapters.vcs.sql.syntax.lexer import Token, tokenize
from dbt.adapters.vcs.sql.syntax.names import Name
from dbt.adapters.vcs.sql.syntax.relations import (
    computed_name,
    is_name,
    is_spelled,
    read_name,
)


class Call(NamedTuple):
    """One place where a function may be called.

    Attributes:
        name: The name, as written.
        start: Offset of its first character.
        end: Offset after its last character.
    """

    name: Name
    start: int
    end: int


def calls_of(text: str) -> tuple[Call, ...]:
    """Return the calls in a text, in order.

    It reports too much, such as `in (` or a table with a list of columns. The caller checks
    whether there is such a function.

    Raises:
        UnsupportedError: A function's name is computed.
    """
    return tuple(_calls(tokenize(text)))


def called_names(tokens: Sequence[Token]) -> tuple[Name, ...]:
    """Return each name that a statement's tokens may call, once.

    Raises:
        UnsupportedError: A function's name is computed.
    """
    return tuple(dict.fromkeys(call.name for call in _calls(tokens)))


def _calls(tokens: Sequence[Token]) -> Iterator[Call]:
    for index, token in enumerate(tokens):
        if token.word != "(" or not index:
            continue
        if is_name(tokens[index - 1]):
            first = index - 1
            while first > 1 and tokens[first - 1].word == "." and is_name(tokens[first - 2]):
                first -= 2
            parts = [part.text for part in tokens[first:index:2]]
        elif index > 3 and is_spelled(tokens, index - 4):
            first = index - 4
            parts = read_name(tokens, first).parts
        elif _is_called_by_expression(tokens, index):
            raise computed_name()
        else:
            continue
        name = Name.of(parts)
        if name is not None:
            yield Call(name, tokens[first].start, tokens[index - 1].end)


def _is_called_by_expression(tokens: Sequence[Token], index: int) -> bool:
    """Return whether `identifier(<expression>)` ends before a parenthesis that opens a call."""
    if tokens[index - 1].word != ")":
        return False
    depth = 0
    for place in range(index - 1, 0, -1):
        depth += {")": 1, "(": -1}.get(tokens[place].word, 0)
        if not depth:
            return tokens[place - 1].word == "identifier"
    return False
