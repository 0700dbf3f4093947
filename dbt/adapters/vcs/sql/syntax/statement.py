"""Statements, the texts that they consist of, and the places in these that read relations."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple, TypeVar

from dbt.adapters.vcs.sql.syntax.diff_call import DiffReference
from dbt.adapters.vcs.sql.syntax.lexer import Token, quote_name, tokenize
from dbt.adapters.vcs.sql.syntax.names import CATALOG, Name, Reference, Target, is_name
from dbt.adapters.vcs.sql.syntax.scan import Expect, Found, scan


class Statement:
    """One parsed statement; each module of `sql` has a family of them.

    Attributes:
        changes: True if it may change the branch.
        writes_rows: True if it computes rows and writes them, which may take long.
    """

    # A base without slots would give each statement a `__dict__`.
    __slots__ = ()

    changes: ClassVar[bool] = False
    writes_rows: ClassVar[bool] = False


class OnRelation(Statement):
    """A statement about one relation, or about the temporary view of that name if there is one.

    Creating a relation never concerns a temporary view; `update`, `delete` and `merge` check by
    themselves.
    """

    __slots__ = ()

    target: Target


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


PlaceT = TypeVar("PlaceT", bound="Reference | DiffReference")


def renames(replacements: Mapping[PlaceT, str], text: str) -> list[Edit]:
    """Return the edits of a text that replace references by other relations.

    A reference without an alias gets its own name as one, so that `name.column` stays valid.
    `schema.name.column` stays valid too: it becomes `name.column`.
    """
    edits: list[Edit] = []
    names: dict[tuple[str, ...], str] = {}
    for read, new in replacements.items():
        if isinstance(read, DiffReference):
            edits.append(Edit(read.start, read.end, new))
            continue
        alias = f" as {quote_name(read.name.identifier)}"
        if read.alias_at == read.end:
            new += alias
        elif read.alias_at is not None:
            edits.append(Edit(read.alias_at, read.alias_at, alias))
        edits.append(Edit(read.start, read.end, new))
        # An alias of the user's hides the longer names already.
        if not read.aliased and read.name.schema is not None:
            names.update(longer_names((CATALOG, read.name.schema, read.name.identifier)))
    return [*edits, *shortened(text, names)]


def longer_names(parts: Sequence[str]) -> dict[tuple[str, ...], str]:
    """Return each qualified spelling of a name, in lower case, with the short name."""
    lower = tuple(part.lower() for part in parts)
    return {lower[first:]: parts[-1] for first in range(len(parts) - 1)}


def shortened(text: str, names: Mapping[tuple[str, ...], str]) -> list[Edit]:
    """Return the edits that shorten qualified relation names before columns."""
    edits: list[Edit] = []
    tokens = tokenize(text) if names else []
    index = 0
    while index < len(tokens):
        before = tokens[index - 1].word if index else ""
        chain: list[Token] = []
        while is_name(tokens[index]):
            chain.append(tokens[index])
            if tokens[index + 1].word != ".":
                break
            index += 2
        index += 1
        # In `f(x).s.t` these are fields of a value.
        if before == ".":
            continue
        # In `s.t.*` the chain has no part left for the column; just `s.t` is a relation.
        longest = len(chain) if tokens[index - 1].word == "*" else len(chain) - 1
        for length in range(longest, 1, -1):
            name = names.get(tuple(token.text.lower() for token in chain[:length]))
            if name is not None:
                edits.append(Edit(chain[0].start, chain[length - 1].end, quote_name(name)))
                break
    return edits


@dataclass(frozen=True, slots=True, kw_only=True)
class Query(Statement):
    """A statement or a part of one that returns rows.

    Attributes:
        text: As the user wrote it; nothing follows its last token.
        reads: Each place that reads a relation, in order; offsets into `text`. Common table
            expressions, table functions, files and relations of other catalogs are left out.
        files: format.`path` of files read directly, sorted.
        diffs: Each place that reads a diff of versions, in order; offsets into `text`.
    """

    text: str
    reads: tuple[Reference, ...] = ()
    files: tuple[str, ...] = ()
    diffs: tuple[DiffReference, ...] = ()

    def rewritten(self, replacements: Mapping[PlaceT, str]) -> str:
        """Return the text with references replaced by other relations, as SQL.

        A reference without an alias gets its own name as one where Spark allows it, so that
        columns may still be qualified, with or without the schema. A diff gets none.
        """
        return edited(self.text, renames(replacements, self.text))


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkCommand(Statement):
    """A statement that changes no branch: `set`, `cache table`, `explain`, `create function`...

    Attributes:
        text: As the user wrote it; nothing follows its last token.
        mentions: What it reads, or, if that is not known, every name in it that could be a
            relation's, whether such a relation exists or not.
        diffs: Diffs of versions that it reads.
        writes: True if it may write outside of the session: files, other catalogs.
        places: Locations that it names, if it may write.
    """

    text: str
    mentions: tuple[Reference, ...] = ()
    diffs: tuple[DiffReference, ...] = ()
    writes: bool = False
    places: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateTemporaryView(Statement):
    """`create [or replace] [global] temporary view v ...`, which is not on any branch.

    Attributes:
        target: The view.
        query: None with `using <format>`.
        replace: True with `or replace`.
        global_: True with `global`.
        text: The whole statement.
        query_start: Offset of the query in `text`; 0 without one.
    """

    target: Target
    query: Query | None
    replace: bool
    global_: bool
    text: str
    query_start: int = 0

    def rewritten(self, query: str) -> str:
        """Return the statement with its query replaced by another text."""
        return self.text if self.query is None else self.text[: self.query_start] + query


def qualified(
    query: Query,
    default_schema: str,
    except_names: Collection[str] = frozenset(),
    calls: Iterable[tuple[Name, int, int]] = (),
) -> str:
    """Return the text of a query with the schema added to unqualified relations and functions.

    Args:
        query: The query.
        default_schema: The schema to name.
        except_names: Names to leave unchanged, such as temporary views; in any case.
        calls: The names, and the places in the query's text, that call a function of the branch.
    """
    left = {name.lower() for name in except_names}
    schema = quote_name(default_schema)
    places = [
        (read.name, read.start, read.name_end)
        for read in query.reads
        if read.name.identifier.lower() not in left
    ]
    return edited(
        query.text,
        (
            Edit(start, end, f"{schema}.{quote_name(name.identifier)}")
            for name, start, end in (*places, *calls)
            if name.schema is None
        ),
    )


def query_of(text: str, tokens: Sequence[Token], expect: Expect = Expect.QUERY) -> Query:
    """Return the query formed by adjacent tokens of a text, with offsets from its start."""
    start, end = tokens[0].start, tokens[-1].end
    found = scan(tokens, expect)
    return Query(
        text=text[start:end],
        reads=tuple(shifted(read, -start) for read in found.reads),
        files=found.files,
        diffs=tuple(moved(diff, -start) for diff in found.diffs),
    )


def joined_query(text: str, pieces: Sequence[Sequence[Token]]) -> tuple[Query, Found]:
    """Return the query formed by pieces of a text, and its reads with the text's offsets.

    In `with c as (...) insert into t select ...`, for example, other words separate the
    pieces.
    """
    pieces = [piece for piece in pieces if piece]
    found = scan([token for piece in pieces for token in piece])
    slices: list[str] = []
    reads: list[Reference] = []
    diffs: list[DiffReference] = []
    length = 0
    for piece in pieces:
        start, end = piece[0].start, piece[-1].end
        by = length - start
        reads += (shifted(read, by) for read in found.reads if start <= read.start < end)
        diffs += (moved(diff, by) for diff in found.diffs if start <= diff.start < end)
        slices.append(text[start:end])
        # One more for the line break that joins the pieces.
        length += end - start + 1
    query = Query(
        text="\n".join(slices), reads=tuple(reads), files=found.files, diffs=tuple(diffs)
    )
    return query, found


def moved(diff: DiffReference, by: int) -> DiffReference:
    """Return a diff with shifted offsets."""
    return replace(diff, start=diff.start + by, end=diff.end + by)


def shifted(read: Reference, by: int) -> Reference:
    """Return a reference with shifted offsets."""
    if not by:
        return read
    return replace(
        read,
        start=read.start + by,
        end=read.end + by,
        name_end=read.name_end + by,
        alias_at=None if read.alias_at is None else read.alias_at + by,
    )
