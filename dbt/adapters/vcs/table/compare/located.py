"""Located rows: rows of pieces, each with its place in its block."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dbt.adapters.vcs.core.errors import DamagedError
from dbt.adapters.vcs.core.model import Field
from dbt.adapters.vcs.core.plan.pieces import Piece
from dbt.adapters.vcs.table.files.block_reader import Files, Positions, shown_type
from dbt.adapters.vcs.table.files.file_digests import HELP
from dbt.adapters.vcs.table.sorted_numbers import are_among, distinct

Mask = npt.NDArray[np.bool_]

Places: TypeAlias = Mapping[str, Positions]
"""Positions of rows, by the path of their block."""

_NO_ROWS: Final = np.empty(0, np.int64)


@dataclass(frozen=True, slots=True)
class Located:
    """Rows of some pieces; each array has one element per row.

    Attributes:
        pieces: The pieces that the rows come from.
        piece: For each row the number of its piece, in ascending order.
        position: Its position in the block.
        row: Its position in the file that holds it: the block, or a tombstone.
    """

    pieces: tuple[Piece, ...]
    piece: Positions
    position: Positions
    row: Positions

    def __len__(self) -> int:
        return len(self.piece)

    def of(self, pieces: Iterable[int]) -> Positions:
        """Return the numbers of the rows of some pieces, given in ascending order."""
        parts = [np.arange(*np.searchsorted(self.piece, [n, n + 1])) for n in pieces]
        return np.concatenate([np.empty(0, np.int64), *parts])

    def take(self, chosen: Mask) -> Located:
        """Return some of the rows."""
        return Located(self.pieces, self.piece[chosen], self.position[chosen], self.row[chosen])

    def parts(self) -> list[tuple[str, Positions]]:
        """Return for each piece the path of its block, and the positions of its rows."""
        ends = np.searchsorted(self.piece, np.arange(len(self.pieces) + 1)).tolist()
        slices = (self.position[start:end] for start, end in pairwise(ends))
        return [(item.block, part) for item, part in zip(self.pieces, slices, strict=True)]

    def blocks(self) -> pa.StringArray:
        """Return the path of each row's block."""
        paths = pa.array([piece.block for piece in self.pieces], pa.string())
        return paths.take(pa.array(self.piece))

    def read(self, files: Files, fields: Sequence[Field]) -> pa.Table:
        """Return columns of the rows by field id, in the rows' order."""
        parts: list[pa.Table] = []
        order: list[Positions] = []
        by_file: dict[str, list[int]] = {}
        for number in distinct(self.piece).tolist():
            by_file.setdefault(self.pieces[number].path, []).append(number)
        for path, numbers in by_file.items():
            chosen = self.of(numbers)
            first = self.pieces[numbers[0]]
            whole = first.info.partition if first.info and first.image is None else {}
            rows = self.row[chosen]
            everything = first.image is None and len(rows) == first.rows and _is_range(rows)
            part = files.columns(
                path,
                fields,
                rows=None if everything else rows,
                partition=whole,
                entry=first.info if first.image is None else None,
            )
            if first.image is not None:
                part = self._completed(files, part, fields, numbers)
            parts.append(part)
            order.append(chosen)
        table = pa.concat_tables(parts) if parts else _empty(fields)
        if len(order) > 1 and not _is_range(found := np.concatenate(order)):
            table = table.take(pa.array(np.argsort(found, kind="stable")))
        return table

    def read_at(self, files: Files, fields: Sequence[Field], rows: Positions) -> pa.Table:
        """Return columns of some rows, given by their numbers in any order; NULLs for -1."""
        known = distinct(rows[rows >= 0])
        wanted = np.zeros(len(self), np.bool_)
        wanted[known] = True
        table = self.take(wanted).read(files, fields)
        if np.array_equal(known, rows):
            return table
        return table.take(pa.array(np.searchsorted(known, rows), mask=rows < 0))

    def _completed(
        self, files: Files, images: pa.Table, fields: Sequence[Field], pieces: Sequence[int]
    ) -> pa.Table:
        """Add to images the columns that their table lacked when the rows were deleted.

        The blocks still hold columns dropped before that time.
        """
        lacking = files.lacking(self.pieces[pieces[0]].path, fields)
        if not lacking:
            return images
        parts = []
        for number in pieces:
            piece, positions = self.pieces[number], self.position[self.of([number])]
            partition = piece.info.partition if piece.info else {}
            found = files.columns(
                piece.block, lacking, rows=positions, partition=partition, entry=piece.info
            )
            parts.append(found)
        found = pa.concat_tables(parts)
        for field in lacking:
            place = images.column_names.index(field.id)
            images = images.set_column(place, field.id, found.column(field.id))
        return images


def locate(files: Files, pieces: Sequence[Piece], places: Places | None = None) -> Located:
    """Return the rows of some pieces, in order; only tombstones are read.

    Args:
        files: Reads tombstones.
        pieces: The pieces with the rows.
        places: The only places wanted; None for all.

    Raises:
        DamagedError: A tombstone's contents don't match its entry.
    """
    piece: list[Any] = []
    position: list[Any] = []
    row: list[Any] = []
    for number, item in enumerate(pieces):
        if item.image is None:
            positions = rows = _positions(item, places)
        else:
            positions, rows = files.deleted(item.image, item.block)
            if len(rows) != item.rows:
                raise DamagedError(
                    f"{item.image} deletes {len(rows)} rows from {item.block}; its entry says "
                    f"{item.rows}. {HELP}"
                )
            if places is not None:
                wanted = are_among(positions, places.get(item.block, _NO_ROWS))
                positions, rows = positions[wanted], rows[wanted]
        piece.append(np.full(len(rows), number, np.int64))
        position.append(positions)
        row.append(rows)
    nothing = [np.empty(0, np.int64)]
    return Located(
        tuple(pieces),
        np.concatenate(nothing + piece),
        np.concatenate(nothing + position),
        np.concatenate(nothing + row),
    )


def _positions(block: Piece, places: Places | None) -> Positions:
    if places is None:
        return np.arange(block.rows, dtype=np.int64)
    return distinct(places.get(block.block, _NO_ROWS))


def _is_range(rows: Positions) -> bool:
    return len(rows) == 0 or (rows[0] == 0 and bool((np.diff(rows) == 1).all()))


def _empty(fields: Sequence[Field]) -> pa.Table:
    arrays = [pa.array([], shown_type(field)) for field in fields]
    return pa.table(arrays, names=[field.id for field in fields])
