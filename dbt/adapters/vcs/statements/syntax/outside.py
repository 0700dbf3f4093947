"""What a statement that only Spark understands may write, and where."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from dbt.adapters.vcs.statements.syntax.lexer import Kind, Token, padded
from dbt.adapters.vcs.statements.syntax.literals import decode

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
