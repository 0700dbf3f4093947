"""Field numbers: what Parquet and Iceberg call a column, where we have an id of text."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from typing import Final

_FIRST: Final = 1_000
_RESERVED: Final = 2_147_483_447 - 1_000
"""Iceberg keeps the numbers from 2,147,483,447 on (`Integer.MAX_VALUE - 200`) for itself, and its
partition fields begin at 1,000; both ends have room left."""


@lru_cache(maxsize=65_536)
def field_number(*path: str) -> int:
    """Return the number of a field.

    It is a hash: no counter has to be kept, so a column has one number on every branch, whoever
    added it first.

    Args:
        path: The id of a column; then, for a field inside it, what leads there: `element`, `key`,
            `value` or the name of a struct's field.

    Returns:
        A number from 1,000 that leaves out those that Iceberg keeps for itself. Two fields of
        one table have the same number in about one of two billion cases: whoever needs them
        distinct has to check.
    """
    digest = hashlib.sha256("\0".join(path).encode()).digest()
    return _FIRST + int.from_bytes(digest[:8], "big") % (_RESERVED - _FIRST)
