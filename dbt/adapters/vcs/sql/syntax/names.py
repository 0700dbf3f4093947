"""Relations in a text: names, versions, options, samples, aliases, and their places."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple

from dbt.adapters.vcs.core.errors import InputError, UnsupportedError
from dbt.adapters.vcs.core.model import RelationName
from dbt.adapters.vcs.sql.syntax.lexer import Kind, Token, decode, quote_name, tokenize

CATALOG: Final = "spark_catalog"
"""Name of Spark's own catalog; relations of any other catalog are foreign."""


SESSION: Final = "system.session"
"""The schema of a session's temporary views and functions; no schema of a branch has a dot."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Name:
    """A relation's name, unquoted and as written.

    Attributes:
        schema: The schema, or None; `SESSION` for a name in the session's own, spelled in
            full.
        identifier: The last part.
        in_catalog: True if the catalog was named, so it can't be a temporary view.
    """

    schema: str | None
    identifier: str
    # Both spellings are one relation, so it doesn't count in comparisons.
    in_catalog: bool = field(default=False, compare=False)

    @classmethod
    def of(cls, parts: Sequence[str]) -> Name | None:
        """Return the name of one to three parts, or None if it is in another catalog."""
        in_catalog = len(parts) == 3 and parts[0].lower() == CATALOG
        if in_catalog:
            parts = parts[1:]
        elif len(parts) == 3 and ".".join(parts[:2]).lower() == SESSION:
            parts = [SESSION, parts[2]]
        if len(parts) > 2:
            return None
        schema = parts[0] if len(parts) == 2 else None
        return cls(schema=schema, identifier=parts[-1], in_catalog=in_catalog)

    def relation(self, default_schema: str) -> RelationName:
        """Return the name as stored in the tree: with a schema, in lower case."""
        return RelationName((self.schema or default_schema).lower(), self.identifier.lower())

    def __str__(self) -> str:
        return self.identifier if self.schema is None else f"{self.schema}.{self.identifier}"


@dataclass(frozen=True, slots=True, kw_only=True)
class At:
    """The requested version of a relation.

    Attributes:
        value: A snapshot, tag, commit or number; or a timestamp as written.
    """

    kind: Literal["version", "timestamp"]
    value: str


class TableAt(NamedTuple):
    """A table and its version; None for the branch's own."""

    name: Name
    at: At | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The relation that a statement is about, with its place in the text.

    Attributes:
        start: Offset of its first character.
        end: Offset after its last character.
    """

    name: Name
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """One place in a text where a relation is read.

    Attributes:
        start: Offset of its first character.
        end: Offset after it, including a `version as of` or `{snapshot=...}` after the name.
        name_end: Offset after only the name.
        at: The requested version, or None for the branch's own.
        alias_at: Where to insert an alias to keep `name.column` valid when the name is
            replaced; None if there is an alias, or none is allowed.
    """

    name: Name
    start: int
    end: int
    name_end: int
    at: At | None = None
    alias_at: int | None = None

    @property
    def aliased(self) -> bool:
        """True if the name can be replaced without adding an alias."""
        return self.alias_at is None


def qualifiers_of(name: Name, alias: str | None) -> frozenset[tuple[str, ...]]:
    """Return the qualifiers of a relation's columns in lower case; an alias hides the name."""
    if alias is not None:
        return frozenset({(alias.lower(),)})
    parts = [name.identifier] if name.schema is None else [CATALOG, name.schema, name.identifier]
    lower = tuple(part.lower() for part in parts)
    return frozenset(lower[first:] for first in range(len(lower)))


def split_name(text: str) -> list[str]:
    """Return the parts of a name in `identifier('...')`.

    Raises:
        InputError: The text is not a name.
    """
    tokens = tokenize(text)[:-1]
    parts = [token.text for token in tokens[::2]]
    named = all(token.kind in (Kind.WORD, Kind.QUOTED) for token in tokens[::2])
    dotted = all(token.word == "." for token in tokens[1::2])
    if not (named and dotted and len(tokens) % 2):
        raise InputError(
            f"identifier({text!r}) does not name a relation. Write schema.identifier."
        )
    return parts


def split_list(text: str) -> list[str]:
    """Return the items of a list, as written; a comma in backquotes belongs to a name."""
    # A comma is outside of backquotes if an even number of them follows.
    return [item.strip() for item in re.split(r",(?=(?:[^`]*`[^`]*`)*[^`]*\Z)", text)]


def names_in(text: str) -> list[str]:
    """Return the names of a list, without the backquotes around a name."""
    quoted = (re.fullmatch(r"`((?:[^`]|``)+)`", item) or item for item in split_list(text))
    return [item if isinstance(item, str) else item[1].replace("``", "`") for item in quoted]


def list_of(names: Iterable[str]) -> str:
    """Return the text from which `names_in` reads these names."""
    plain = re.compile(r"[^`,\s]([^`,]*[^`,\s])?")
    return ", ".join(name if plain.fullmatch(name) else quote_name(name) for name in names)


FILE_FORMATS: Final = frozenset(
    {"avro", "binaryfile", "csv", "delta", "json", "orc", "parquet", "text", "xml"}
)
"""Formats whose files can be read as format.`path`."""


_VERSION: Final = frozenset({"version", "system_version"})


_TIMESTAMP: Final = frozenset({"timestamp", "system_time"})


# fmt: off
# Behind a relation these words begin something else. Spark takes any other word as an alias.
_NO_ALIAS: Final = frozenset({
    "anti", "cross", "except", "full", "inner", "intersect", "join", "lateral", "left", "natural",
    "on", "right", "semi", "setminus", "minus", "union", "using", "where", "group", "having",
    "order", "sort", "cluster", "distribute", "limit", "offset", "window", "qualify", "pivot",
    "unpivot", "select", "insert", "set", "when", "values", "tablesample", "with", "for", "then",
    "map", "reduce",
})
# fmt: on


class Relation(NamedTuple):
    """The result of reading a relation.

    Attributes:
        reference: The relation, or None if it is not in the catalog.
        file: format.`path`, if it names a file.
        next: Index of the token after it and its alias.
    """

    reference: Reference | None
    file: str | None
    next: int


class RawName(NamedTuple):
    """A name of any number of parts, and the index of the next token."""

    parts: list[str]
    next: int


def ends_relation(token: Token) -> bool:
    """Tell whether nothing more of a relation can begin at a token, no alias either."""
    return token.kind is Kind.END or token.word in (",", ")") or token.word in _NO_ALIAS


def is_name(token: Token) -> bool:
    """Return whether a token can be part of a name."""
    return token.kind is Kind.WORD or token.kind is Kind.QUOTED


def read_name(tokens: Sequence[Token], index: int) -> RawName:
    """Read a name: `a`, `a.b`, `a.identifier('b')`.

    Raises:
        UnsupportedError: The name is computed.
    """
    parts, index = _read_part(tokens, index)
    while tokens[index].word == "." and is_name(tokens[index + 1]):
        more, index = _read_part(tokens, index + 1)
        parts += more
    return RawName(parts, index)


def _read_part(tokens: Sequence[Token], index: int) -> RawName:
    if tokens[index].word != "identifier" or tokens[index + 1].word != "(":
        return RawName([tokens[index].text], index + 1)
    if not is_spelled(tokens, index):
        raise computed_name()
    return RawName(split_name(decode(tokens[index + 2].text)), index + 4)


def computed_name() -> UnsupportedError:
    """Return the error for `identifier(...)` with anything but one string."""
    return UnsupportedError(
        "`identifier(...)` takes one string, such as identifier('s.t'): a computed name isn't "
        "known before the statement runs. Write the name itself, or let a dbt macro or the "
        "client's code write it."
    )


def is_spelled(tokens: Sequence[Token], index: int) -> bool:
    """Return whether `identifier('...')` with one string begins at a token."""
    words = [token.word for token in tokens[index : index + 4]]
    return words == ["identifier", "(", "", ")"] and tokens[index + 2].kind is Kind.STRING


def read_relation(
    tokens: Sequence[Token],
    index: int,
    closing: Mapping[int, int],
    hidden: frozenset[str] = frozenset(),
    *,
    alias_allowed: bool = True,
) -> Relation:
    """Read a relation whose first token is a name.

    Args:
        index: Where the relation begins.
        closing: Index of the closing token of each opening parenthesis.
        hidden: Lower-case names of common table expressions in scope.
        alias_allowed: False after `table`, which takes no alias.

    Raises:
        InputError: The version is not valid.
        UnsupportedError: The name or the version is computed.
    """
    start = tokens[index]
    parts, behind = read_name(tokens, index)
    if tokens[behind].word == "(" and alias_allowed:
        return Relation(None, None, behind)  # a table function
    name_end = tokens[behind - 1].end
    at, behind = read_version(tokens, behind)
    end = tokens[behind - 1].end
    behind = _skip_clauses(tokens, behind, closing)
    alias_at = tokens[behind - 1].end if alias_allowed else None
    if alias_allowed:
        aliased, behind = _skip_alias(tokens, behind)
        alias_at = None if aliased else alias_at
    name = Name.of(parts)
    # A common table expression has neither a schema nor versions.
    if name is None or (len(parts) == 1 and at is None and parts[0].lower() in hidden):
        return Relation(None, None, behind)
    if _is_file(parts):
        return Relation(None, f"{parts[0].lower()}.`{parts[1]}`", behind)
    reference = Reference(
        name=name, start=start.start, end=end, name_end=name_end, at=at, alias_at=alias_at
    )
    return Relation(reference, None, behind)


def _is_file(parts: list[str]) -> bool:
    return (
        len(parts) == 2
        and parts[0].lower() in FILE_FORMATS
        # A path has characters that a plain name lacks. Else `parquet.orders` is a table in a
        # schema `parquet`.
        and not parts[1].replace("_", "a").isalnum()
    )


def read_version(tokens: Sequence[Token], index: int) -> tuple[At | None, int]:
    """Read the requested version or None; return it and the index of the next token.

    Raises:
        InputError: The version is not valid.
        UnsupportedError: It is computed.
    """
    if tokens[index].word == "{":
        return _read_braces(tokens, index)
    first = index + 1 if tokens[index].word == "for" else index
    word = tokens[first].word
    # `version` and `timestamp` without these may be aliases.
    if tokens[first + 1].word == "as" and tokens[first + 2].word == "of":
        if word in _VERSION:
            return _read_version_number(tokens, first + 3)
        if word in _TIMESTAMP:
            return _read_timestamp(tokens, first + 3)
    if tokens[index].word == "changes" and tokens[index + 1].word in ("from", "between"):
        raise UnsupportedError(
            "`changes from ...` is not supported on versioned tables. Read both versions "
            "with `version as of` and compare them with `except all`."
        )
    return None, index


def _read_braces(tokens: Sequence[Token], index: int) -> tuple[At, int]:
    word, equals, literal, closing = (tokens[min(index + n, len(tokens) - 1)] for n in range(1, 5))
    known = word.word in ("snapshot", "timestamp")
    if not known or equals.word != "=" or literal.kind is not Kind.STRING or closing.word != "}":
        raise InputError(
            f"Expected {{snapshot = '...'}} or {{timestamp = '...'}} after the relation, found "
            f"'{{{word.text}'. Correct the braces."
        )
    value = decode(literal.text)
    return At(kind="version" if word.word == "snapshot" else "timestamp", value=value), index + 5


def _read_version_number(tokens: Sequence[Token], index: int) -> tuple[At, int]:
    token = tokens[index]
    if token.kind is Kind.STRING:
        return At(kind="version", value=decode(token.text)), index + 1
    if token.kind is Kind.WORD and token.word.isdigit():
        return At(kind="version", value=token.text), index + 1
    raise InputError(
        f"Expected a string or a whole number after `version as of`, found '{token.text}'. "
        "Write the version as a literal: version as of 'main~2'."
    )


def _read_timestamp(tokens: Sequence[Token], index: int) -> tuple[At, int]:
    """Read `'...'`, `timestamp '...'` or `cast('...' as timestamp)`; no expression of them."""
    if tokens[index].word in ("timestamp", "date") and tokens[index + 1].kind is Kind.STRING:
        index += 1
    length = 1
    if tokens[index].word == "cast" and tokens[index + 2].kind is Kind.STRING:
        rest = [token.word for token in tokens[index + 3 : index + 6]]
        if rest in (["as", "timestamp", ")"], ["as", "date", ")"]):
            index, length = index + 2, 4
    behind = [token.word for token in tokens[index + length : index + length + 2]]
    # An operator behind the text makes it an expression, which Spark would have to compute first.
    computed = behind[0] in ("+", "-", "*", "/", "%", ":") or behind == ["|", "|"]
    if tokens[index].kind is not Kind.STRING or computed:
        raise UnsupportedError(
            "`timestamp as of` takes a time as text, not an expression. Write: timestamp as of "
            "'2026-01-31 12:00:00'; a dbt macro or the client's code can compute it."
        )
    return At(kind="timestamp", value=decode(tokens[index].text)), index + length


def _skip_clauses(tokens: Sequence[Token], index: int, closing: Mapping[int, int]) -> int:
    if tokens[index].word == "with" and index + 1 in closing:
        index = closing[index + 1] + 1
    if tokens[index].word == "tablesample" and index + 1 in closing:
        index = closing[index + 1] + 1
        if tokens[index].word == "repeatable" and index + 1 in closing:
            index = closing[index + 1] + 1
    if tokens[index].word == "watermark" and not ends_relation(tokens[index + 1]):
        index = _skip_watermark(tokens, index)
    return index


def _skip_watermark(tokens: Sequence[Token], index: int) -> int:
    """Return the index behind `watermark ... delay of interval 1 day`, else the index given."""
    for place in range(index + 1, len(tokens) - 5):
        words = [token.word for token in tokens[place : place + 3]]
        if words == ["delay", "of", "interval"]:
            return place + 5
        if ends_relation(tokens[place]):
            break
    return index


def _skip_alias(tokens: Sequence[Token], index: int) -> tuple[bool, int]:
    token = tokens[index]
    if token.word == "as" and is_name(tokens[index + 1]):
        return True, index + 2
    # In backquotes, any word is an alias.
    if token.kind is Kind.QUOTED or (token.kind is Kind.WORD and token.word not in _NO_ALIAS):
        return True, index + 1
    return False, index
