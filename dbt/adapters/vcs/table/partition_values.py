"""Partition values, as written in the names of folders."""

from __future__ import annotations

import re
from datetime import date, datetime, timezone
from typing import Any, Final

from dbt.adapters.vcs.core.errors import InputError, UnsupportedError
from dbt.adapters.vcs.core.model import Block
from dbt.adapters.vcs.core.model.data_type import type_of
from dbt.adapters.vcs.core.model.snapshot import RESERVED

NULL_FOLDER: Final = "__HIVE_DEFAULT_PARTITION__"
"""What stands for NULL, and for the empty string, in the name of a partition's folder."""

WRITE_FOLDER: Final = "w"
"""A write's own folder is called `w=<write id>`."""

CLIENT_FOLDER: Final = "clients"
"""The folder of a write in which other engines put their files.

Folders in it are named as those engines like, and say nothing: the files have all columns inside.
"""

_COPY: Final = f"{RESERVED}by_"
"""What the name of a partition's folder begins with before the column's field id.

Spark leaves out of a file the columns that it partitions by. So rows are partitioned by copies,
which nothing else can be called like, and the columns themselves stay in the file. In older
folders the name is the field id, and the file lacks the column.
"""

_ESCAPED: Final = re.compile("%([0-9A-Fa-f]{2})")
# The characters that Hive escapes, and Spark after it.
_UNSAFE: Final = re.compile(r"""[\x01-\x1f\x7f"#%'*/:=?\\{\[\]^]""")
_SPELLED: Final = (
    *("string", "char", "varchar", "tinyint", "smallint", "int", "bigint", "boolean", "date"),
)
# Decision 23: floating-point numbers are in neither, as only Spark knows their text.
_TOLD: Final = (*_SPELLED, "timestamp", "timestamp_ntz", "decimal")


def copy_of(id: str) -> str:
    """Return the name of the column by which rows are partitioned in place of a column."""
    return f"{_COPY}{id}"


def column_of(folder: str) -> str:
    """Return the field id of the column whose values a folder of this name has."""
    return folder.removeprefix(_COPY)


def partition_folders(path: str) -> tuple[str, tuple[tuple[str, str], ...]]:
    """Return a block's write folder, and (name, escaped text) of each partition folder in it.

    The write folder is everything up to and including `w=<write id>`; '' if there is none. Files
    of other engines have no partition folders.
    """
    parts = path.split("/")
    start = next(
        (number for number, part in enumerate(parts) if part.startswith(f"{WRITE_FOLDER}=")), None
    )
    if start is None:
        return "", ()
    inside = parts[start + 1 : -1]
    folders = (
        () if inside[:1] == [CLIENT_FOLDER] else tuple(part.partition("=") for part in inside)
    )
    return (
        "/".join(parts[: start + 1]),
        tuple((_unescape(name), value) for name, _, value in folders),
    )


def unknown_block(path: str) -> Block:
    """Return an entry for a block of which only the path is known; it has no digests to check."""
    return Block(path=path, rows=0, bytes=0, partition=partition_values(path))


def partition_values(path: str) -> dict[str, str | None]:
    """Return a block's partition values as text by field id, None for NULL."""
    return {
        column_of(name): None if value == NULL_FOLDER else _unescape(value)
        for name, value in partition_folders(path)[1]
    }


def folders_like(block: Block) -> str:
    """Return the folders of a new file with rows of a block's partition, each with a '/'."""
    found = partition_folders(block.path)[1]
    if found:
        # The texts are escaped as their writer did it, and are not changed.
        folders = [f"{_escape(copy_of(column_of(name)))}={value}/" for name, value in found]
    else:
        # Decision 23: a client's file has no folders that say anything; its entry has the values.
        folders = [f"{folder_of_text(copy_of(id), text)}/" for id, text in block.partition.items()]
    return "".join(folders)


def is_spelled(type_: str) -> bool:
    """Return whether `partition_folder` supports a type; for others only Spark knows the text."""
    found = type_of(type_)
    return found.kind in _SPELLED and found.collation is None


def is_told(type_: str) -> bool:
    """Return whether `partition_text` supports a type.

    These are more types than `is_spelled` has: it refuses a value that Spark can write and Python
    can't hold, such as a timestamp of the year 10000.
    """
    found = type_of(type_)
    return found.kind in _TOLD and found.collation is None


def partition_folder(id: str, value: Any, name: str = "") -> str:
    """Return the name of a partition's folder in a new write, as Spark spells it.

    Args:
        id: Field id of the column.
        value: Its value, as Python has it, of a type that `is_spelled`.
        name: What errors call the column; empty for its id.

    Raises:
        InputError: Spark would read the value back as NULL.
    """
    return folder_of_text(copy_of(id), partition_text(name or id, value))


def partition_text(name: str, value: Any) -> str | None:
    """Return a partition's value as text, None for NULL; `name` is what errors call the column.

    The text is Spark's: for one value there is one text, so that texts can be compared. That of a
    timestamp is in UTC.

    Raises:
        InputError: Spark would read the value back as NULL.
    """
    if value in ("", NULL_FOLDER):
        raise InputError(refused_text(name))
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, datetime):
        moment = value if value.tzinfo is None else value.astimezone(timezone.utc)
        text = moment.replace(tzinfo=None).isoformat(sep=" ")
        # Python writes six digits of a fraction, and Spark none of the zeros at its end.
        return text.rstrip("0") if value.microsecond else text
    if isinstance(value, date):
        return value.isoformat()
    return None if value is None else str(value)


def folder_of_text(name: str, value: str | None) -> str:
    """Return a partition as Hive and Spark spell it, its value given as text; None is NULL."""
    return f"{_escape(name)}={NULL_FOLDER if value is None else _escape(value)}"


def check_partition_type(name: str, type_: str) -> None:
    """Refuse partition columns of a type whose values folders' names can't hold.

    Raises:
        UnsupportedError: The type is nested, binary, VARIANT, or text with a collation.
    """
    found = type_of(type_)
    if found.is_nested or found.kind == "binary" or found.collation:
        raise UnsupportedError(
            f"The table can't be partitioned by '{name}': the name of a folder does not keep "
            f"values of type {type_}. Partition by another column, or by a cast of this one."
        )


def refused_text(name: str) -> str:
    """Return the error message for a value that the name of a folder can't hold."""
    return (
        f"The partition column '{name}' holds an empty string or {NULL_FOLDER}, which Spark "
        "would read back as NULL. Replace such values, or partition by another column."
    )


def _escape(text: str) -> str:
    """Escape as Hive and Spark do: '%' and two hex digits for an unsafe character."""
    return _UNSAFE.sub(lambda match: f"%{ord(match[0]):02X}", text)


def _unescape(text: str) -> str:
    """Undo Hive's escapes, each of which is one character below 128."""
    return _ESCAPED.sub(lambda match: chr(int(match[1], 16)), text)
