"""Reads one SQL text, and says what it means for a branch."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final

from dbt.adapters.vcs.core.errors import InputError, UnsupportedError
from dbt.adapters.vcs.statements.command import SparkCommand
from dbt.adapters.vcs.statements.cursor import Cursor, ForeignError
from dbt.adapters.vcs.statements.lexer import Kind, Token, tokenize
from dbt.adapters.vcs.statements.mentions import mentions_of, reads_or_mentions
from dbt.adapters.vcs.statements.query import Query
from dbt.adapters.vcs.statements.readers.alter import read_alter, read_comment_on
from dbt.adapters.vcs.statements.readers.clauses import read_if_exists, read_partition
from dbt.adapters.vcs.statements.readers.create import SCHEMA_WORDS, read_create
from dbt.adapters.vcs.statements.readers.insert import read_insert, read_row_change
from dbt.adapters.vcs.statements.readers.show import read_describe, read_show
from dbt.adapters.vcs.statements.scan import QUERY_WORDS, scan
from dbt.adapters.vcs.statements.schemas import DropSchema, Use
from dbt.adapters.vcs.statements.statement import Statement
from dbt.adapters.vcs.statements.tables import DropRelation, Truncate

_RAW_COMMAND: Final = re.compile(r"\s*(set|reset|add|list)\b", re.IGNORECASE)
_REFUSED: Final = {
    "load": "Read the files in a query, and insert its rows: insert into t select ... from "
    "parquet.`<path>`",
    "msck": "The repository knows the files of its tables; leave the statement out",
    "repair": "The repository knows the files of its tables; leave the statement out",
    "import": "Read the files in a query, and insert its rows",
    "copy": "Read the files in a query, and insert its rows",
    "optimize": "Leave the statement out, or rebuild the table",
    "vacuum": "Old files are collected by the repository; leave the statement out",
    "restore": "Make the table again from an older version: create or replace table t clone t "
    "version as of '<version>'",
    "undrop": "Make the table again from an older version: create table t clone t version as of "
    "'<version>'",
    "snapshot": "Compare or merge branches with the command dbt-vcs",
    "begin": "Send each statement on its own",
    "execute": "Send the statement itself, not as a string",
}


def parse(text: str) -> Statement:
    """Return what a statement means.

    One statement, a semicolon behind it allowed. Nothing but the text is looked at: whether
    the relations exist, and whether they are versioned, is for the caller to say.

    Raises:
        InputError: There is no statement, there are several, or one that a branch has to
            understand is not well formed.
        UnsupportedError: The statement is understood, and can't be done on a branch.
    """
    try:
        tokens = tokenize(text)
    except InputError:
        if _RAW_COMMAND.match(text):
            return SparkCommand(text=text)  # their values are not SQL
        raise
    tokens = _single(text, tokens)
    text = text[: tokens[-2].end]
    try:
        return _statement(text, tokens)
    except ForeignError:
        return SparkCommand(text=text, mentions=reads_or_mentions(tokens))


def split(text: str) -> list[str]:
    """Return the statements of a text, separated by semicolons, which are left out.

    Semicolons in strings, names in backquotes and comments separate nothing. A piece without
    a statement, such as a comment behind the last semicolon, is left out.
    """
    statements: list[str] = []
    start, empty = 0, True
    for token in tokenize(text):
        ends = token.kind is Kind.END
        if ends or (token.text == ";" and token.kind is Kind.SYMBOL):
            if not empty:
                statements.append(text[start : token.start].strip())
            start, empty = token.end, True
        else:
            empty = False
    return statements


def _single(text: str, tokens: list[Token]) -> list[Token]:
    """Return the tokens of the one statement, semicolons left out, an `END` last."""
    kept = [token for token in tokens if token.text != ";" or token.kind is not Kind.SYMBOL]
    if len(kept) == 1:
        raise InputError("Expected a statement, found nothing but white space and comments.")
    if len(kept) < len(tokens):
        semicolon = next(t for t in tokens if t.text == ";" and t.kind is Kind.SYMBOL)
        if kept[-2].start > semicolon.start:
            raise InputError(
                f"Expected one statement, found {len(split(text))}. Send them one at a time."
            )
    end = kept[-2].end
    return [*kept[:-1], Token(Kind.END, "", "", end, end)]


def _statement(text: str, tokens: Sequence[Token]) -> Statement:
    cursor = Cursor(text, tokens)
    word = cursor.token.word
    if word in QUERY_WORDS or cursor.token.text == "(":
        return _query(cursor)
    if word in _REFUSED:
        raise _unsupported(cursor, _REFUSED[word])
    reader = _READERS.get(word)
    if reader is not None:
        statement = reader(cursor)
        if statement is not None:
            return statement
    if word in ("explain", "cache", "describe", "desc"):
        return SparkCommand(text=text, mentions=reads_or_mentions(tokens))
    return SparkCommand(text=text, mentions=mentions_of(tokens))


def _unsupported(cursor: Cursor, step: str) -> UnsupportedError:
    words = " ".join(cursor.ahead(n).text for n in range(3)).strip()
    return UnsupportedError(f"`{words} ...` is not supported on versioned tables. {step}.")


def _query(cursor: Cursor) -> Statement:
    """Read a query, or `with` or `from` before a statement that changes rows."""
    word = cursor.token.word
    if word in ("with", "from"):
        verb = _outer_verb(cursor)
        if verb is not None:
            prefix = cursor.tokens[:verb]
            cursor.index = verb
            if cursor.take("insert"):
                return read_insert(cursor, prefix)
            return read_row_change(cursor, prefix)
    found = scan(cursor.tokens[:-1])
    return Query(text=cursor.text, reads=found.reads, files=found.files)


def _outer_verb(cursor: Cursor) -> int | None:
    """Return the index of `insert`, `update`, `delete` or `merge` outside of parentheses.

    Behind `with` it follows a closing parenthesis; behind `from`, only an insert can follow.
    """
    behind_with = cursor.token.word == "with"
    depth = 0
    for index, token in enumerate(cursor.tokens):
        if token.kind is Kind.SYMBOL:
            depth += {"(": 1, ")": -1}.get(token.text, 0)
        elif depth == 0 and token.word in ("select", "values", "table"):
            return None
        elif depth == 0 and token.word == "from" and behind_with:
            behind_with = False
        elif depth == 0 and token.word in _VERBS and _is_verb(cursor, index, behind_with):
            return index
    return None


_VERBS: Final = {
    "insert": ("into", "overwrite", "with"),
    "merge": ("into", "with"),
    "delete": ("from",),
    "update": (),
}


def _is_verb(cursor: Cursor, index: int, behind_with: bool) -> bool:
    token, before, after = (cursor.tokens[index + n] for n in (0, -1, 1))
    if token.word == "insert":
        return after.word in _VERBS["insert"]
    allowed = _VERBS[token.word]
    return behind_with and before.text == ")" and (not allowed or after.word in allowed)


def _insert(cursor: Cursor) -> Statement:
    cursor.expect("insert")
    return read_insert(cursor)


def _create(cursor: Cursor) -> Statement | None:
    cursor.expect("create")
    return read_create(cursor)


def _replace(cursor: Cursor) -> Statement | None:
    if cursor.at("replace", "table"):
        raise _unsupported(cursor, "Write `create or replace table`")
    return None


def _alter(cursor: Cursor) -> Statement | None:
    cursor.expect("alter")
    return read_alter(cursor)


def _comment(cursor: Cursor) -> Statement:
    cursor.expect("comment", "on")
    return read_comment_on(cursor)


def _drop(cursor: Cursor) -> Statement | None:
    cursor.expect("drop")
    if cursor.take_any(*SCHEMA_WORDS):
        if_exists = read_if_exists(cursor)
        name = cursor.schema()
        mode = cursor.take_any("cascade", "restrict")
        cursor.end()
        return DropSchema(name=name, if_exists=if_exists, cascade=mode == "cascade")
    if cursor.at("snapshot"):
        raise _unsupported(cursor, "Delete a tag with the command dbt-vcs")
    kind = cursor.take_any("table", "view")
    if kind is None:
        return None
    if_exists = read_if_exists(cursor)
    target = cursor.target()
    cursor.take("purge")
    cursor.end()
    return DropRelation(
        kind="table" if kind == "table" else "view", target=target, if_exists=if_exists
    )


def _truncate(cursor: Cursor) -> Statement:
    cursor.expect("truncate", "table")
    target = cursor.target()
    partition = read_partition(cursor)
    cursor.end()
    return Truncate(target=target, partition=partition)


def _use(cursor: Cursor) -> Statement:
    cursor.expect("use")
    if cursor.token.word in SCHEMA_WORDS and cursor.ahead().kind is not Kind.END:
        cursor.index += 1
    schema = cursor.schema()
    cursor.end()
    return Use(schema=schema)


def _show(cursor: Cursor) -> Statement | None:
    cursor.expect("show")
    return read_show(cursor)


def _describe(cursor: Cursor) -> Statement | None:
    cursor.take_any("describe", "desc")
    return read_describe(cursor)


_READERS: Final[dict[str, Callable[[Cursor], Statement | None]]] = {
    "insert": _insert,
    "update": read_row_change,
    "delete": read_row_change,
    "merge": read_row_change,
    "create": _create,
    "replace": _replace,
    "alter": _alter,
    "comment": _comment,
    "drop": _drop,
    "truncate": _truncate,
    "use": _use,
    "show": _show,
    "describe": _describe,
    "desc": _describe,
}
