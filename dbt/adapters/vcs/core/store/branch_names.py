"""Names of branches, tags and snapshots: which are allowed, and how one becomes a folder's name.

`quote` has the rules for names that can be stored. New names have stricter ones: those of
git-check-ref-format(1) with `--branch`, and three of our own, since a name must never hide a
revision: no hexadecimal text that could start a commit id, and neither of git's two namespace
prefixes that revisions accept. So names from earlier versions can still be read, renamed and
deleted.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

from dbt.adapters.vcs.core.errors import DamagedError, InputError
from dbt.adapters.vcs.core.ids import MIN_PREFIX

MAX_LENGTH: Final = 200
"""Characters in a name."""

MAX_QUOTED: Final = 240
"""Bytes in a quoted name: file systems allow 255."""

_ESCAPED: Final = re.compile(rb"[^a-z0-9._-]")
_ANY: Final = re.compile(rb"(?s:.)")
_QUOTED: Final = re.compile(r"(?:[a-z0-9._-]|=[0-9A-F]{2})+")
# Escapes of bytes that have none: a-z, 0-9, dot, dash and underscore.
_NEEDLESS: Final = re.compile(r"=(?:2[DE]|3[0-9]|5F|6[1-9A-F]|7[0-9A])")
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
        first, *rest = quoted.split("=")
        name = first
        if rest:
            data = first.encode() + b"".join(_escaped_part(part) for part in rest)
            name = data.decode()
        # A name has one folder: another spelling of it would be a second log. Only a needless
        # escape makes one, so a listing of many names doesn't quote each of them again.
        if _NEEDLESS.search(quoted) or not name.strip(".") or len(quoted) > MAX_QUOTED:
            if quote(name) != quoted:
                raise ValueError(quoted)
        else:
            _check(name)
    except (ValueError, InputError) as error:
        raise DamagedError(
            f"The folder {quoted!r} under refs/ is none that a branch or tag makes. "
            "Move it out of the repository."
        ) from error
    return name


def _escaped_part(part: str) -> bytes:
    """Return the bytes of what follows an equals sign: a byte, then text as it is."""
    return bytes.fromhex(part[:2]) + part[2:].encode()


def _check(name: str) -> None:
    if not 1 <= len(name) <= MAX_LENGTH:
        raise InputError(
            f"The name {name[:40]!r} has {len(name)} characters; a branch or tag needs "
            f"1 to {MAX_LENGTH}."
        )
    # Printable text has no character of a refused category, and nearly all names are printable.
    if name.isprintable():
        return
    for character in name:
        if unicodedata.category(character) in _REFUSED_CATEGORIES:
            raise InputError(
                f"The name {quoted(name)} holds the control character {called(character)}. "
                "Give a name without it."
            )


# git-check-ref-format(1), rules 4, 5 and 10.
_SIGNS: Final = {" ": "a space", **{sign: f"the sign {sign}" for sign in "~^:?*[\\"}}
_COMMIT: Final = re.compile(rf"[0-9a-fA-F]{{{MIN_PREFIX},64}}")
_SPACES: Final = ("refs/", "heads/", "tags/")


def check_new_name(name: str, word: str) -> None:
    """Check a new name; `word` is what it names, such as `branch`.

    Raises:
        InputError: The name is not allowed; the message says which rule it breaks.
    """
    rules = (_bad_sign, _bad_dots, _bad_slashes, _reads_as_revision)
    reason = next(filter(None, (rule(name) for rule in rules)), None)
    if reason is not None:
        raise InputError(
            f"The name {quoted(name)} can't be given to a {word}: {reason}. Names follow git's "
            "rules (git check-ref-format): letters, digits, and dots, dashes, underscores or "
            "slashes between them are always fine."
        )


def _bad_sign(name: str) -> str | None:
    if not name:
        return "it is empty"
    hidden = unseen(name)
    if hidden is not None:
        return f"it holds {hidden}, which nobody sees"
    found = next((_SIGNS[character] for character in name if character in _SIGNS), None)
    return None if found is None else f"it holds {found}"


def _bad_dots(name: str) -> str | None:
    # git-check-ref-format(1), rules 3, 7 and 1.
    if ".." in name:
        return "it holds two dots, which a..b has between its ends"
    if name.endswith("."):
        return "it ends in a dot"
    for part in name.split("/"):
        if part.startswith("."):
            return f"{part!r} begins with a dot"
        if part.endswith(".lock"):
            return f"{part!r} ends in .lock"
    return None


def _bad_slashes(name: str) -> str | None:
    # git-check-ref-format(1), rule 6.
    if name.startswith("/") or name.endswith("/"):
        return "it begins or ends with a slash"
    return "it holds two slashes in a row" if "//" in name else None


def _reads_as_revision(name: str) -> str | None:
    # git-check-ref-format(1), rules 8 and 9, and `--branch` for the dash and HEAD.
    if name.startswith("-"):
        return "it begins with a dash, as an option does"
    if name in ("@", "HEAD"):
        return f"{name} means the current commit in git"
    if "@{" in name:
        return "it holds @{, which begins a moment such as main@{1}"
    if _COMMIT.fullmatch(name):
        return (
            f"{MIN_PREFIX} hexadecimal digits or more read as the start of a commit id (put a "
            "letter or a dash between them, such as v2026 or 2026-11-20)"
        )
    space = next((space for space in _SPACES if name.startswith(space)), None)
    return None if space is None else f"{space} begins the full name of a branch or tag"


# Control characters, formats such as bidi marks, surrogates, line ends, spaces.
_UNSEEN: Final = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp", "Zs"})

# Other characters without a shape of their own: joiners, fillers, variation selectors.
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
