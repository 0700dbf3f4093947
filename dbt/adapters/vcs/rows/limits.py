"""Limits: how many rows are worth computing in this process."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from dbt.adapters.vcs.core.errors import VcsError
from dbt.adapters.vcs.core.plan.pieces import Piece


class TooLargeError(VcsError):
    """There is more to read than fits this process: let an engine compute it."""


class Limits(NamedTuple):
    """What is read at most.

    Attributes:
        rows: Rows of all pieces.
        bytes: Size of them in block files; of deleted rows a share of the block's.
    """

    rows: int
    bytes: int

    def allow(self, pieces: Iterable[Piece]) -> bool:
        """Tell whether there is no more to read."""
        rows, size = _measured(pieces)
        return rows <= self.rows and size <= self.bytes

    def check(self, pieces: Iterable[Piece]) -> None:
        """Refuse to read more than that.

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
    """Return the rows of pieces, and their size where their block is known."""
    pieces = tuple(pieces)
    size = sum(
        piece.info.bytes * piece.rows // max(1, piece.info.rows) for piece in pieces if piece.info
    )
    return sum(piece.rows for piece in pieces), size
