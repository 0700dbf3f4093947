"""Names, literals and types as Spark SQL writes them, and places in Spark's messages."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import Final

from dbt.adapters.vcs.core.model import RelationName
from dbt.adapters.vcs.core.model.data_type import Type, type_of


def quoted(name: str) -> str:
    """Return an identifier in backquotes."""
    return "`" + name.replace("`", "``") + "`"


def quoted_relation(name: RelationName) -> str:
    """Return `schema.identifier`, each part in backquotes."""
    return f"{quoted(name.schema)}.{quoted(name.identifier)}"


def literal(text: str) -> str:
    """Return a string literal."""
    # Backslashes first, or those that escape quotes would be doubled.
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


@lru_cache(maxsize=10_000)
def sql_type(text: str) -> str:
    """Return a stored type as SQL and DDL name it, whatever the session sets.

    A bare `timestamp` is what `spark.sql.timestampType` says, and in manifests always an instant.
    """
    return str(_explicit(type_of(text))) if "timestamp" in text else text


def options_clause(options: dict[str, str]) -> str:
    """Return the inside of OPTIONS ( ... )."""
    return ", ".join(f"{literal(key)} {literal(value)}" for key, value in options.items())


def _explicit(type_: Type) -> Type:
    kind = "timestamp_ltz" if type_.kind == "timestamp" else type_.kind
    return replace(type_, kind=kind, parts=tuple(map(_explicit, type_.parts)))


# Spark's analyser, its parser and the context of a failed expression write places in three forms.
# Positions count from 0 in the first two, and from 1 in the third.
_ANALYSED: Final = re.compile(r"; line (\d+),? pos (\d+)")
_PARSED: Final = re.compile(r" ?\(line (\d+), pos (\d+)\)(?:\n+== SQL ==\n.*)?", re.DOTALL)
_MARKED: Final = re.compile(
    r"\n?== SQL \(line (\d+), position (\d+)\) ==\n(?P<text>.*?)\n *\^+(?= *(?:\n|\Z))", re.DOTALL
)

Place = Callable[[int], int | None]
"""Gives for an offset in the text that was sent the offset in the user's; None for nowhere."""


def moved(message: str, sent: str, written: str, place: Place) -> str:
    """Return a message with lines and positions in terms of the user's text.

    Positions outside the user's text are left out.

    Args:
        message: Spark's message about `sent`.
        sent: The text that Spark read.
        written: The user's text.
        place: Maps an offset in `sent` to one in `written`.
    """

    def own(found: re.Match[str], first: int) -> tuple[int, int] | None:
        offset = _offset(sent, int(found[1]), int(found[2]) - first)
        at = None if offset is None else place(offset)
        return None if at is None else _line_of(written, at)

    def analysed(found: re.Match[str]) -> str:
        at = own(found, 0)
        return "" if at is None else f"; line {at[0]} pos {at[1]}"

    def parsed(found: re.Match[str]) -> str:
        at = own(found, 0)
        if at is None:
            return ""
        shown = f" (line {at[0]}, pos {at[1]})"
        return shown + (f"\n\n== SQL ==\n{_with_arrow(written, *at)}" if "==" in found[0] else "")

    def marked(found: re.Match[str]) -> str:
        at = own(found, 1)
        if at is None:
            return ""
        line = written.split("\n")[at[0] - 1]
        arrow = " " * at[1] + "^^^"
        return f"\n== SQL (line {at[0]}, position {at[1] + 1}) ==\n{line}\n{arrow}"

    message = _MARKED.sub(marked, message)
    if "== SQL ==" in message or _PARSED.search(message):
        message = _PARSED.sub(parsed, message)
    return _ANALYSED.sub(analysed, message)


def placeless(error: Exception) -> str:
    """Return an error's message without line and position, for a text that no user wrote."""
    return moved(str(error), "", "", lambda offset: None)


def _offset(text: str, line: int, column: int) -> int | None:
    lines = text.split("\n")
    if not 1 <= line <= len(lines) or column < 0:
        return None
    return sum(len(item) + 1 for item in lines[: line - 1]) + column


def _line_of(text: str, offset: int) -> tuple[int, int]:
    """Return the line, from 1, and the column, from 0, of an offset."""
    before = text[:offset]
    return before.count("\n") + 1, offset - (before.rfind("\n") + 1)


def _with_arrow(text: str, line: int, column: int) -> str:
    """Return a text with an arrow below a place in it, as Spark's parser shows it."""
    lines = text.split("\n")
    return "\n".join([*lines[:line], "-" * column + "^^^", *lines[line:]])
