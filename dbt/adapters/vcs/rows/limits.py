"""Limits: how many rows this process computes on before an engine takes over."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from dbt.adapters.vcs.core.errors import VcsError
from dbt.adapters.vcs.core.plan.pieces import Piece


class TooLargeError(VcsError):
    """There is too much to read in this process: an engine has to compute it."""


class Limits(NamedTuple):
    """The most that is read.

    Attributes:
        rows: Rows of all pieces.
        bytes: Their size in block files; for deleted rows a share of the block's size.
    """

    rows: int
    bytes: int

    def allow(self, pieces: Iterable[Piece]) -> bool:
        """Return whether pieces are within the limits."""
        rows, size = _measured(pieces)
        return rows <= self.rows and size <= self.bytes

    def check(self, pieces: Iterable[Piece]) -> None:
        """Refuse pieces beyond the limits.

        Raises:
            TooLargeError: There are more rows or bytes.
        """
        pieces = tuple(pieces)
        if not self.allow(pieces):
            rows, size = _measured(pieces)
            raise TooLargeError(
                f"At most {self.rows:,} rows and {self.bytes:,} bytes are compared without Spark; "
                f"these are {rows:,} rows and {size:,} bytes. Use a connection that has Spark."
            )


LIMITS: Final = Limits(rows=5_000_000, bytes=256 * 2**20)
"""Up to here a diff takes seconds, and two gigabytes or so; Spark would take longer."""

MERGE_LIMITS: Final = Limits(rows=10_000_000, bytes=512 * 2**20)
"""The same of a merge, which looks at one column after another until rows are told apart."""


def _measured(pieces: Iterable[Piece]) -> tuple[int, int]:
    """Return the number of rows in pieces, and their size as far as their blocks are known."""
    pieces = tuple(pieces)
    size = sum(
        piece.info.bytes * piece.rows // max(1, piece.info.rows) for piece in pieces if piece.info
    )
    return sum(piece.rows for piece in pieces), size
