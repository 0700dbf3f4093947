"""Numbers of rows: the rows of several files, numbered through."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import accumulate
from typing import Final

UNIT: Final = 1_000
"""The first row of each file has a multiple of this as its number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileNumbers:
    """The numbers of the rows of some files.

    Attributes:
        rows: How many rows each file has, deleted ones included.
        first: The number of each file's first row.
        end: More than the number of any row.
    """

    rows: Mapping[str, int]
    first: Mapping[str, int]
    end: int

    @classmethod
    def of(cls, rows: Mapping[str, int]) -> FileNumbers:
        """Number the rows of files, one file after another.

        Args:
            rows: How many rows each file has.
        """
        units = [-(-count // UNIT) for count in rows.values()]
        *starts, end = accumulate(units, initial=0)
        first = {file: start * UNIT for file, start in zip(rows, starts, strict=True)}
        return cls(rows=rows, first=first, end=end * UNIT)
