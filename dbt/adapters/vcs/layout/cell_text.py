"""Cell text: what a terminal shows of a text, how wide that is, and how it is shortened."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from typing import Final

MARK: Final = "…"
"""Stands where something is left out."""

_JOINER: Final = "\u200d"
"""Joins emoji; str.isprintable takes it for a control character."""

_NUMBER: Final = re.compile(r"[-+]?\d+(?:[.,:/_-]?\d+)*(?:[eE][-+]?\d+)?")
"""A number with its sign, separators and exponent; a date and a time of day, too."""


def printable(text: str) -> str:
    r"""Return text with control characters, line breaks too, spelled as `\x1b` or `\n`.

    What people wrote into messages and rows must not steer the terminal.
    """
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() or char == _JOINER else char.encode("unicode_escape").decode()
        for char in text
    )


def cell_width(text: str) -> int:
    """Return how many columns a terminal gives a printable text."""
    if text.isascii():
        return len(text)
    # Loading it takes a while, and most texts don't need it.
    from rich.cells import cell_len

    return cell_len(text)


def all_printable(texts: Sequence[str]) -> Sequence[str]:
    """Return what `printable` returns of each text; fast where all are printable."""
    return texts if "".join(texts).isprintable() else [printable(text) for text in texts]


def widest(texts: Sequence[str]) -> int:
    """Return the width of the widest of printable texts, 0 if there is none."""
    measure = len if "".join(texts).isascii() else cell_width
    return max(map(measure, texts), default=0)


def shortened(text: str, room: int) -> str:
    """Return a printable text that is at most so wide, `…` in place of an end that is left out.

    Nothing is cut inside a number, nor right behind one, where it would look cut: what is left of
    it is left out, too. Nor inside a character that is made of several code points. The room is 1
    or more.
    """
    if cell_width(text) <= room:
        return text
    end = _before_number(text, _fitting(text, room - 1))
    return text[:end] + MARK


def padded(text: str, width: int, *, right: bool = False) -> str:
    """Return a printable text with blanks up to a width, before it if it is to be on the right."""
    blanks = " " * (width - cell_width(text))
    return blanks + text if right else text + blanks


def all_padded(texts: Sequence[str], width: int, *, right: bool = False) -> Sequence[str]:
    """Return what `padded` returns of each text; fast where all are ASCII."""
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
    """Yield the places where one character ends and another begins, or the text ends."""
    for place in range(1, len(text)):
        char = text[place]
        joined = char == _JOINER or text[place - 1] == _JOINER
        if not (joined or unicodedata.category(char).startswith("M") or _is_tone(char)):
            yield place
    yield len(text)


def _is_tone(char: str) -> bool:
    """Tell whether a character only colours the emoji before it."""
    return "\U0001f3fb" <= char <= "\U0001f3ff"


def _before_number(text: str, end: int) -> int:
    """Return the start of the number that a text cut at a place would end with, else the place."""
    for number in _NUMBER.finditer(text):
        if number.end() >= end or text[number.end() : end] in (".", ","):
            return min(end, number.start())
    return end
