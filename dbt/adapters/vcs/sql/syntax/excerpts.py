"""Excerpts of statements for messages, and places in generated text in the user's own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.sql.syntax.lexer import Kind, Token, tokenize

_LENGTH: Final = 80


def excerpt(text: str, length: int = _LENGTH) -> str:
    """Return the beginning of a statement in one line, without comments.

    dbt adds a comment before or after each statement. Text that is cut off is shown as `…`;
    text that can't be tokenized is quoted as it is.
    """
    try:
        tokens = tokenize(text)
    except InputError:
        return _cut(text, length)
    parts: list[str] = []
    end = None
    for token in tokens[:-1]:
        if end is not None and token.start > end:
            parts.append(" ")
        parts.append(text[token.start : token.end])
        end = token.end
    return _cut("".join(parts), length)


def _cut(text: str, length: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= length else f"{line[: length - 1].rstrip()}…"


# Pieces of the user's text appear unchanged in the generated one, in any order and with other
# text between them. So a token is found again by its neighbours.
_MAX_TOKENS: Final = 20_000
# So many tokens in a row identify a place, though each of them may occur anywhere.
_ENOUGH: Final = 3


def own_place(written: str, sent: str, offset: int) -> int | None:
    """Return the offset in the user's text for an offset in a text made from it.

    Args:
        written: The user's text.
        sent: The generated text.
        offset: An offset in `sent`; the length of `sent` means the end.

    Returns:
        None if the user didn't write that part.
    """
    # Most texts are sent as written, without what is around them. A text that occurs twice could
    # be either.
    start = written.find(sent)
    if start >= 0 and written.find(sent, start + 1) < 0:
        return start + offset
    try:
        own, other = _tokens(written), _tokens(sent)
    except InputError:
        return None
    if len(own) + len(other) > _MAX_TOKENS:
        return None
    index = next((n for n, token in enumerate(other) if token.end > offset), len(other))
    if index < len(other):
        found = _best(own, other, index)
        if found is not None:
            # An offset in white space is moved to the token behind it.
            return own[found].start + max(offset - other[index].start, 0)
    if index == 0:
        return None
    # It may be the end or a replaced relation, which follows something of the user's.
    before = _best(own, other, index - 1, least=2)
    if before is None:
        return None
    return own[before + 1].start if before + 1 < len(own) else own[-1].end


def _tokens(text: str) -> list[Token]:
    return [token for token in tokenize(text)[:-1] if token.word != ";"]


def _best(
    own: Sequence[Token], other: Sequence[Token], index: int, *, least: int = 1
) -> int | None:
    """Find a token of `other` in `own` by the longest run of equal tokens; return its index."""
    best, longest = None, 0
    for candidate, token in enumerate(own):
        if not _same(token, other[index]):
            continue
        run = 1 + _run(own, other, candidate, index, -1) + _run(own, other, candidate, index, 1)
        if run > longest:
            best, longest = candidate, run
    names = other[index].kind in (Kind.WORD, Kind.QUOTED, Kind.STRING)
    return best if longest >= (least if names else _ENOUGH) else None


def _run(
    own: Sequence[Token], other: Sequence[Token], candidate: int, index: int, step: int
) -> int:
    length = 0
    while True:
        candidate, index = candidate + step, index + step
        inside = 0 <= candidate < len(own) and 0 <= index < len(other)
        if not inside or not _same(own[candidate], other[index]):
            return length
        length += 1


def _same(one: Token, other: Token) -> bool:
    return one.kind is other.kind and one.text == other.text
