"""A query: its own text, and the places where it reads relations."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from dbt.adapters.vcs.statements.lexer import Token
from dbt.adapters.vcs.statements.literals import quote_name
from dbt.adapters.vcs.statements.names import Reference
from dbt.adapters.vcs.statements.scan import Expect, Found, scan


class Edit(NamedTuple):
    """A slice of a text, by offsets, and what takes its place."""

    start: int
    end: int
    text: str


def edited(text: str, edits: Iterable[Edit]) -> str:
    """Return the text with slices replaced; they must not overlap, their order is free."""
    parts: list[str] = []
    position = 0
    for edit in sorted(edits):
        parts += (text[position : edit.start], edit.text)
        position = edit.end
    parts.append(text[position:])
    return "".join(parts)


def renames(replacements: Mapping[Reference, str]) -> list[Edit]:
    """Return the edits that put other relations in the place of some references.

    A reference without an alias gets its own name as one, so that `name.column` stays valid.
    """
    edits: list[Edit] = []
    for read, new in replacements.items():
        alias = f" as {quote_name(read.name.identifier)}"
        if read.alias_at == read.end:
            new += alias
        elif read.alias_at is not None:
            edits.append(Edit(read.alias_at, read.alias_at, alias))
        edits.append(Edit(read.start, read.end, new))
    return edits


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A statement or a part of one that returns rows.

    Attributes:
        text: As the user wrote it; behind its last token nothing follows.
        reads: Each place that reads a relation, in order; offsets into `text`. Common table
            expressions, table functions, files and relations of other catalogs are left out.
        files: format.`path` of files read directly, sorted.
    """

    text: str
    reads: tuple[Reference, ...] = ()
    files: tuple[str, ...] = ()

    def rewritten(self, replacements: Mapping[Reference, str]) -> str:
        """Return the text with other relations, as SQL, in the place of references.

        A reference that has no alias gets its own name as one where Spark allows it.
        """
        return edited(self.text, renames(replacements))


def qualified(
    query: Query, default_schema: str, except_names: Collection[str] = frozenset()
) -> str:
    """Return the text of a query with a schema before each relation that has none.

    Args:
        query: The query.
        default_schema: The schema to name.
        except_names: Names to leave as they are, such as temporary views; any case.
    """
    left = {name.lower() for name in except_names}
    schema = quote_name(default_schema)
    return edited(
        query.text,
        (
            Edit(read.start, read.name_end, f"{schema}.{quote_name(read.name.identifier)}")
            for read in query.reads
            if read.name.schema is None and read.name.identifier.lower() not in left
        ),
    )


def query_of(text: str, tokens: Sequence[Token], expect: Expect = Expect.QUERY) -> Query:
    """Return the query that some neighbouring tokens of a text make up, offsets from its start."""
    start, end = tokens[0].start, tokens[-1].end
    found = scan(tokens, expect)
    return Query(
        text=text[start:end],
        reads=tuple(shifted(read, -start) for read in found.reads),
        files=found.files,
    )


def joined_query(text: str, pieces: Sequence[Sequence[Token]]) -> tuple[Query, Found]:
    """Return the query made of pieces of a text, and what it reads with the text's own offsets.

    As in `with c as (...) insert into t select ...`, where other words stand between them.
    """
    pieces = [piece for piece in pieces if piece]
    found = scan([token for piece in pieces for token in piece])
    slices: list[str] = []
    reads: list[Reference] = []
    length = 0
    for piece in pieces:
        start, end = piece[0].start, piece[-1].end
        by = length - start
        reads += (shifted(read, by) for read in found.reads if start <= read.start < end)
        slices.append(text[start:end])
        length += end - start + 1
    return Query(text="\n".join(slices), reads=tuple(reads), files=found.files), found


def shifted(read: Reference, by: int) -> Reference:
    """Return a reference whose offsets count from elsewhere."""
    if not by:
        return read
    return replace(
        read,
        start=read.start + by,
        end=read.end + by,
        name_end=read.name_end + by,
        alias_at=None if read.alias_at is None else read.alias_at + by,
    )
