"""Rows that tombstones delete, as Spark leaves them out: SQL texts over tables of files."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

from dbt.adapters.vcs.core.model import Tombstone
from dbt.adapters.vcs.core.model.tombstone import FILE_COLUMN, POSITION_COLUMN
from dbt.adapters.vcs.engines.quoting import literal, quoted

_PLAIN_PATH: Final = re.compile(r"[A-Za-z0-9/_.=-]*")
_MAX_LISTED: Final = 200
"""Spark reads one long text sooner than many short ones."""

_MAX_BROADCAST: Final = 2_000_000
"""More deleted rows than this are not sent to every task unless Spark thinks it wise."""


def file_of(files: Sequence[str], relation: str = "") -> str:
    """Return SQL for the path, relative to the repository, of the file that a row is from.

    Spark gives absolute paths, percent-encoded as in a URI; every file must have as many folders.

    Args:
        files: All files of the relation, relative to the repository.
        relation: An alias of it, or '' if there is nothing else in scope.
    """
    depth = files[0].count("/") + 1
    metadata = f"{relation}._metadata" if relation else "_metadata"
    path = f"substring_index({metadata}.file_path, '/', -{depth})"
    if all(map(_PLAIN_PATH.fullmatch, files)):
        return path
    return f"url_decode(replace({path}, '+', '%2B'))"


def position_of(relation: str = "") -> str:
    """Return SQL for the position of a row in its file, from 0."""
    return f"{relation}._metadata.row_index" if relation else "_metadata.row_index"


def deleted_rows(table: str, tombstones: Sequence[Tombstone], files: Iterable[str]) -> str:
    """Return a query for `(__vcs_file, __vcs_pos)` of the rows that are deleted from some files.

    Args:
        table: A table over the files of the tombstones, in that order.
        tombstones: The entries.
        files: The blocks that matter.
    """
    return (
        f"select {FILE_COLUMN}, {POSITION_COLUMN} from {table} "
        f"where {is_listed(tombstones, files)}"
    )


def is_listed(tombstones: Sequence[Tombstone], files: Iterable[str]) -> str:
    """Return SQL for whether a row of tombstones' files deletes one of some files.

    A tombstone's file may hold rows of blocks that its entry doesn't list; those don't count.
    It is for a query over a table of just the tombstones' files.
    """
    wanted = set(files)
    pairs = [
        f"{item.path}\n{target}"
        for item in tombstones
        for target in sorted(item.targets)
        if target in wanted
    ]
    listed_files = sorted({pair.partition("\n")[2] for pair in pairs})
    if len(pairs) == len(tombstones) * len(listed_files) <= _MAX_LISTED:
        # Every tombstone lists every file, so the file alone tells.
        return f"{FILE_COLUMN} in ({', '.join(map(literal, listed_files))})"
    stone = file_of([item.path for item in tombstones])
    if len(pairs) <= _MAX_LISTED:
        listed = ", ".join(map(literal, pairs))
    else:
        listed = f"select explode(split({literal(chr(1).join(pairs))}, '{chr(1)}'))"
    return f"concat({stone}, '\\n', {FILE_COLUMN}) in ({listed})"


def left_rows(
    table: str, files: Sequence[str], deleted: str, count: int, columns: Iterable[str]
) -> str:
    """Return a query for the rows of a table of files that are not deleted.

    The join hashes on the position alone, a number; the file is compared where positions meet,
    as a range, since Spark would hash on an equality, too, at twice the cost.

    Args:
        table: The table.
        files: Its files.
        deleted: A query, as `deleted_rows` gives one.
        count: How many rows that query has.
        columns: What to select, as SQL; the table's alias is `kept`.
    """
    file = file_of(files, "kept")
    hint = "/*+ broadcast(gone) */ " if count <= _MAX_BROADCAST else ""
    return (
        f"select {hint}{', '.join(columns)} from {table} kept left anti join ({deleted}) gone "
        f"on {position_of('kept')} = gone.{quoted(POSITION_COLUMN)} "
        f"and {file} >= gone.{quoted(FILE_COLUMN)} and {file} <= gone.{quoted(FILE_COLUMN)}"
    )
