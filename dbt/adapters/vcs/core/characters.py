"""Characters of names that nobody sees, or that change how others are shown."""

from __future__ import annotations

import unicodedata
from typing import Final

_UNSEEN: Final = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp", "Zs"})
"""Categories: control characters, formats such as bidi marks, surrogates, line ends, spaces."""

_BLANK: Final = (
    (0x034F, 0x034F),
    (0x115F, 0x1160),
    (0x17B4, 0x17B5),
    (0x180B, 0x180F),
    (0x2800, 0x2800),
    (0x3164, 0x3164),
    (0xFE00, 0xFE0F),
    (0xFFA0, 0xFFA0),
    (0xE0000, 0xE0FFF),
)
"""Other characters without a shape of their own: joiners, fillers, variation selectors."""


def unseen(text: str) -> str | None:
    """Return the name of the first character that can't be seen, None if all can.

    A space is seen, as it parts words; every other one is not.
    """
    found = next((character for character in text if _is_unseen(character)), None)
    return None if found is None else called(found)


def quoted(name: str) -> str:
    """Return a name in quotes, with escapes if it has a character that can't be seen."""
    return ascii(name) if unseen(name) else repr(name)


def called(character: str) -> str:
    """Return a character as Unicode names it: `U+202E RIGHT-TO-LEFT OVERRIDE`."""
    return f"U+{ord(character):04X} {unicodedata.name(character, '')}".rstrip()


def _is_unseen(character: str) -> bool:
    if character == " ":
        return False
    if unicodedata.category(character) in _UNSEEN:
        return True
    return any(low <= ord(character) <= high for low, high in _BLANK)
