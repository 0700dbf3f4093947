"""Limits: how many rows this process computes on before an engine takes over."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from dbt.adapters.vcs.core.errors import UnsupportedError
from dbt.adapters.vcs.core.plan.delta import Piece


class Limits(NamedTuple):
    """The most that is read.

    Attributes:
        rows: Rows of all pieces.
        bytes: Their size in block files; for deleted rows a share of the block's size.
        memory: Bytes that comparing or merging them may take in this process, as `memory_of`
            estimates it; None for any.
    """

    rows: int
    bytes: int
    memory: int | None = None

    def allow(self, pieces: Iterable[Piece]) -> bool:
        """Return whether pieces are within the limits."""
        pieces = tuple(pieces)
        rows, size = _measured(pieces)
        fits = self.memory is None or memory_of(pieces) <= self.memory
        return fits and rows <= self.rows and size <= self.bytes

    def check(self, pieces: Iterable[Piece]) -> None:
        """Refuse pieces beyond the limits.

        Raises:
            UnsupportedError: There are more rows or bytes.
        """
        pieces = tuple(pieces)
        if not self.allow(pieces):
            rows, size = _measured(pieces)
            memory = "" if self.memory is None else f", and {self.memory:,} bytes of memory,"
            needed = "" if self.memory is None else f", which take {memory_of(pieces):,}"
            raise UnsupportedError(
                f"At most {self.rows:,} rows and {self.bytes:,} bytes{memory} are compared "
                f"without Spark; these are {rows:,} rows and {size:,} bytes{needed}. Use a "
                "connection that has Spark."
            )


LIMITS: Final = Limits(rows=5_000_000, bytes=256 * 2**20, memory=2 * 2**30)
"""Up to here a diff takes seconds; Spark would take longer."""

# Decision 45 has the measurements.
MERGE_LIMITS: Final = Limits(rows=3_000_000, bytes=256 * 2**20, memory=3 * 2**29)
"""Up to here a merge is as fast column by column as in SQL, or faster."""


# Bytes of memory that a row takes besides its values: places, groups, marks, and their copies.
_ROW: Final = 400

# Bytes of a value: itself, and its number among the values of the column.
_VALUE: Final = 24

# Bytes of a character of a text, of which there are up to three copies for a moment.
_CHARACTER: Final = 2.5

# How many times its size in a file a row takes at least.
_STORED: Final = 3


def memory_of(pieces: Iterable[Piece]) -> int:
    """Estimate the bytes that comparing or merging pieces takes, at its peak, in this process.

    It is made from manifests: counts of rows, sizes of files, and the columns that have bounds. A
    text counts as long as its bounds are, so texts that are much longer than these, and repeat so
    often that the file is small, take more. A program that does nothing takes 100 MiB besides.
    """
    return sum(_memory(piece) for piece in pieces)


def _memory(piece: Piece) -> int:
    if piece.info is None:
        return _ROW * piece.rows
    stats = piece.info.stats.values()
    bounds = ([len(bound) for bound in each[:2] if isinstance(bound, str)] for each in stats)
    texts = sum(max(lengths, default=0) for lengths in bounds)
    stored = _STORED * piece.info.bytes / max(1, piece.info.rows)
    values = _VALUE * len(piece.info.stats) + max(_CHARACTER * texts, stored)
    return int(piece.rows * (_ROW + values))


def _measured(pieces: Iterable[Piece]) -> tuple[int, int]:
    """Return the number of rows in pieces, and their size as far as their blocks are known."""
    pieces = tuple(pieces)
    size = sum(
        piece.info.bytes * piece.rows // max(1, piece.info.rows) for piece in pieces if piece.info
    )
    return sum(piece.rows for piece in pieces), size
