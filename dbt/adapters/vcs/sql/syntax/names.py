"""Names of relations in a text, and their places."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple

from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.core.model import RelationName
from dbt.adapters.vcs.sql.syntax.lexer import Kind, tokenize

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
        kind: The kind of `value`.
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
        name: The relation.
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
        name: The relation.
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
