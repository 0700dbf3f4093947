"""Cell text: how a terminal shows text, how wide it is, and how it is shortened."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from typing import Final

MARK: Final = "…"
"""Marks text that was left out."""

_JOINER: Final = "\u200d"
"""Joins emoji; str.isprintable treats it as a control character."""

_NUMBER: Final = re.compile(r"[-+]?\d+(?:[.,:/_-]?\d+)*(?:[eE][-+]?\d+)?")
"""A number with its sign, separators and exponent; also a date or a time of day."""


def printable(text: str) -> str:
    r"""Return text with control characters and line breaks escaped as `\x1b` or `\n`.

    The content of messages and rows must not control the terminal.
    """
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() or char == _JOINER else char.encode("unicode_escape").decode()
        for char in text
    )


def cell_width(text: str) -> int:
    """Return how many terminal columns a printable text takes."""
    if text.isascii():
        return len(text)
    # Imported here because it is slow to import and rarely needed.
    from rich.cells import cell_len

    return cell_len(text)


def all_printable(texts: Sequence[str]) -> Sequence[str]:
    """Return `printable` of each text; fast if all are printable."""
    return texts if "".join(texts).isprintable() else [printable(text) for text in texts]


def widest(texts: Sequence[str]) -> int:
    """Return the width of the widest printable text, or 0 if there is none."""
    measure = len if "".join(texts).isascii() else cell_width
    return max(map(measure, texts), default=0)


def shortened(text: str, room: int) -> str:
    """Return a printable text cut to a width; `…` replaces an end that is left out.

    A text is never cut inside a number or right after one, where the number would look cut: then
    the whole number is left out. Nor is it cut inside a character that consists of several code
    points. The width is at least 1.
    """
    if cell_width(text) <= room:
        return text
    end = _before_number(text, _fitting(text, room - 1))
    return text[:end] + MARK


def padded(text: str, width: int, *, right: bool = False) -> str:
    """Return a printable text padded with blanks to a width, on the left if `right` is set."""
    blanks = " " * (width - cell_width(text))
    return blanks + text if right else text + blanks


def all_padded(texts: Sequence[str], width: int, *, right: bool = False) -> Sequence[str]:
    """Return `padded` of each text; fast if all are ASCII."""
    if "".join(texts).isascii():
        return [text.rjust(width) if right else text.ljust(width) for text in texts]
    return [padded(text, width, right=right) for text in texts]


def _fitting(text: str, room: int) -> int:
    """Return how many code points fit."""
    if text.isascii():
        return room
    end = 0
    for place in _boundaries(text):
        if cell_width(text[:place]) > room:
            break
        end = place
    return end


def _boundaries(text: str) -> Iterator[int]:
    """Yield the offset of the end of each character."""
    for place in range(1, len(text)):
        char = text[place]
        joined = char == _JOINER or text[place - 1] == _JOINER
        if not (joined or unicodedata.category(char).startswith("M") or _is_tone(char)):
            yield place
    yield len(text)


def _is_tone(char: str) -> bool:
    """Return whether a character only changes the colour of the emoji before it."""
    return "\U0001f3fb" <= char <= "\U0001f3ff"


def _before_number(text: str, end: int) -> int:
    """Return the start of the number that text cut at `end` would end with, or `end`."""
    for number in _NUMBER.finditer(text):
        if number.end() >= end or text[number.end() : end] in (".", ","):
            return min(end, number.start())
    return end
