"""Readers by the words that a statement begins with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Final, TypeAlias, TypeVar

from dbt.adapters.vcs.sql.statement import Statement
from dbt.adapters.vcs.sql.syntax.cursor import TokenCursor
from dbt.adapters.vcs.sql.syntax.lexer import Token

Reader: TypeAlias = Callable[[TokenCursor], Statement | None]
"""Reads a statement; None if it doesn't concern a branch, so that Spark runs it."""

_R = TypeVar("_R", bound=Reader)
_READERS: Final[dict[tuple[str, ...], Reader]] = {}


def reads(*beginnings: str) -> Callable[[_R], _R]:
    """Register a function as the reader of statements that begin with some words.

    The reader with the most matching words is called, with the cursor after them.

    Args:
        beginnings: Alternatives in lower case, such as `drop` or `create snapshot`.
    """

    def register(reader: _R) -> _R:
        for beginning in beginnings:
            words = tuple(beginning.split())
            if words in _READERS:
                raise ValueError(f"Two readers for statements that begin with {beginning}.")
            _READERS[words] = reader
        return reader

    return register


def reader_of(tokens: Sequence[Token]) -> tuple[Reader, int] | None:
    """Return the reader of a statement and its number of words, or None."""
    _discover()
    longest = max(map(len, _READERS))
    words = tuple(token.word for token in tokens[:longest])
    for count in range(longest, 0, -1):
        reader = _READERS.get(words[:count])
        if reader is not None:
            return reader, count
    return None


@cache
def _discover() -> None:
    """Import all readers; called for the first statement."""
    package = import_module("dbt.adapters.vcs.sql")
    for module in iter_modules(package.__path__):
        import_module(f"{package.__name__}.{module.name}")
