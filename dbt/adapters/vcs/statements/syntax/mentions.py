"""Possible relation names in a statement that is not parsed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.statements.syntax.lexer import Kind, Token, padded
from dbt.adapters.vcs.statements.syntax.names import Name, Reference
from dbt.adapters.vcs.statements.syntax.relations import is_name, read_name
from dbt.adapters.vcs.statements.syntax.scan import QUERY_WORDS, Found, scan

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
