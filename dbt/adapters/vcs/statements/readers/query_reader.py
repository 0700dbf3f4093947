"""Reads a query, and statements that begin like one."""

from __future__ import annotations

from dbt.adapters.vcs.statements.families.command import SparkCommand
from dbt.adapters.vcs.statements.families.insert import Insert
from dbt.adapters.vcs.statements.families.row_change import Delete, Merge, Update
from dbt.adapters.vcs.statements.readers.insert_reader import read_insert
from dbt.adapters.vcs.statements.readers.row_change_reader import read_row_change
from dbt.adapters.vcs.statements.syntax.cursor import TokenCursor
from dbt.adapters.vcs.statements.syntax.lexer import Kind
from dbt.adapters.vcs.statements.syntax.query import Query
from dbt.adapters.vcs.statements.syntax.scan import scan


def read_query(cursor: TokenCursor) -> Query | Insert | Update | Delete | Merge | SparkCommand:
    """Read a statement that begins with a query's first word.

    `with` may stand before a statement that changes rows, `from s` before an insert. The text
    of a query is the whole statement, comments before its first word included.
    """
    if cursor.at("with") or cursor.at("from"):
        verb = _verb(cursor)
        if verb is not None:
            prefix = cursor.tokens[:verb]
            cursor.index = verb
            if cursor.take("insert"):
                return read_insert(cursor, prefix)
            return read_row_change(cursor, prefix)
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
