"""Parses one SQL text into a statement about a branch.

The families of statements lie above this module, and register their readers here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module
from itertools import product
from pkgutil import iter_modules
from typing import Final, NamedTuple, TypeAlias, TypeVar

from dbt.adapters.vcs.core.errors import InputError, UnsupportedError
from dbt.adapters.vcs.sql.syntax.cursor import ForeignError, TokenCursor, instant
from dbt.adapters.vcs.sql.syntax.lexer import Kind, Token, tokenize
from dbt.adapters.vcs.sql.syntax.mentions import (
    called_names,
    may_write,
    mentions_of,
    places_of,
    reads_or_mentions,
)
from dbt.adapters.vcs.sql.syntax.names import Name
from dbt.adapters.vcs.sql.syntax.scan import QUERY_WORDS, Found, scan
from dbt.adapters.vcs.sql.syntax.statement import Query, SparkCommand, Statement

Reader: TypeAlias = Callable[[TokenCursor], Statement | None]
"""Reads a statement; None if it doesn't concern a branch, so that Spark runs it."""

_R = TypeVar("_R", bound=Reader)
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


class FoundReader(NamedTuple):
    """The reader of a statement, and the number of words that were compared to find it."""

    read: Reader
    words: int


def reader_of(tokens: Sequence[Token]) -> FoundReader | None:
    """Return the reader of a statement; None if no family reads such statements."""
    load_families()
    longest = max(map(len, _READERS))
    words = tuple(token.word for token in tokens[:longest])
    # The longest beginning first: `show create table` has a reader of its own beside `show`.
    for count in range(longest, 0, -1):
        reader = _READERS.get(words[:count])
        if reader is not None:
            return FoundReader(reader, count)
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
        statement: The statement.
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
        text: The statement.
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
        cursor.index += reader.words
        statement = reader.read(cursor)
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
    """Read a statement that begins with a query's first word."""
    # `with` may stand before a statement that changes rows, `from s` before an insert.
    verb = _verb(cursor) if cursor.at("with") or cursor.at("from") else None
    reader = None if verb is None else reader_of(cursor.tokens[verb:])
    if verb is not None and reader is not None:
        cursor.index = verb + reader.words
        statement = reader.read(cursor)
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
