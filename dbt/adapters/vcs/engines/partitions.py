"""Partition values as the names of folders tell them."""

from __future__ import annotations

import re
from typing import Final

NULL_FOLDER: Final = "__HIVE_DEFAULT_PARTITION__"
"""What stands for NULL, and for the empty string, in the name of a partition's folder."""

WRITE_FOLDER: Final = "w"
"""A write's own folder is called `w=<write id>`."""

_ESCAPED: Final = re.compile("%([0-9A-Fa-f]{2})")


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


def _unescape(text: str) -> str:
    """Undo Hive's escapes: each stands for one character below 128."""
    return _ESCAPED.sub(lambda match: chr(int(match[1], 16)), text)
