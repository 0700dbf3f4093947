"""Signed rows: the rows that a delta adds (1) and removes (-1)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from dbt.adapters.vcs.core.model import Field
from dbt.adapters.vcs.core.plan.delta import Delta
from dbt.adapters.vcs.core.plan.pieces import SignedPiece, signed_pieces
from dbt.adapters.vcs.core.store.blobs import Blobs
from dbt.adapters.vcs.table.compare.located import Located, locate
from dbt.adapters.vcs.table.files.block_reader import Files, Positions
from dbt.adapters.vcs.table.limits import LIMITS, Limits, TooLargeError
from dbt.adapters.vcs.table.sorted_numbers import are_among


@dataclass(frozen=True, slots=True)
class SignedRows:
    """Rows with a sign each; equal rows of opposite sign have not been cancelled.

    Attributes:
        sign: 1 or -1.
        located: The place of each row.
        files: Reads them.
        most: Bytes that the columns which are read may take; None for any.
    """

    sign: Positions
    located: Located
    files: Files
    most: int | None = None

    def read(self, fields: Sequence[Field]) -> pa.Table:
        """Read columns of the rows, named by field id, and no others.

        Raises:
            TooLargeError: They take more than was to be expected from manifests.
        """
        found = self.located.read(self.files, fields)
        if self.most is not None and found.nbytes > self.most:
            raise TooLargeError(
                f"The {len(self.sign):,} rows to compare take {found.nbytes:,} bytes of memory, "
                f"and {self.most:,} are allowed without Spark. Use a connection that has Spark."
            )
        return found

    def columns(self, fields: Sequence[Field]) -> list[pa.ChunkedArray]:
        """Read columns of the rows in the given order, and no others."""
        found: list[pa.ChunkedArray] = self.read(fields).columns
        return found


def signed_rows(blobs: Blobs, delta: Delta, *, limits: Limits = LIMITS) -> SignedRows:
    """Return the signed rows of a delta, removed ones first; no row is read yet.

    Raises:
        TooLargeError: There are too many of them to read in this process.
    """
    signed = signed_pieces(delta)
    limits.check(item.piece for item in signed)
    # A comparison holds its columns up to three times.
    most = None if limits.memory is None else limits.memory // 3
    return replace(_rows(Files(blobs, delta.stones), signed), most=most)


def signed_files(blobs: Blobs, delta: Delta) -> Iterator[SignedRows]:
    """Yield the signed rows of a delta file by file, so that only one file's are held at once."""
    by_file: dict[str, list[SignedPiece]] = {}
    for item in signed_pieces(delta):
        by_file.setdefault(item.piece.path, []).append(item)
    files = Files(blobs, delta.stones)
    for items in by_file.values():
        yield _rows(files, items)


def _rows(files: Files, signed: Sequence[SignedPiece]) -> SignedRows:
    """Return the rows of some pieces; no row is read yet."""
    located = locate(files, [item.piece for item in signed])
    sign = np.array([item.sign for item in signed], np.int64)[located.piece]
    live = np.ones(len(located), np.bool_)
    for number, item in enumerate(signed):
        if item.without:
            here = located.of([number])
            dead = files.dead(item.without, item.piece.block)
            live[here[are_among(located.position[here], dead)]] = False
    return SignedRows(sign[live], located.take(live), files)
