"""Canonical text: what of a statement's text its result can depend on.

White space, comments and hints are left out, and the names of relations stand for what they mean,
so that one query in two schemas, or on two branches, has one canonical text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.statements.syntax.lexer import Kind, Token, tokenize
from dbt.adapters.vcs.statements.syntax.names import Name

_BETWEEN: Final = "\x1f"
_MEANT: Final = "\x1e"

_MOMENTS: Final = frozenset(
    {"current_date", "current_time", "current_timestamp", "localtime", "localtimestamp"}
)
_MOMENT_TEXT: Final = re.compile(
    r"""[rR]?(['"])\s*(?:now|today|tomorrow|yesterday)(?:\s+[\w/+:-]+)?\s*\1""", re.IGNORECASE
)
"""Texts that Spark takes for a time where it expects one, `date 'today'`, with a zone or none."""

_CALLED_MOMENTS: Final = frozenset({"curdate", "now", "version"})
_WITHOUT_ARGUMENTS: Final = frozenset({"unix_timestamp", "unix_micros", "to_unix_timestamp"})
_USERS: Final = frozenset({"current_user", "session_user", "user"})
_PLACES: Final = frozenset(
    {"current_catalog", "current_database", "current_path", "current_schema"}
)
_CHANCE: Final = frozenset(
    {
        "aes_encrypt",
        "any_value",
        "approx_percentile",
        "array_agg",
        "collect_list",
        "collect_set",
        "first",
        "first_value",
        "histogram_numeric",
        "input_file_block_length",
        "input_file_block_start",
        "input_file_name",
        "java_method",
        "kll_sketch_agg_bigint",
        "kll_sketch_agg_double",
        "kll_sketch_agg_float",
        "last",
        "last_value",
        "listagg",
        "mode",
        "monotonically_increasing_id",
        "percentile_approx",
        "python_worker_logs",
        "rand",
        "randn",
        "random",
        "randstr",
        "reflect",
        "shuffle",
        "spark_partition_id",
        "string_agg",
        "try_reflect",
        "uniform",
        "uuid",
    }
)
_CHOICE: Final = frozenset({"limit", "offset", "tablesample"})
_FILLED_IN: Final = re.compile(r"\$\{(?:\w+:)?\S+?\}")
_EXPONENT: Final = re.compile(r"\d+[eE]")


class Meant(NamedTuple):
    """One place of a text where a relation is named.

    Attributes:
        start: Offset of its first character.
        end: Offset after its last character.
        name: The relation, as written.
        meaning: What the name means: equal meanings give equal rows.
    """

    start: int
    end: int
    name: Name
    meaning: str


def canonical(text: str, places: Mapping[int, Meant]) -> str:
    """Return the canonical text of a statement or a part of one.

    A name keeps its last part, and its schema, only if they are written anywhere else in the text,
    where they could say which column is meant.

    Args:
        text: The text.
        places: Where relations are named, by their first offset.

    Raises:
        InputError: The text can't be split into tokens.
    """
    tokens = tokenize(text)[:-1]
    others: set[str] = set()
    end = 0
    for token in tokens:
        if token.start in places:
            end = places[token.start].end
        if token.start >= end:
            others.add(token.text.lower())
    parts: list[str] = []
    end = 0
    for index, token in enumerate(tokens):
        place = places.get(token.start)
        if place is not None:
            end = place.end
            parts.append(_spelled(place, others))
        elif token.start >= end and _is_glued(tokens, index):
            parts[-1] += _exact(token)
        elif token.start >= end:
            parts.append(_exact(token))
    return _BETWEEN.join(parts)


def without_margins(text: str) -> str:
    """Return a statement without white space and comments around it, such as dbt's own.

    A text that can't be split into tokens is returned as it is.
    """
    try:
        tokens = tokenize(text)
    except InputError:
        return text
    return text[tokens[0].start : tokens[-2].end] if len(tokens) > 1 else text


def asks_for_columns(text: str) -> bool:
    """Return whether a query ends with `limit 0`: it asks for its columns, and has no rows."""
    words = [token.word for token in tokenize(text)[-3:-1]]
    return words == ["limit", "0"]


def moment_in(text: str) -> str | None:
    """Return a word of a text that depends on when it is carried out; None without any."""
    tokens = tokenize(text)
    for index, token in enumerate(tokens[:-1]):
        called = _called(tokens, index)
        if token.word in _MOMENTS or called in _MOMENTS | _CALLED_MOMENTS:
            return token.text
        if called in _WITHOUT_ARGUMENTS and tokens[index + 2].word == ")":
            return f"{token.text}()"
        if token.kind is Kind.STRING and _MOMENT_TEXT.fullmatch(token.text):
            return token.text
    return None


def chance_in(text: str) -> str | None:
    """Return a function called in a text that may give another result each time; None without.

    It errs on the safe side: `first(c)` gives one result where the rows have an order.
    """
    tokens = tokenize(text)
    calls = (_called(tokens, index) for index in range(len(tokens) - 1))
    return next((name for name in calls if name in _CHANCE), None)


def choice_in(text: str) -> str | None:
    """Return a word of a text that chooses among rows in any order; None without any."""
    return next((token.text for token in tokenize(text) if token.word in _CHOICE), None)


def filled_in(text: str) -> str | None:
    """Return what Spark replaces in a text by a setting or a variable of its process; or None."""
    found = _FILLED_IN.search(text)
    return None if found is None else found[0]


def names_user(text: str) -> bool:
    """Return whether a text may ask who carries it out; `t.user` is a column."""
    tokens = tokenize(text)
    return any(
        _called(tokens, index) in _USERS
        or (token.word in _USERS and (not index or tokens[index - 1].word not in (".", "as")))
        for index, token in enumerate(tokens[:-1])
    )


def names_place(text: str) -> bool:
    """Return whether a text may ask for the schema of unqualified names."""
    tokens = tokenize(text)
    return any(
        token.word in _PLACES or _called(tokens, index) in _PLACES
        for index, token in enumerate(tokens[:-1])
    )


def _called(tokens: Sequence[Token], index: int) -> str | None:
    """Return the name before a parenthesis, which may be quoted, in lower case; None elsewhere."""
    token = tokens[index]
    is_name = token.kind in (Kind.WORD, Kind.QUOTED) and tokens[index + 1].word == "("
    return token.text.lower() if is_name else None


def _is_glued(tokens: Sequence[Token], index: int) -> bool:
    """Return whether white space before a token would make one number two tokens.

    `1.e3` is a number, `1. e3` is one with a name; `1e-3` is a number, `1e - 3` takes 3 from the
    column `1e`.
    """
    if index < 1 or tokens[index - 1].end != tokens[index].start:
        return False
    before, token = tokens[index - 1], tokens[index]
    if token.word in ("+", "-"):
        return _EXPONENT.fullmatch(before.word) is not None
    if index < 2 or tokens[index - 2].end != before.start:
        return False
    first = tokens[index - 2].word
    return (before.word == "." and first.isdigit()) or (
        before.word in ("+", "-") and _EXPONENT.fullmatch(first) is not None
    )


def _spelled(place: Meant, others: set[str]) -> str:
    parts = (place.name.schema, place.name.identifier)
    shown = ".".join(part.lower() for part in parts if part and part.lower() in others)
    return f"{_MEANT}{shown}{_MEANT}{place.meaning}"


def _exact(token: Token) -> str:
    if token.kind is Kind.QUOTED:
        return f"`{token.text.replace('`', '``')}`"
    return token.text
