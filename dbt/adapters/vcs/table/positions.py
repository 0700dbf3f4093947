"""Lines and positions in Spark's messages."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

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
        return shown + (f"\n\n== SQL ==\n{_shown(written, *at)}" if "==" in found[0] else "")

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


def _shown(text: str, line: int, column: int) -> str:
    """Return a text with an arrow below a place in it, as Spark's parser shows it."""
    lines = text.split("\n")
    return "\n".join([*lines[:line], "-" * column + "^^^", *lines[line:]])
