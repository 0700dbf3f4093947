"""Numbers of rows: the rows of several files, numbered through."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import accumulate
from typing import Final

UNIT: Final = 8_000
"""The first row of each file has a multiple of this as its number.

It is one of 1,000, as are times of files, and of 64, so that positions tell rows of a word apart.
"""

_CHUNKED_UNIT: Final = 64_000
"""The same for rows in chunks, which have 512 rows."""

_MAX_PLAIN: Final = 1 << 23
"""Above so many numbers, rows are in chunks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileNumbers:
    """The numbers of the rows of some files.

    Attributes:
        rows: How many rows each file has, deleted ones included.
        first: The number of each file's first row.
        end: More than the number of any row.
        has_chunks: True if each file begins with a chunk of rows, and not just with a word.
    """

    rows: Mapping[str, int]
    first: Mapping[str, int]
    end: int
    has_chunks: bool

    @classmethod
    def of(cls, rows: Mapping[str, int]) -> FileNumbers:
        """Number the rows of files, one file after another.

        Args:
            rows: How many rows each file has.
        """
        numbers = cls._in_units(rows, UNIT, has_chunks=False)
        if numbers.end <= _MAX_PLAIN:
            return numbers
        return cls._in_units(rows, _CHUNKED_UNIT, has_chunks=True)

    @classmethod
    def _in_units(cls, rows: Mapping[str, int], unit: int, *, has_chunks: bool) -> FileNumbers:
        units = [-(-count // unit) for count in rows.values()]
        *starts, end = accumulate(units, initial=0)
        first = {file: start * unit for file, start in zip(rows, starts, strict=True)}
        return cls(rows=rows, first=first, end=end * unit, has_chunks=has_chunks)
