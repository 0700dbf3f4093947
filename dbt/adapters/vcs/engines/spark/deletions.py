"""Rows that tombstones delete, as Spark leaves them out: SQL texts over tables of files."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from dbt.adapters.vcs.core.model import Field, Tombstone
from dbt.adapters.vcs.core.model.tombstone import FILE_COLUMN, POSITION_COLUMN
from dbt.adapters.vcs.engines.version_mounts import TableMount
from dbt.adapters.vcs.rows.quoting import literal, quoted

_PLAIN_PATH: Final = re.compile(r"[A-Za-z0-9/_.=-]*")
MAX_WRITTEN: Final = 2_000
"""Deleted rows that a query has in its text, at most; Spark reads more sooner than their text."""

_MAX_LISTED: Final = 200
"""Spark reads one long text sooner than many short ones."""

_MAX_BROADCAST: Final = 2_000_000
"""More deleted rows than this are not sent to every task unless Spark thinks it wise."""

_FEW_FILES: Final = 64
"""Up to so many files share buckets: the hash of a name for each row costs more than it saves."""

_MAX_MET: Final = 2_000_000
"""Deleted rows that the rows of a file are compared with at most, where files share buckets."""

_MAX_WIDTH: Final = 6
"""Bits of a position: rows of 64 neighbours share a bucket."""


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


def deletions_mount(tombstones: Sequence[Tombstone], fields: Sequence[Field]) -> TableMount:
    """Return a mount of tombstones' files: places of deleted rows, and values of some fields."""
    files = tuple(sorted({stone.path for stone in tombstones}))
    shown = repr((files, [(field.id, field.type) for field in fields]))
    return TableMount(
        id=f"t_{hashlib.sha256(shown.encode()).hexdigest()[:32]}",
        folder=files[0].rpartition("/")[0],
        files=files,
        fields=(
            Field(id=FILE_COLUMN, name=FILE_COLUMN, type="string"),
            Field(id=POSITION_COLUMN, name=POSITION_COLUMN, type="bigint"),
            *fields,
        ),
    )


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


def written_rows(places: Mapping[str, Iterable[int]]) -> str:
    """Return what `deleted_rows` returns, with the rows themselves in the text.

    Spark then has no job to run before it reads the first row of a table.

    Args:
        places: The positions of deleted rows by file; one at least, `MAX_WRITTEN` at most.
    """
    rows = (f"({literal(file)}, {position}L)" for file in places for position in places[file])
    return f"select * from values {', '.join(rows)} as ({FILE_COLUMN}, {POSITION_COLUMN})"


def left_rows(
    table: str, files: Sequence[str], deleted: str, count: int, columns: Iterable[str]
) -> str:
    """Return a query for the rows of a table of files that are not deleted.

    The join hashes on a bucket of neighbours, one number: rows come file by file in their order,
    so Spark looks at the same place of its hash table for all of a bucket, not at a new one, far
    from the caches, for each row. Position and file are compared where buckets meet, as ranges,
    since Spark would hash on equalities, too.

    Args:
        table: The table.
        files: Its files.
        deleted: A query, as `deleted_rows` and `written_rows` give one.
        count: How many rows that query has.
        columns: What to select, as SQL; the table's alias is `kept`.
    """
    hint = "/*+ broadcast(gone) */ " if count <= _MAX_BROADCAST else ""
    file, position = f"gone.{quoted(FILE_COLUMN)}", f"gone.{quoted(POSITION_COLUMN)}"
    bucket = _bucketing(files, count)
    here = bucket(position_of("kept"), "kept._metadata.file_name")
    there = bucket(position, f"substring_index({file}, '/', -1)")
    same = f"{here} = {there}"
    for one, other in ((position_of("kept"), position), (file_of(files, "kept"), file)):
        same += f" and {one} >= {other} and {one} <= {other}"
    return (
        f"select {hint}{', '.join(columns)} from {table} kept "
        f"left anti join ({deleted}) gone on {same}"
    )


def _bucketing(files: Sequence[str], count: int) -> Callable[[str, str], str]:
    """Return a function from SQL for a row's position and file name to SQL for its bucket.

    With few files, a bucket is a range of positions in any of them, narrow enough that the rows
    of a file meet at most `_MAX_MET` deleted ones in all. With more files or more deleted rows,
    each file has its own buckets: names are hashed as well.
    """
    shared = len(files) <= _FEW_FILES and count <= _MAX_MET
    named = not shared and all(map(_PLAIN_PATH.fullmatch, files))
    if named:
        width = _MAX_WIDTH if count <= _MAX_BROADCAST else 0
    else:
        width = min(_MAX_WIDTH, max(0, (_MAX_MET // max(1, count)).bit_length() - 1))

    def bucket(position: str, name: str) -> str:
        number = f"shiftright({position}, {width})" if width else position
        return f"xxhash64({name}) ^ {number}" if named else number

    return bucket
