"""Canonical text: what of a statement's text its result can depend on.

White space, comments and hints are left out, and the names of relations stand for what they mean,
so that one query in two schemas, or on two branches, has one canonical text.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.statements.syntax.lexer import Kind, Token, tokenize
from dbt.adapters.vcs.statements.syntax.names import Name

_BETWEEN: Final = "\x1f"
_MEANT: Final = "\x1e"

_MOMENTS: Final = frozenset(
    {"current_date", "current_time", "current_timestamp", "localtimestamp"}
)
_CALLED_MOMENTS: Final = frozenset({"curdate", "now", "version"})
_WITHOUT_ARGUMENTS: Final = frozenset({"unix_timestamp", "unix_micros", "to_unix_timestamp"})
_USERS: Final = frozenset({"current_user", "session_user", "user"})
_PLACES: Final = frozenset({"current_catalog", "current_database", "current_schema"})
_CHANCE: Final = frozenset(
    {
        "any_value",
        "array_agg",
        "collect_list",
        "collect_set",
        "first",
        "first_value",
        "input_file_block_length",
        "input_file_block_start",
        "input_file_name",
        "java_method",
        "last",
        "last_value",
        "listagg",
        "monotonically_increasing_id",
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

    A name keeps its last part, which columns may be qualified with. It keeps its schema if the
    schema is written anywhere else in the text, where it could tell two columns apart.

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
    for token in tokens:
        place = places.get(token.start)
        if place is not None:
            end = place.end
            parts.append(_spelled(place, others))
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
        opens = tokens[index + 1].word == "("
        if token.word in _MOMENTS or (opens and token.word in _CALLED_MOMENTS):
            return token.text
        closes = opens and tokens[index + 2].word == ")"
        if closes and token.word in _WITHOUT_ARGUMENTS:
            return f"{token.text}()"
    return None


def chance_in(text: str) -> str | None:
    """Return a function called in a text that may give another result each time; None without.

    It errs on the safe side: `first(c)` gives one result where the rows have an order.
    """
    tokens = tokenize(text)
    for index, token in enumerate(tokens[:-1]):
        if token.word in _CHANCE and tokens[index + 1].word == "(":
            return token.text
    return None


def choice_in(text: str) -> str | None:
    """Return a word of a text that chooses among rows in any order; None without any."""
    return next((token.text for token in tokenize(text) if token.word in _CHOICE), None)


def names_user(text: str) -> bool:
    """Return whether a text may ask who carries it out; `t.user` is a column."""
    tokens = tokenize(text)
    return any(
        token.word in _USERS and (not index or tokens[index - 1].word not in (".", "as"))
        for index, token in enumerate(tokens)
    )


def names_place(text: str) -> bool:
    """Return whether a text may ask for the schema of unqualified names."""
    return any(token.word in _PLACES for token in tokenize(text))


def _spelled(place: Meant, others: set[str]) -> str:
    schema = place.name.schema
    shown = place.name.identifier.lower()
    if schema is not None and schema.lower() in others:
        shown = f"{schema.lower()}.{shown}"
    return f"{_MEANT}{shown}{_MEANT}{place.meaning}"


def _exact(token: Token) -> str:
    if token.kind is Kind.QUOTED:
        return f"`{token.text.replace('`', '``')}`"
    return token.text
