"""Reads and writes string literals and quoted identifiers of Spark SQL."""

from __future__ import annotations

import re
from typing import Final

_ESCAPE: Final = re.compile(
    r"\\(?:u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([01][0-7]{2})|(.))", re.DOTALL
)
_NAMED: Final = {
    "0": "\0",
    "b": "\b",
    "n": "\n",
    "r": "\r",
    "t": "\t",
    "Z": "\x1a",
    # LIKE patterns need these two unchanged.
    "%": "\\%",
    "_": "\\_",
}


def decode(literal: str) -> str:
    """Return the value of a string literal, given with its quotes, as Spark reads it."""
    if literal[0] in "rR":
        return literal[2:-1]
    if literal[0] == "$":
        edge = literal.index("$", 1) + 1
        return literal[edge:-edge]
    quote = literal[0]
    body = literal[1:-1]
    if "\\" not in body:
        return body.replace(quote * 2, quote)
    parts: list[str] = []
    position = 0
    for found in _ESCAPE.finditer(body):
        parts.append(body[position : found.start()].replace(quote * 2, quote))
        parts.append(_escaped(found))
        position = found.end()
    parts.append(body[position:].replace(quote * 2, quote))
    value = "".join(parts)
    # Java strings are UTF-16, so two escapes may form one character.
    return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def quote_text(value: str) -> str:
    r"""Return a string literal for a value; only `\` and `'` need an escape."""
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


def quote_name(name: str) -> str:
    """Return an identifier in backquotes."""
    return "`" + name.replace("`", "``") + "`"


def _escaped(found: re.Match[str]) -> str:
    short, long, octal, other = found.groups()
    if short or long:
        code = int(short or long, 16)
        return chr(code) if code <= 0x10FFFF else "\ufffd"
    if octal:
        return chr(int(octal, 8))
    return _NAMED.get(other, other)
