"""Named columns: what a statement may read of a relation that it names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from dbt.adapters.vcs.statements.syntax.lexer import Kind, Token, tokenize
from dbt.adapters.vcs.statements.syntax.literals import decode

_ALL_OF: Final = frozenset(
    {"natural", "pivot", "unpivot", "transform", "identifier", "execute", "map", "reduce"}
)
"""Words that may read columns which the text doesn't name."""

_BEFORE_A_TARGET: Final = frozenset({"create", "replace", "external", "into", "overwrite"})
"""Words before `table` where no query follows it."""

_BEFORE_A_STAR: Final = frozenset({"select", "distinct", "all", ",", ".", "("})
_REGEX: Final = re.compile(r"[^\w $#@/:-]")


def named_columns(*texts: str) -> frozenset[str] | None:
    """Return the words of texts in lower case; None if they may read columns without naming them.

    A column that isn't among the words can be left out of a relation without changing what the
    texts mean. `count(*)` names none; any other star, and what isn't a plain `select`, all.
    """
    found: set[str] = set()
    queries = 0
    for text in texts:
        tokens = tokenize(text)
        words = [token.word for token in tokens]
        queries += words.count("select")
        for index, token in enumerate(tokens):
            if token.word in _ALL_OF or _is_all(words, index) or _is_pattern(token):
                return None
            if token.kind is Kind.STRING:
                # With ANSI's quotes, this is a name.
                found.add(decode(token.text).lower())
            else:
                found.add(token.text.lower())
    return frozenset(found) if queries else None


def _is_all(words: Sequence[str], index: int) -> bool:
    """Return whether a word reads all columns: a star, `table t`, a pipe after a relation."""
    if words[index] == "|":
        return words[index + 1] == ">"
    if words[index] == "table":
        return words[index - 1] not in _BEFORE_A_TARGET
    if words[index] != "*" or words[index - 1] not in _BEFORE_A_STAR:
        return False
    return words[index - 2 : index + 2] != ["count", "(", "*", ")"]


def _is_pattern(token: Token) -> bool:
    """Return whether a name in backquotes could be a pattern of names, which Spark may allow."""
    return token.kind is Kind.QUOTED and _REGEX.search(token.text) is not None
