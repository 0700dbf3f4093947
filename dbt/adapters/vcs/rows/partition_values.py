"""Partition values, as written in the names of folders."""

from __future__ import annotations

import re
from datetime import date
from typing import Any, Final

from dbt.adapters.vcs.core.errors import InputError, UnsupportedError
from dbt.adapters.vcs.core.model.data_type import type_of

NULL_FOLDER: Final = "__HIVE_DEFAULT_PARTITION__"
"""What stands for NULL, and for the empty string, in the name of a partition's folder."""

WRITE_FOLDER: Final = "w"
"""A write's own folder is called `w=<write id>`."""

_ESCAPED: Final = re.compile("%([0-9A-Fa-f]{2})")
_UNSAFE: Final = re.compile(r"""[\x01-\x1f\x7f"#%'*/:=?\\{\[\]^]""")
_SPELLED: Final = (
    *("string", "char", "varchar", "tinyint", "smallint", "int", "bigint", "boolean", "date"),
)


def partition_folders(path: str) -> tuple[str, tuple[tuple[str, str], ...]]:
    """Return a block's write folder, and (field id, escaped text) of each partition folder in it.

    The write folder is everything up to and including `w=<write id>`; '' if there is none.
    """
    parts = path.split("/")
    start = next(
        (number for number, part in enumerate(parts) if part.startswith(f"{WRITE_FOLDER}=")), None
    )
    if start is None:
        return "", ()
    folders = tuple(part.partition("=") for part in parts[start + 1 : -1])
    return (
        "/".join(parts[: start + 1]),
        tuple((_unescape(name), value) for name, _, value in folders),
    )


def partition_values(path: str) -> dict[str, str | None]:
    """Return a block's partition values as text by field id, None for NULL."""
    return {
        name: None if value == NULL_FOLDER else _unescape(value)
        for name, value in partition_folders(path)[1]
    }


def is_spelled(type_: str) -> bool:
    """Return whether `partition_folder` supports a type; for others only Spark knows the text."""
    found = type_of(type_)
    return found.kind in _SPELLED and found.collation is None


def partition_folder(name: str, value: Any) -> str:
    """Return the name of a partition's folder as Spark spells it.

    Args:
        name: Field id of the column.
        value: Its value, as Python has it, of a type that `is_spelled`.

    Raises:
        InputError: Spark would read the value back as NULL.
    """
    if value in ("", NULL_FOLDER):
        raise InputError(refused_text(name))
    if isinstance(value, bool):
        value = str(value).lower()
    elif isinstance(value, date):
        value = value.isoformat()
    return folder_of_text(name, None if value is None else str(value))


def folder_of_text(name: str, value: str | None) -> str:
    """Return the name of a partition's folder, given its value as text; None is NULL."""
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
