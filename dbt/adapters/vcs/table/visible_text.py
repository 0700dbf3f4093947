"""Values as text in which nothing hides, for pages and notebooks."""

from __future__ import annotations

import re
from typing import Any, Final

LONGEST: Final = 2000
"""Number of characters of a value that a page shows."""

# Blank or without a width, though Unicode counts them as printable.
_BLANK: Final = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0"
    "\U000e0100-\U000e01ef]"
)


def visible(value: Any, longest: int = LONGEST) -> str:
    """Return a value as text in which every character can be seen.

    A control, bidi or other invisible character is shown by its number, as `[U+202E]`, so
    that no value looks like another one or moves the text beside it. Line breaks and tabs stay.
    Of a text that is longer than `longest` characters, the beginning and the length are shown.
    """
    if value is None:
        return "NULL"
    text = value.hex() if isinstance(value, bytes) else str(value)
    end = ""
    if len(text) > longest:
        end = f"… ({len(text):,} characters)"
        text = text[:longest]
    if not text.isprintable() or _BLANK.search(text):
        text = "".join(map(_seen, text))
    return text + end


def _seen(letter: str) -> str:
    if letter in "\n\t" or (letter.isprintable() and not _BLANK.match(letter)):
        return letter
    return f"[U+{ord(letter):04X}]"
