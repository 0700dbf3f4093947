"""What a statement that only Spark understands may read and write, and where."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.sql.syntax.lexer import Kind, Token, padded
from dbt.adapters.vcs.sql.syntax.literals import decode
from dbt.adapters.vcs.sql.syntax.names import Name, Reference
from dbt.adapters.vcs.sql.syntax.relations import is_name, read_name
from dbt.adapters.vcs.sql.syntax.scan import QUERY_WORDS, Found, scan

# fmt: off
_MODES: Final = frozenset({
    "explain", "extended", "formatted", "codegen", "cost", "logical", "describe", "desc", "query",
    "(",
})
# fmt: on
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
