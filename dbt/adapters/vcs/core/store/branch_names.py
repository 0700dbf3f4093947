"""Names of branches and tags: which are allowed, and how one becomes a folder's name."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

from dbt.adapters.vcs.core.characters import called, quoted
from dbt.adapters.vcs.core.errors import DamagedError, InputError

MAX_LENGTH: Final = 200
"""Characters in a name."""

MAX_QUOTED: Final = 240
"""Bytes in a quoted name: file systems allow 255."""

_ESCAPED: Final = re.compile(rb"[^a-z0-9._-]")
_ANY: Final = re.compile(rb"(?s:.)")
_QUOTED: Final = re.compile(r"(?:[a-z0-9._-]|=[0-9A-F]{2})+")
_REFUSED_CATEGORIES: Final = frozenset({"Cc", "Cs", "Zl", "Zp"})


def quote(name: str) -> str:
    """Return the folder name of a ref's name.

    Bytes of the UTF-8 text other than `a-z 0-9 . _ -` become `=XX`, upper-case letters too, so
    that names that differ only in case stay distinct on a disk that ignores case. A name of only
    dots is escaped whole.

    Raises:
        InputError: The name is empty, too long, or holds a control character.
    """
    _check(name)
    escaped = _ESCAPED if name.strip(".") else _ANY
    quoted = escaped.sub(lambda byte: b"=%02X" % byte[0][0], name.encode()).decode()
    if len(quoted) > MAX_QUOTED:
        raise InputError(
            f"The name {name!r} is too long: it takes {len(quoted)} bytes as a folder's name, at "
            f"most {MAX_QUOTED} fit. Characters other than a-z, 0-9, dot, dash and underscore "
            "take three bytes or more: use fewer of them."
        )
    return quoted


def is_name(text: str) -> bool:
    """Return whether `quote` accepts a text."""
    try:
        quote(text)
    except InputError:
        return False
    return True


def unquote(quoted: str) -> str:
    """Return the name encoded in a folder name.

    Raises:
        DamagedError: `quote` never produces this folder name.
    """
    try:
        if not _QUOTED.fullmatch(quoted):
            raise ValueError(quoted)
        name = re.sub(rb"=(..)", lambda hex_: bytes([int(hex_[1], 16)]), quoted.encode()).decode()
        if quote(name) != quoted:
            raise ValueError(quoted)
    except (ValueError, InputError) as error:
        raise DamagedError(
            f"The folder {quoted!r} under refs/ is none that a branch or tag makes. "
            "Move it out of the repository."
        ) from error
    return name


def _check(name: str) -> None:
    if not 1 <= len(name) <= MAX_LENGTH:
        raise InputError(
            f"The name {name[:40]!r} has {len(name)} characters; a branch or tag needs "
            f"1 to {MAX_LENGTH}."
        )
    if name.isprintable():
        return
    for character in name:
        if unicodedata.category(character) in _REFUSED_CATEGORIES:
            raise InputError(
                f"The name {quoted(name)} holds the control character {called(character)}. "
                "Give a name without it."
            )
