"""Parses one SQL text into a statement, and finds the places in it that read relations.

The families of statements lie above this module, and register their readers here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from importlib import import_module
from itertools import product
from pkgutil import iter_modules
from typing import ClassVar, Final, NamedTuple, TypeAlias, TypeVar

from dbt.adapters.vcs.core.errors import InputError, UnsupportedError
from dbt.adapters.vcs.sql.syntax.cursor import ForeignError, TokenCursor, instant
from dbt.adapters.vcs.sql.syntax.diff_call import DiffReference
from dbt.adapters.vcs.sql.syntax.excerpts import excerpt
from dbt.adapters.vcs.sql.syntax.lexer import Edit, Kind, Token, edited, quote_name, tokenize
from dbt.adapters.vcs.sql.syntax.mentions import (
    called_names,
    may_write,
    mentions_of,
    places_of,
    reads_or_mentions,
)
from dbt.adapters.vcs.sql.syntax.names import CATALOG, Name, Reference, Target, is_name
from dbt.adapters.vcs.sql.syntax.scan import QUERY_WORDS, Found, scan


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


@dataclass(frozen=True, slots=True, kw_only=True)
class OnRelation(Statement):
    """A statement about one relation, or about the temporary view of that name if there is one.

    Creating a relation never concerns a temporary view; `update`, `delete` and `merge` check by
    themselves.
    """

    target: Target


class ChangingStatement(Statement):
    """A statement that may change the branch."""

    __slots__ = ()

    changes = True


class ChangingRelation(OnRelation):
    """A statement that may change the one relation that it is about."""

    __slots__ = ()

    changes = True


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
        query: None with `using <format>`.
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


def query_of(text: str, tokens: Sequence[Token]) -> Query:
    """Return the query formed by adjacent tokens of a text, with offsets from its start."""
    return joined_query(text, [tokens])[0]


def remaining_query(cursor: TokenCursor) -> Query:
    """Read a query, which extends to the end of the statement."""
    if cursor.done:
        cursor.fail("a query")
    first, cursor.index = cursor.index, len(cursor.tokens) - 1
    return query_of(cursor.text, cursor.tokens[first:-1])


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


Reader: TypeAlias = Callable[[TokenCursor], Statement | None]
"""Reads a statement; None if it doesn't concern a branch, so that Spark runs it."""

_R = TypeVar("_R", bound=Reader)
_S = TypeVar("_S")
_READERS: Final[dict[tuple[str, ...], Reader]] = {}


def reads(*beginnings: str) -> Callable[[_R], _R]:
    """Register a function as the reader of statements that begin with some words.

    The reader with the most matching words is called, with the cursor after them.

    Args:
        beginnings: Alternatives in lower case, such as `drop view` or `create [or replace] view`;
            what is in brackets may be missing.
    """

    def register(reader: _R) -> _R:
        for beginning in beginnings:
            parts = re.findall(r"\[([^]]+)\]|([^\[\s]+)", beginning)
            choices = [(word,) if word else ("", optional) for optional, word in parts]
            for chosen in product(*choices):
                words = tuple(" ".join(chosen).split())
                if words in _READERS:
                    raise ValueError(f"Two readers for statements that begin with {beginning}.")
                _READERS[words] = reader
        return reader

    return register


def reader_of(tokens: Sequence[Token]) -> tuple[Reader, int] | None:
    """Return the reader of a statement, and the number of words that were compared to find it.

    Returns:
        None if no family reads such statements.
    """
    load_families()
    longest = max(map(len, _READERS))
    words = tuple(token.word for token in tokens[:longest])
    # The longest beginning first: `show create table` has a reader of its own beside `show`.
    for count in range(longest, 0, -1):
        reader = _READERS.get(words[:count])
        if reader is not None:
            return reader, count
    return None


@cache
def load_families() -> None:
    """Import all families of statements, which registers their readers and handlers."""
    # By name and not before the first statement: the families lie above the rooms that parse.
    package = import_module("dbt.adapters.vcs.sql")
    for module in iter_modules(package.__path__):
        import_module(f"{package.__name__}.{module.name}")


# What follows these words is not SQL; Spark takes it as it is.
_RAW: Final = frozenset({"set", "reset", "add", "list"})
_RAW_COMMAND: Final = re.compile(rf"\s*({'|'.join(sorted(_RAW))})\b", re.IGNORECASE)
# Decision 7: what would change a versioned table in a way that isn't understood is refused, never
# passed on.
_REFUSED: Final = {
    "load": "Read the files in a query, and insert its rows: insert into t select ... from "
    "parquet.`<path>`",
    "import": "Read the files in a query, and insert its rows",
    "copy": "Read the files in a query, and insert its rows",
    "vacuum": "Old files are collected by `dbt-vcs gc`; leave the statement out",
    "execute": "Send the statement itself: a dbt macro or the client's code can put it together",
    "replace": "Write `create or replace table`",
    **dict.fromkeys(
        ("msck", "repair"),
        "Leave the statement out: a partition exists as soon as it has rows, and the rows of "
        "other files are inserted by a query: insert into t select ... from parquet.`<path>`",
    ),
}


class Read(NamedTuple):
    """A parsed text.

    Attributes:
        calls: Each name in it that may be a function call, once.
    """

    statement: Statement
    calls: tuple[Name, ...]


def parse(text: str) -> Statement:
    """Parse a statement; `read` returns more."""
    return read(text).statement


def read(text: str, timestamp: Callable[[], str] = instant) -> Read:
    """Parse one statement and find what it may call; a trailing semicolon is allowed.

    Only the text is read. The caller checks whether relations exist and are versioned.

    Args:
        timestamp: Returns the type that the session means by `timestamp`; called if it is named.

    Raises:
        InputError: There is no statement or more than one, or the syntax is wrong.
        UnsupportedError: The statement is valid, but not possible on a branch.
    """
    try:
        tokens = tokenize(text)
    except InputError:
        # Spark takes the rest of such a line as it is, an unclosed quote too: `set x = it's`.
        if _RAW_COMMAND.match(text):
            return Read(SparkCommand(text=text), ())
        raise
    # First, since a script has semicolons and would be refused as several statements.
    _refuse_script(tokens)
    tokens = _single(text, tokens)
    calls = called_names(tokens)
    if tokens[0].word in _RAW and not _sets_variable(tokens):
        return Read(SparkCommand(text=text, mentions=mentions_of(tokens)), calls)
    # What is stored, such as a view, must not end with dbt's comment or a semicolon.
    text = text[: tokens[-2].end]
    if _sets_variable(tokens):
        # The value may be a query; what is set is no relation.
        behind = next((n for n, token in enumerate(tokens, 1) if token.word == "="), len(tokens))
        found = scan(tokens[behind:-1])
        return Read(SparkCommand(text=text, mentions=found.reads, diffs=found.diffs), calls)
    try:
        return Read(_statement(TokenCursor(text, tokens, timestamp=timestamp)), calls)
    # A relation of another catalog is Spark's business, but the statement may read the branch.
    except ForeignError:
        return Read(_for_engine(text, tokens, reads_or_mentions(tokens)), calls)


# Each statement that reads a view needs its query again.
@lru_cache(maxsize=1_024)
def query_of_view(text: str) -> Query:
    """Parse the query of a view."""
    return reparsed(Query, text)


@lru_cache(maxsize=1_024)
def query_of_body(text: str) -> Query:
    """Parse the body of a SQL function, a query or an expression."""
    return query_of(text, tokenize(text)[:-1])


def reparsed(kind: type[_S], text: str) -> _S:
    """Parse a statement again after an edit of its text.

    Raises:
        InputError: The text is no longer a statement of the given kind.
    """
    statement = parse(text)
    if not isinstance(statement, kind):
        raise InputError(
            f"The versions that this statement names could not be put into it: "
            f"{excerpt(text, 200)}. Read the version in a subquery: (select * from t "
            "version as of '...') as t."
        )
    return statement


def for_spark(text: str) -> SparkCommand:
    """Return a statement as a command for the engine, whatever it means for a branch.

    Raises:
        InputError: It is not well formed.
        UnsupportedError: It reads a version that is computed.
    """
    tokens = _single(text, tokenize(text))
    text = text[: tokens[-2].end]
    first = next((i for i, token in enumerate(tokens) if token.word == "as"), None)
    # Of `alter view v as <query>`, only the query reads.
    if tokens[0].word == "alter" and first is not None:
        found = scan(tokens[first + 1 : -1])
        return SparkCommand(text=text, mentions=found.reads, diffs=found.diffs)
    return SparkCommand(text=text, mentions=mentions_of(tokens))


def split(text: str) -> list[str]:
    """Split a text at semicolons, and return the statements without them.

    Semicolons in strings, backquoted names and comments don't count. A piece without a
    statement, such as a comment after the last semicolon, is left out.
    """
    statements: list[str] = []
    start, empty = 0, True
    for token in tokenize(text):
        ends = token.kind is Kind.END
        if ends or token.word == ";":
            if not empty:
                statements.append(text[start : token.start].strip())
            start, empty = token.end, True
        else:
            empty = False
    return statements


def _single(text: str, tokens: list[Token]) -> list[Token]:
    """Return the tokens of a single statement without semicolons, ending with `END`."""
    kept = [token for token in tokens if token.word != ";"]
    if len(kept) == 1:
        raise InputError("Expected a statement, found nothing but white space and comments.")
    if len(kept) < len(tokens):
        semicolon = next(t for t in tokens if t.word == ";")
        if kept[-2].start > semicolon.start:
            raise InputError(
                f"Expected one statement, found {len(split(text))}. Send them one at a time."
            )
    end = kept[-2].end
    return [*kept[:-1], Token(Kind.END, "", "", end, end)]


def _sets_variable(tokens: Sequence[Token]) -> bool:
    return tokens[0].word == "set" and tokens[1].word in ("var", "variable")


def _refuse_script(tokens: Sequence[Token]) -> None:
    labelled = len(tokens) > 2 and tokens[1].word == ":"
    if tokens[2 if labelled else 0].word == "begin":
        raise UnsupportedError(
            "`begin ... end` is not supported, since each statement of a script has to reach the "
            "branch by itself. Send its statements one at a time; write loops and conditions in "
            "Jinja or Python, and variables with `declare variable`."
        )


def _statement(cursor: TokenCursor) -> Statement:
    text, tokens = cursor.text, cursor.tokens
    word = cursor.token.word
    if word in QUERY_WORDS or cursor.token.word == "(":
        return _read_query(cursor)
    if word in _REFUSED:
        words = " ".join(cursor.ahead(n).text for n in range(2)).strip()
        raise UnsupportedError(
            f"`{words} ...` is not supported on versioned tables. {_REFUSED[word]}."
        )
    reader = reader_of(tokens)
    if reader is not None:
        read, words_read = reader
        cursor.index += words_read
        statement = read(cursor)
        if statement is not None:
            return statement
    # Decision 7: what nobody foresaw goes to Spark as it is, and whatever could be a relation is
    # mounted first.
    if word in ("explain", "cache", "describe", "desc"):
        return _for_engine(text, tokens, reads_or_mentions(tokens))
    return _for_engine(text, tokens, Found(reads=mentions_of(tokens), files=(), diffs=()))


def _for_engine(text: str, tokens: Sequence[Token], found: Found) -> SparkCommand:
    """Return a statement that only the engine understands."""
    writes = may_write(tokens)
    return SparkCommand(
        text=text,
        mentions=found.reads,
        diffs=found.diffs,
        writes=writes,
        places=places_of(tokens) if writes else (),
    )


def _read_query(cursor: TokenCursor) -> Statement:
    # `with` may stand before a statement that changes rows, `from s` before an insert.
    verb = _verb(cursor) if cursor.at("with") or cursor.at("from") else None
    reader = None if verb is None else reader_of(cursor.tokens[verb:])
    if verb is not None and reader is not None:
        read, words = reader
        cursor.index = verb + words
        statement = read(cursor)
        # Only readers that leave their statement to Spark return None, and those of these verbs
        # don't.
        assert statement is not None
        return statement
    # The text is left whole: hints and positions in Spark's errors refer to it.
    found = scan(cursor.tokens[:-1])
    return Query(text=cursor.text, reads=found.reads, files=found.files, diffs=found.diffs)


def _verb(cursor: TokenCursor) -> int | None:
    """Return the index of the verb that makes the statement more than a query, or None."""
    tokens, depth = cursor.tokens, 0
    for index, token in enumerate(tokens):
        if token.kind is Kind.SYMBOL:
            depth += {"(": 1, ")": -1}.get(token.word, 0)
        elif depth or tokens[index - 1].word == ".":
            continue
        elif token.word in ("select", "values", "table"):
            return None
        elif token.word == "insert":
            if tokens[index + 1].word in ("into", "overwrite", "with"):
                return index
        elif tokens[index - 1].word == ")" and token.word in ("update", "delete", "merge"):
            # Nothing else can follow the parenthesis of a common table expression.
            return index if cursor.at("with") else None
    return None
