"""Tokens of a Spark SQL text, each with its position in the text."""

from __future__ import annotations

import re
from collections.abc import Sequence
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
        kind: What it is.
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
    """Return the offset after a bracketed comment, which may have nested ones.

    A hint (`/*+`) doesn't open a nested comment.
    """
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
