"""What a text may call, and what a statement that only Spark understands may read and write."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.sql.syntax.lexer import Kind, Token, decode, padded, tokenize
from dbt.adapters.vcs.sql.syntax.names import (
    Name,
    Reference,
    computed_name,
    is_name,
    is_spelled,
    read_name,
)
from dbt.adapters.vcs.sql.syntax.scan import QUERY_WORDS, Found, scan


class Call(NamedTuple):
    """One place where a function may be called.

    Attributes:
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
        # `identifier('f')(...)`: the name takes the four tokens before the parenthesis.
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


_MODES: Final = frozenset(
    {
        "explain",
        "extended",
        "formatted",
        "codegen",
        "cost",
        "logical",
        "describe",
        "desc",
        "query",
        "(",
    }
)


# To the lexer a number is a word, `1e5` as well.
_NUMBER: Final = re.compile(r"\d[\de]*\Z")


def mentions_of(tokens: Sequence[Token]) -> tuple[Reference, ...]:
    """Return every chain of identifiers in a statement's tokens, which end with `END`.

    It reports too much: keywords and columns are among them.
    """
    found: list[Reference] = []
    index, length, tokens = 0, len(tokens), padded(tokens)
    while index < length:
        start = tokens[index]
        if not is_name(start) or _NUMBER.match(start.word):
            index += 1
            continue
        try:
            parts, behind = read_name(tokens, index)
        except InputError:
            index += 1
            continue
        name, end = Name.of(parts), tokens[behind - 1].end
        if name is not None:
            found.append(Reference(name=name, start=start.start, end=end, name_end=end))
        index = behind
    return tuple(found)


def reads_or_mentions(tokens: Sequence[Token]) -> Found:
    """Return what the query inside a statement reads, or else every name in the statement.

    `explain select ...` and `cache table c as select ...` contain such a query.
    """
    for index, token in enumerate(tokens):
        # The words left out are more often parts of other clauses, or names.
        begins = token.word in QUERY_WORDS - {"table", "map", "reduce", "values"}
        if begins and token.kind is Kind.WORD and not _names_first(tokens[:index]):
            return scan(tokens[index:-1])
    return Found(reads=mentions_of(tokens), files=(), diffs=())


def _names_first(tokens: Sequence[Token]) -> bool:
    """Return whether the text before a query may name relations as well."""
    words = {token.word for token in tokens}
    return "cache" not in words and not words <= _MODES


# fmt: off
_READING: Final = frozenset({
    "add", "analyze", "cache", "clear", "declare", "desc", "describe", "explain", "list",
    "refresh", "reset", "set", "show", "uncache", "use",
})
# fmt: on


_OF_SESSION: Final = frozenset({"temporary", "temp"})


_BEFORE_A_PLACE: Final = frozenset({"directory", "location", "path"})


def may_write(tokens: Sequence[Token]) -> bool:
    """Return whether a statement may write anything outside of the session and the branch.

    What isn't known to only read may write.
    """
    words = [token.word for token in tokens[:5]]
    if words[0] in _READING:
        return False
    return not (words[0] in ("create", "drop") and _OF_SESSION.intersection(words[1:4]))


def places_of(tokens: Sequence[Token]) -> tuple[str, ...]:
    """Return the locations that the tokens of a statement name, where it may write.

    These are the texts after `directory`, `location` and the option `path`, backquoted names
    that hold a `/`, and all texts of a `call`.
    """
    return tuple(dict.fromkeys(_places(tokens, everything=tokens[0].word == "call")))


def _places(tokens: Sequence[Token], *, everything: bool) -> Iterator[str]:
    length, tokens = len(tokens), padded(tokens)
    for index in range(length):
        token = tokens[index]
        if token.kind is Kind.QUOTED and "/" in token.text:
            yield token.text
        elif token.kind is not Kind.STRING:
            continue
        elif everything or _word_before(tokens, index) in _BEFORE_A_PLACE:
            yield decode(token.text)


def _word_before(tokens: Sequence[Token], index: int) -> str:
    """Return the word or text before a literal, with `=`, `=>` and `is` between them left out."""
    while index and tokens[index - 1].word in ("=", ">", "is"):
        index -= 1
    if not index:
        return ""
    before = tokens[index - 1]
    key = decode(before.text) if before.kind is Kind.STRING else before.text
    return key.lower()
