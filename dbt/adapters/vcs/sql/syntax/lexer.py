"""Tokens of a Spark SQL text, each with its position in the text, and the values of literals."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from enum import Enum
from typing import Final, NamedTuple

from dbt.adapters.vcs.core.errors import InputError


class Kind(Enum):
    """The kind of a token."""

    WORD = "word"
    """A keyword, an unquoted identifier or a number without its sign and point."""
    QUOTED = "quoted"
    """An identifier in backquotes."""
    STRING = "string"
    """One string literal."""
    SYMBOL = "symbol"
    """One character of anything else: `||` is two tokens."""
    END = "end"
    """After the last token."""


class Token(NamedTuple):
    """One token.

    Attributes:
        text: As written; a `QUOTED` identifier without its quotes.
        word: Lower-case text of a `WORD` or `SYMBOL`, else empty. Keywords and symbols are
            compared with it, since a quoted identifier may be any text.
        start: Offset of its first character.
        end: Offset after its last character.
    """

    kind: Kind
    text: str
    word: str
    start: int
    end: int


# Spark's lexical rules (decision 7). A backslash at the end of a `--` comment continues it on the
# next line. `r'...'` has no escapes, and would otherwise begin with a word. A quote that nothing
# closes matches none of the literals and is left to `symbol`.
_TOKEN: Final = re.compile(
    r"""
      (?P<space>\s+|--(?:\\\n|[^\r\n])*)
    | (?P<word>(?![rR]['"])\w+)
    | (?P<comment>/\*)
    | (?P<quoted>`[^`]*(?:``[^`]*)*`)
    | (?P<string>'[^'\\]*(?:(?:\\.|'')[^'\\]*)*'
        | "[^"\\]*(?:(?:\\.|"")[^"\\]*)*"
        | [rR]'[^']*' | [rR]"[^"]*" | \$(?P<tag>\w*)\$.*?\$(?P=tag)\$)
    | (?P<symbol>.)
    """,
    re.DOTALL | re.VERBOSE,
)


# As in Spark, a hint (`/*+`) doesn't open a nested comment.
_COMMENT_EDGE: Final = re.compile(r"/\*(?!\+)|\*/")


_UNCLOSED: Final = {"'": "string", '"': "string", "`": "identifier"}


def tokenize(text: str) -> list[Token]:
    """Return the tokens of a text, without white space, comments and hints.

    The last one is always `END`, so a reader may look one token ahead.

    Raises:
        InputError: A string, a quoted identifier or a comment is not closed.
    """
    tokens: list[Token] = []
    add = tokens.append
    position, length = 0, len(text)
    match = _TOKEN.match
    while position < length:
        found = match(text, position)
        # The last alternative takes any character.
        assert found is not None
        start, position = position, found.end()
        group = found.lastgroup
        if group == "word":
            word = found.group()
            add(Token(Kind.WORD, word, word.lower(), start, position))
        elif group == "symbol":
            symbol = found.group()
            if symbol in _UNCLOSED:
                raise _unclosed(_UNCLOSED[symbol], text, start)
            add(Token(Kind.SYMBOL, symbol, symbol, start, position))
        elif group == "string" or group == "tag":
            add(Token(Kind.STRING, found.group(), "", start, position))
        elif group == "quoted":
            name = text[start + 1 : position - 1].replace("``", "`")
            add(Token(Kind.QUOTED, name, "", start, position))
        elif group == "comment":
            position = _comment_end(text, start)
    add(Token(Kind.END, "", "", length, length))
    return tokens


def padded(tokens: Sequence[Token]) -> list[Token]:
    """Return tokens followed by several `END`, for readers that look far ahead."""
    end = tokens[-1].end if tokens else 0
    return [*tokens, *[Token(Kind.END, "", "", end, end)] * 8]


def _comment_end(text: str, start: int) -> int:
    """Return the offset after a bracketed comment, which may have nested ones."""
    depth, position = 1, start + 2
    while depth:
        edge = _COMMENT_EDGE.search(text, position)
        if edge is None:
            raise _unclosed("comment", text, start)
        depth += 1 if edge.group() == "/*" else -1
        position = edge.end()
    return position


def _unclosed(what: str, text: str, start: int) -> InputError:
    line = text.count("\n", 0, start) + 1
    return InputError(
        f"The {what} that begins in line {line} of the statement is not closed: "
        f"{text[start : start + 40]!r}. Close it, or escape what opens it."
    )


# Spark's rule: octal escapes end at `\177`, so in `\200` only the 2 is escaped.
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
        # Raw texts have no escapes, and no doubled quotes either.
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


class Slice(NamedTuple):
    """Offsets in a statement; an empty slice is a place for an insertion."""

    start: int
    end: int


class Edit(NamedTuple):
    """A slice of a text, by offsets, and its replacement."""

    start: int
    end: int
    text: str


def edited(text: str, edits: Iterable[Edit]) -> str:
    """Return the text with slices replaced; they may be in any order but must not overlap."""
    parts: list[str] = []
    position = 0
    for edit in sorted(edits):
        parts += (text[position : edit.start], edit.text)
        position = edit.end
    parts.append(text[position:])
    return "".join(parts)
