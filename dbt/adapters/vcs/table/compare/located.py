"""Located rows: rows of pieces with their places, and what is left when equal ones cancel."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, KeysView, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain, pairwise
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dbt.adapters.vcs.core.errors import DamagedError
from dbt.adapters.vcs.core.model import Field
from dbt.adapters.vcs.core.plan.delta import Delta, Piece, SignedPiece, signed_pieces
from dbt.adapters.vcs.core.store.blobs import Blobs
from dbt.adapters.vcs.table.compare.comparison import Counts
from dbt.adapters.vcs.table.equality import Codes, equal_pairs, group_ids, group_in_steps
from dbt.adapters.vcs.table.files.block_reader import Files, Positions, is_readable, shown_type
from dbt.adapters.vcs.table.files.footers import HELP
from dbt.adapters.vcs.table.row_numbers import are_among, are_near, distinct
from dbt.adapters.vcs.table.types import arrow_type

Mask = npt.NDArray[np.bool_]

Places: TypeAlias = Mapping[str, Positions]
"""Positions of rows, by the path of their block."""


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
            # All rows of a block, in order, are read as they are: picking them would copy them.
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
            # Files were read one by one, and one may hold several pieces: back to the rows' order.
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


def locate(files: Files, pieces: Sequence[Piece]) -> Located:
    """Return the rows of some pieces, in order; only tombstones are read.

    Args:
        files: Reads tombstones.
        pieces: The pieces with the rows.

    Raises:
        DamagedError: A tombstone's contents don't match its entry.
    """
    piece: list[Any] = []
    position: list[Any] = []
    row: list[Any] = []
    for number, item in enumerate(pieces):
        if item.image is None:
            positions = rows = np.arange(item.rows, dtype=np.int64)
        else:
            positions, rows = files.deleted(item.image, item.block)
            if len(rows) != item.rows:
                raise DamagedError(
                    f"{item.image} deletes {len(rows)} rows from {item.block}; its entry says "
                    f"{item.rows}. {HELP}"
                )
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
    """

    sign: Positions
    located: Located
    files: Files

    def read(self, fields: Sequence[Field]) -> pa.Table:
        """Read columns of the rows, named by field id, and no others."""
        return self.located.read(self.files, fields)

    def columns(self, fields: Sequence[Field]) -> list[pa.ChunkedArray]:
        """Read columns of the rows in the given order, and no others."""
        found: list[pa.ChunkedArray] = self.read(fields).columns
        return found


def signed_rows(blobs: Blobs, delta: Delta) -> SignedRows:
    """Return the signed rows of a delta, removed ones first; no row is read yet."""
    return _rows(Files(blobs, delta.tombstones), signed_pieces(delta))


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
        # Blocks are laid end to end, so that a place in any of them is a single number.
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
            # Beyond its block's extent, a position would be a place in the next block.
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
        # A part has no place twice, so only the marks of the parts before it count.
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


Columns = Callable[[Sequence[Field]], Iterable[pa.ChunkedArray]]
"""Gives columns of the rows; they are read only when they are asked for."""

_NONE: Final = np.empty(0, np.int64)


@dataclass(frozen=True, slots=True)
class NetChanges:
    """The signed rows left over, and which of them pair up as one row before and after.

    Attributes:
        rows: Numbers of the rows that are left, as given.
        value: A number for each, the same for equal rows.
        before: For each change the index in `rows` of the old row; -1 for an added row.
        after: The same for the new row; -1 for a removed row.
    """

    rows: Positions
    sign: Positions
    value: Codes
    before: Positions
    after: Positions

    @property
    def counts(self) -> Counts:
        """The number of changes of each kind."""
        added, removed = int((self.before < 0).sum()), int((self.after < 0).sum())
        return Counts(added, removed, len(self.before) - added - removed)


def net_changes(
    columns: Columns,
    sign: Positions,
    compared: Sequence[Field],
    key: Sequence[Field],
    *,
    likely: Collection[str] = (),
) -> NetChanges:
    """Cancel signed rows, and pair what is left.

    | rows left of one key | changes                                                 |
    |----------------------|---------------------------------------------------------|
    | an old one           | a removed row                                           |
    | a new one            | an added row                                            |
    | one of each          | a modified row                                          |
    | more                 | removed and added rows: the key is ambiguous            |

    Args:
        columns: Gives the rows' columns.
        sign: 1 or -1 for each row.
        compared: The columns whose values are compared.
        key: The columns that pair two rows; without any, none are paired.
        likely: Field ids of columns in which two rows of one key probably differ.
    """
    if key:
        # What an update set is read first: most pairs differ there, and nothing else is read.
        keys = group_ids(columns(key), len(sign))
        # Rows that are compared here have the same key already.
        others = [field for field in compared if field not in key]
        first = [field for field in others if field.id in likely]
        others = [field for field in others if field.id not in likely]
        steps = (*fast_first(first), *fast_first(others))
        rows, value = _left_of_keys(columns, sign, steps, keys)
    else:
        rows, value = _left(_read(columns, fast_first(compared)), sign)
    signs = sign[rows]
    goes, comes = np.flatnonzero(signs < 0), np.flatnonzero(signs > 0)
    # Paired only now: of a key with many rows, one old and one new may be left.
    pairs = _pairs(keys[rows], goes, comes) if key else (_NONE, _NONE)
    old = np.setdiff1d(goes, pairs[0], assume_unique=True)
    new = np.setdiff1d(comes, pairs[1], assume_unique=True)
    before = np.concatenate([pairs[0], old, np.full(len(new), -1)])
    after = np.concatenate([pairs[1], np.full(len(old), -1), new])
    # In the order of the old rows, with the added ones at the end.
    order = np.lexsort((after, np.where(before < 0, len(rows), before)))
    return NetChanges(rows, signs, value, before[order], after[order])


def net_counts(
    columns: Columns,
    sign: Positions,
    compared: Sequence[Field],
    key: Sequence[Field],
    *,
    likely: Collection[str] = (),
) -> Counts | None:
    """Count net changes; None if only a column that Arrow can't read may tell rows apart.

    The arguments are those of `net_changes`.
    """
    if not all(map(is_readable, key)):
        return None
    readable = [field for field in compared if is_readable(field)]
    net = net_changes(columns, sign, readable, key, likely=likely)
    # Rows that differ in the other columns only are equal so far.
    is_known = len(readable) == len(compared) or len(net.rows) == len(sign)
    return net.counts if is_known else None


def table_columns(table: pa.Table) -> Columns:
    """Return a reader of the columns of a table named by field id."""
    return lambda fields: [table.column(field.id) for field in fields]


def fast_first(fields: Sequence[Field]) -> tuple[list[Field], list[Field]]:
    """Split columns into fast ones (numbers and times) and all others."""
    types = [arrow_type(field.type) for field in fields]
    fast = [pa.types.is_primitive(item) or pa.types.is_decimal(item) for item in types]
    found = [field for field, is_fast in zip(fields, fast, strict=True) if is_fast]
    return found, [field for field in fields if field not in found]


def _read(
    columns: Columns, steps: Iterable[Sequence[Field]]
) -> Iterator[Iterable[pa.ChunkedArray]]:
    return (columns(step) for step in steps if step)


def _left(steps: Iterable[Iterable[pa.ChunkedArray]], sign: Positions) -> tuple[Positions, Codes]:
    """Return the numbers of the rows that are left, and a number for each one's value."""
    value = group_in_steps(steps, len(sign))
    # Of n equal rows of one sign and m of the other, n - m are left, the first ones.
    net = sums(value, sign)
    # Ranks are within a value and a sign: each value has a group for either sign.
    wanted = (np.sign(net)[value] == sign) & (ranks(value * 2 + (sign > 0)) < np.abs(net)[value])
    rows = np.flatnonzero(wanted)
    return rows, value[rows]


def _left_of_keys(
    columns: Columns, sign: Positions, compared: Sequence[Sequence[Field]], keys: Codes
) -> tuple[Positions, Codes]:
    """Do the same for keyed rows, reading only a few values of most rows.

    Most keys have one old row and one new row. These two are compared column by column until they
    differ. Only for keys with more rows are all values compared.

    Args:
        columns: Gives the rows' columns.
        sign: 1 or -1 for each row.
        compared: The columns whose values are compared within a key, in steps.
        keys: A number for each row, the same for rows of one key.
    """
    # First the keys with one old and one new row, which cancel if they are equal.
    pairs = _pairs(keys, np.flatnonzero(sign < 0), np.flatnonzero(sign > 0))
    equal = equal_pairs(_read(columns, compared), *pairs)
    # A key's only row has none that it could cancel, and is left without a look at its values.
    alone = np.bincount(keys)[keys] == 1
    # The rest are rows of keys that several rows of one sign share.
    crowded = ~alone
    crowded[pairs[0]] = crowded[pairs[1]] = False
    left = ~crowded
    left[pairs[0][equal]] = left[pairs[1][equal]] = False
    # Different rows get different numbers; those in a crowded group get the highest ones.
    value = np.arange(len(keys))
    several = np.flatnonzero(crowded)
    if len(several):
        chosen = pa.array(several)
        steps = ([part.take(chosen) for part in step] for step in _read(columns, compared))
        # The key comes first in the comparison, so rows of two keys never cancel each other.
        rows, values = _left(chain([[pa.array(keys[several])]], steps), sign[several])
        left[several[rows]] = True
        value[several[rows]] = len(keys) + values
    found = np.flatnonzero(left)
    return found, value[found]


def sums(groups: Codes, numbers: Positions) -> Positions:
    """Return the sum of whole numbers in each group."""
    # Added up as floats, which are exact up to 2**53.
    return np.bincount(groups, weights=numbers).astype(np.int64)


def ranks(groups: Codes) -> Positions:
    """Return each element's rank within its group, from 0."""
    order = np.argsort(groups, kind="stable")
    ordered = groups[order]
    starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    lengths = np.diff(np.concatenate([starts, [len(groups)]]))
    found = np.empty(len(groups), np.int64)
    found[order] = np.arange(len(groups)) - np.repeat(starts, lengths)
    return found


def _pairs(keys: Codes, goes: Positions, comes: Positions) -> tuple[Positions, Positions]:
    """Return the indexes of rows whose key has exactly one old and one new row."""
    size = int(keys.max(initial=-1)) + 1
    old, new = (np.bincount(keys[side], minlength=size) for side in (goes, comes))
    single = (old == 1) & (new == 1)
    left, right = goes[single[keys[goes]]], comes[single[keys[comes]]]
    # Both in the order of keys, so that the same index means the same key.
    return left[np.argsort(keys[left])], right[np.argsort(keys[right])]
