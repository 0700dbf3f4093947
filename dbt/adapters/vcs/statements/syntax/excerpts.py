"""Excerpts of statements for messages."""

from __future__ import annotations

from typing import Final

from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.statements.syntax.lexer import tokenize

_LENGTH: Final = 80


def excerpt(text: str, length: int = _LENGTH) -> str:
    """Return the beginning of a statement in one line, without comments.

    dbt adds a comment before or after each statement. Text that is cut off is shown as `…`;
    text that can't be tokenized is quoted as it is.
    """
    try:
        tokens = tokenize(text)
    except InputError:
        return _cut(text, length)
    parts: list[str] = []
    end = None
    for token in tokens[:-1]:
        if end is not None and token.start > end:
            parts.append(" ")
        parts.append(text[token.start : token.end])
        end = token.end
    return _cut("".join(parts), length)


def _cut(text: str, length: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= length else f"{line[: length - 1].rstrip()}…"
