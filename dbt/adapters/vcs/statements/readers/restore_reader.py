"""Reads `restore` and `undrop`."""

from __future__ import annotations

from dbt.adapters.vcs.statements.families.restore_statement import RestoreTable, UndropTable
from dbt.adapters.vcs.statements.reader_registry import reads
from dbt.adapters.vcs.statements.syntax.cursor import TokenCursor
from dbt.adapters.vcs.statements.syntax.names import TableAt


@reads("restore")
def read_restore(cursor: TokenCursor) -> RestoreTable:
    """Read what follows `restore`.

    Raises:
        InputError: No version is named.
    """
    cursor.expect("table")
    target = cursor.target()
    if cursor.take("to"):
        if cursor.token.word not in ("version", "timestamp"):
            cursor.fail("`version as of` or `timestamp as of`")
        source = TableAt(target.name, cursor.version())
    else:
        if not cursor.take("from", "snapshot"):
            cursor.fail("`from snapshot`, `to version as of` or `to timestamp as of`")
        named, at = cursor.versioned_target()
        source = TableAt(named.name, at)
        if source.at is None:
            cursor.fail("{snapshot = '...'} or {timestamp = '...'} after the table")
    cursor.end()
    return RestoreTable(target=target, source=source)


@reads("undrop")
def read_undrop(cursor: TokenCursor) -> UndropTable:
    """Read what follows `undrop`."""
    cursor.expect("table")
    target = cursor.target()
    cursor.end()
    return UndropTable(target=target)
