"""Statements that insert rows: their value and its reader."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from dbt.adapters.vcs.core.errors import UnsupportedError
from dbt.adapters.vcs.sql.syntax.clauses import (
    PartitionSpec,
    read_if_not_exists,
    read_names,
    read_partition,
)
from dbt.adapters.vcs.sql.syntax.cursor import BEFORE_AN_OPERAND, TokenCursor, read_expression
from dbt.adapters.vcs.sql.syntax.diff_call import DiffReference
from dbt.adapters.vcs.sql.syntax.lexer import Edit, Kind, Slice, Token, edited
from dbt.adapters.vcs.sql.syntax.mentions import places_of
from dbt.adapters.vcs.sql.syntax.names import Reference, is_name
from dbt.adapters.vcs.sql.syntax.parser import (
    ChangingRelation,
    Query,
    SparkCommand,
    joined_query,
    reads,
)
from dbt.adapters.vcs.sql.syntax.scan import QUERY_WORDS, Found, scan


@dataclass(frozen=True, slots=True, kw_only=True)
class Insert(ChangingRelation):
    """`insert into|overwrite t ...`.

    Attributes:
        query: The rows to write, as a query of its own; `values` is one. It is not runnable if
            its values hold `default`.
        reads: What the query and `replace where` read, with offsets into `text`.
        diffs: Diffs of versions that they read, with offsets into `text`.
        files: format.`path` of files that they read directly.
        text: The whole statement; nothing follows its last token.
        columns: The column list; empty if there is none.
        if_not_exists: True with that clause: write only if the partition doesn't exist.
        replace_where: SQL text of the condition of `replace where`, or None.
        verb: Place of the word `into` or `overwrite`.
        condition: Place of `if not exists` or `replace where ...`.
    """

    writes_rows = True

    query: Query
    reads: tuple[Reference, ...]
    diffs: tuple[DiffReference, ...] = ()
    files: tuple[str, ...] = ()
    text: str
    columns: tuple[str, ...] = ()
    by_name: bool = False
    overwrite: bool = False
    partition: tuple[PartitionSpec, ...] = ()
    if_not_exists: bool = False
    replace_where: str | None = None
    verb: Slice
    condition: Slice

    def staged(self, stage: str) -> str:
        """Return the statement as a plain `insert into` another table, named as SQL.

        Run against an empty table with the target's columns and partition columns, it inserts
        what the statement would add to the target.
        """
        edits = [Edit(*self.verb, "into"), Edit(self.target.start, self.target.end, stage)]
        # The other table is empty: what is replaced in the target is decided apart.
        if self.condition.start < self.condition.end:
            edits.append(Edit(*self.condition, ""))
        return edited(self.text, edits)


# After these words a query in parentheses is an operand.
_BEFORE_A_QUERY: Final = BEFORE_AN_OPERAND | {"exists", "array", "map"}
_NO_FUNCTIONS: Final = frozenset({"null", "true", "false", "end"})


@reads("insert")
def read_insert(cursor: TokenCursor) -> Insert | SparkCommand:
    """Read what follows `insert`; common table expressions, or `from s`, may stand before it.

    Raises:
        UnsupportedError: The statement changes the table's schema, or writes to several tables.
    """
    if cursor.at("with", "schema", "evolution"):
        raise UnsupportedError(
            "`insert with schema evolution` is not supported. Add the columns first with "
            "`alter table ... add columns`, or set on_schema_change in the model."
        )
    prefix = cursor.tokens[: cursor.index - 1]
    verb_token = cursor.token
    overwrite = cursor.take("overwrite")
    if not overwrite:
        cursor.expect("into")
    if cursor.at("directory") or cursor.at("local", "directory"):
        return _directory(cursor, prefix)
    if cursor.at("table") and is_name(cursor.ahead()):
        cursor.index += 1
    target = cursor.target()
    header, condition = _header(cursor)
    rest = cursor.tokens[cursor.index : -1]
    _check_query(cursor, prefix, rest)
    query, found = joined_query(cursor.text, (prefix, rest))
    return Insert(
        target=target,
        query=query,
        reads=(*found.reads, *condition.reads),
        diffs=(*found.diffs, *condition.diffs),
        files=(*found.files, *condition.files),
        text=cursor.text,
        overwrite=overwrite,
        verb=Slice(verb_token.start, verb_token.end),
        **header,
    )


def _header(cursor: TokenCursor) -> tuple[dict[str, Any], Found]:
    """Read the clauses between the table and the query, by the fields of `Insert`.

    Also returns what the condition of `replace where` reads.
    """
    if cursor.at("with") and cursor.ahead().word == "(":
        cursor.index += 1
        cursor.skip_group()
    partition = read_partition(cursor)
    condition_start = cursor.token.start
    if_not_exists = read_if_not_exists(cursor)
    condition = Slice(condition_start, cursor.last.end if if_not_exists else condition_start)
    by_name = cursor.take("by", "name")
    columns: tuple[str, ...] = ()
    if not by_name and cursor.token.word == "(" and _is_column_list(cursor):
        columns = read_names(cursor)
    replace_where, found = None, scan(())
    aliased = cursor.token.word not in QUERY_WORDS and cursor.ahead().word == "replace"
    if cursor.at("replace") or cursor.at("as") or aliased:
        start, first = cursor.token.start, cursor.index
        replace_where = _replace_where(cursor)
        condition = Slice(start, cursor.last.end)
        # Apart from the query, whose common table expressions don't reach it.
        found = scan(cursor.tokens[first : cursor.index])
    fields = {
        "columns": columns,
        "by_name": by_name,
        "partition": partition,
        "if_not_exists": if_not_exists,
        "replace_where": replace_where,
        "condition": condition,
    }
    return fields, found


def _is_column_list(cursor: TokenCursor) -> bool:
    """Return whether a parenthesis opens a list of columns, not a query."""
    first, second = cursor.ahead(1), cursor.ahead(2)
    # A column may have the name of such a word; a comma or a parenthesis behind it tells.
    return is_name(first) and (first.word not in QUERY_WORDS or (second.word in (",", ")")))


def _replace_where(cursor: TokenCursor) -> str:
    if not cursor.take("replace", "where"):
        raise UnsupportedError(
            "Only `insert into ... replace where <condition>` is supported on versioned tables. "
            "Write that, or use `insert overwrite` with a partition."
        )
    # In a condition, these two are functions.
    begins = QUERY_WORDS - {"map", "reduce"}
    start = cursor.token.start

    def begins_query() -> bool:
        if cursor.token.word == "(":
            return cursor.token.start > start and _is_query_in_parentheses(cursor)
        # `is distinct from` continues.
        return cursor.token.word in begins and cursor.last.word not in (".", "distinct")

    place = read_expression(cursor, begins_query)
    return cursor.text[place.start : place.end]


def _is_query_in_parentheses(cursor: TokenCursor) -> bool:
    """Return whether a parenthesis after part of a condition opens a query, not an operand."""
    before, depth = cursor.last, 1
    while cursor.ahead(depth).word == "(":
        depth += 1
    if not _ends_an_operand(before):
        return False
    if not _begins_a_query(cursor.ahead(depth), cursor.ahead(depth + 1)):
        return False
    # `f((select 1))` calls a function.
    is_call = is_name(before) and not before.word.isdigit() and before.word not in _NO_FUNCTIONS
    return not (is_call and depth > 1)


def _ends_an_operand(token: Token) -> bool:
    if token.kind is Kind.WORD:
        return token.word not in _BEFORE_A_QUERY
    return token.kind in (Kind.STRING, Kind.QUOTED) or token.word in (")", "]")


def _begins_a_query(first: Token, second: Token) -> bool:
    if first.word == "values":
        return second.kind is not Kind.SYMBOL or second.word == "("
    return first.word == "select" or (first.word in ("with", "from", "table") and is_name(second))


def _check_query(cursor: TokenCursor, prefix: Sequence[Token], rest: Sequence[Token]) -> None:
    if not rest:
        cursor.fail("a query or `values`")
    # Hive's `from s insert into t select ...`: the query is in two pieces around the insert.
    if any(token.word == "from" for token in _outer(prefix)):
        if any(token.word == "insert" for token in _outer(rest)):
            raise UnsupportedError(
                "Several inserts from one source in one statement are not supported on versioned "
                "tables. Write one statement per table."
            )
    elif cursor.token.word not in QUERY_WORDS and cursor.token.word != "(":
        cursor.fail("a query or `values`")


def _outer(tokens: Sequence[Token]) -> list[Token]:
    """Return the tokens outside all parentheses."""
    outer: list[Token] = []
    depth = 0
    for token in tokens:
        if token.word in ("(", ")"):
            depth += 1 if token.word == "(" else -1
        elif depth == 0:
            outer.append(token)
    return outer


def _directory(cursor: TokenCursor, prefix: Sequence[Token]) -> SparkCommand:
    """Read `directory '...' [using f options (...)] <query>`: files, not a table."""
    first = cursor.index
    while not cursor.done and cursor.token.word not in QUERY_WORDS:
        if cursor.token.word == "(" and cursor.last.word != "options":
            break
        if cursor.token.word == "(":
            cursor.skip_group()
        else:
            cursor.index += 1
    _, found = joined_query(cursor.text, (prefix, cursor.tokens[cursor.index : -1]))
    return SparkCommand(
        text=cursor.text,
        mentions=found.reads,
        diffs=found.diffs,
        writes=True,
        places=places_of(cursor.tokens[first : cursor.index]),
    )
