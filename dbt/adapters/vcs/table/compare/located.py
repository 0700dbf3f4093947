"""Located rows: rows of pieces, each with its place in its block."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, KeysView, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from dbt.adapters.vcs.core.errors import DamagedError, InputError
from dbt.adapters.vcs.core.model import Field
from dbt.adapters.vcs.core.plan.delta import Delta
from dbt.adapters.vcs.core.plan.pieces import Piece, SignedPiece, signed_pieces
from dbt.adapters.vcs.core.store.blobs import Blobs
from dbt.adapters.vcs.table.files.block_reader import Files, Positions, shown_type
from dbt.adapters.vcs.table.files.footers import HELP
from dbt.adapters.vcs.table.limits import LIMITS, Limits, TooLargeError
from dbt.adapters.vcs.table.row_numbers import are_among, are_near, distinct

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
        # Each file once: a tombstone has the rows of many blocks.
        for path, numbers in by_file.items():
            chosen = self.of(numbers)
            first = self.pieces[numbers[0]]
            # A tombstone has all columns inside, an older block not those in its path.
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
    return replace(_rows(Files(blobs, delta.tombstones), signed), most=most)


def signed_files(blobs: Blobs, delta: Delta) -> Iterator[SignedRows]:
    """Yield the signed rows of a delta file by file, so that only one file's are held at once."""
    by_file: dict[str, list[SignedPiece]] = {}
    for item in signed_pieces(delta):
        by_file.setdefault(item.piece.path, []).append(item)
    files = Files(blobs, delta.tombstones)
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


Part: TypeAlias = tuple[str, Positions]
"""The path of a block, and positions in it."""


class PlaceGrid:
    """The rows of some parts; a place is a position in a block, and is numbered."""

    def __init__(self, parts: Sequence[Part]) -> None:
        """Take the parts; a block may have several."""
        self._extents: dict[str, int] = {}
        for block, positions in parts:
            extent = int(positions.max(initial=-1)) + 1
            self._extents[block] = max(extent, self._extents.get(block, 0))
        starts = list(accumulate(self._extents.values(), initial=0))
        self._starts = dict(zip(self._extents, starts, strict=False))
        self._size = starts[-1]
        self._counts = np.array([len(positions) for _, positions in parts], np.int64)
        self._places = self._numbered(parts)

    @property
    def blocks(self) -> KeysView[str]:
        """The paths of the blocks."""
        return self._extents.keys()

    def among(self, parts: Iterable[Part]) -> Mask:
        """Return a mask of the rows at the given places; places in other blocks are ignored."""
        some = self._numbered(
            (block, positions[positions < self._extents[block]])
            for block, positions in parts
            if block in self._extents
        )
        return are_among(self._places, some)

    def first(self) -> Mask:
        """Mark the first row seen at each place."""
        found = np.zeros(len(self._places), np.bool_)
        if not are_near(self._size, len(found)):
            # A few rows far apart: marks for all places between them would cost more.
            found[np.unique(self._places, return_index=True)[1]] = True
            return found
        seen = np.zeros(self._size, np.bool_)
        for start, end in pairwise(accumulate(self._counts, initial=0)):
            here = self._places[start:end]
            found[start:end] = ~seen[here]
            seen[here] = True
        return found

    def spread(self, of_parts: Sequence[bool]) -> Mask:
        """Repeat each part's value for all of its rows."""
        return np.repeat(np.array(of_parts, np.bool_), self._counts)

    def _numbered(self, parts: Iterable[Part]) -> Positions:
        found = [self._starts[block] + positions for block, positions in parts]
        return np.concatenate([np.empty(0, np.int64), *found])


def hits(table: pa.Table, where: pc.Expression) -> Positions:
    """Return the numbers of the rows that meet a condition on the table's columns.

    Raises:
        InputError: It names a column that doesn't exist, or compares values that can't be
            compared.
    """
    # Arrow filters a table by an expression, and can't say which rows pass.
    numbered = table.append_column("__vcs_row", pa.array(np.arange(table.num_rows)))
    try:
        found = numbered.filter(where).column("__vcs_row").to_numpy()
    except pa.ArrowException as error:
        names = ", ".join(table.column_names)
        raise InputError(
            f"The condition {where} does not fit the columns {names}: {error}."
        ) from error
    return np.asarray(found, dtype=np.int64)
