"""Reads `drop`, `truncate` and `use`."""

from __future__ import annotations

from dbt.adapters.vcs.statements.families.schema_statement import DropSchema, Use
from dbt.adapters.vcs.statements.families.table import DropRelation, Truncate
from dbt.adapters.vcs.statements.families.versioning import DropSnapshot
from dbt.adapters.vcs.statements.reader_registry import reads
from dbt.adapters.vcs.statements.readers.clauses import read_if_exists, read_partition
from dbt.adapters.vcs.statements.readers.create_reader import SCHEMA_WORDS
from dbt.adapters.vcs.statements.readers.versioning_reader import read_drop_snapshot
from dbt.adapters.vcs.statements.syntax.cursor import TokenCursor
from dbt.adapters.vcs.statements.syntax.lexer import Kind


@reads("drop")
def read_drop(cursor: TokenCursor) -> DropSchema | DropRelation | DropSnapshot | None:
    """Read what follows `drop`; None for objects that a branch doesn't have."""
    if cursor.take_any(*SCHEMA_WORDS):
        if_exists = read_if_exists(cursor)
        name = cursor.schema()
        mode = cursor.take_any("cascade", "restrict")
        cursor.end()
        return DropSchema(name=name, if_exists=if_exists, cascade=mode == "cascade")
    if cursor.take("table"):
        if_exists = read_if_exists(cursor)
        target = cursor.target()
        cursor.take("purge")
        cursor.end()
        return DropRelation(kind="table", target=target, if_exists=if_exists)
    if cursor.take("view"):
        if_exists = read_if_exists(cursor)
        target = cursor.target()
        cursor.end()
        return DropRelation(kind="view", target=target, if_exists=if_exists)
    if cursor.take("function"):
        if_exists = read_if_exists(cursor)
        target = cursor.target()
        cursor.end()
        return DropRelation(kind="function", target=target, if_exists=if_exists)
    if cursor.take("snapshot"):
        return read_drop_snapshot(cursor)
    return None


@reads("truncate")
def read_truncate(cursor: TokenCursor) -> Truncate:
    """Read what follows `truncate`."""
    cursor.expect("table")
    target = cursor.target()
    partition = read_partition(cursor)
    cursor.end()
    return Truncate(target=target, partition=partition)


@reads("use")
def read_use(cursor: TokenCursor) -> Use:
    """Read what follows `use`."""
    if cursor.token.word in SCHEMA_WORDS and cursor.ahead().kind is not Kind.END:
        cursor.index += 1
    schema = cursor.schema()
    cursor.end()
    return Use(schema=schema)
