"""Pieces: the files, and parts of files, whose rows a diff or a merge has to read.

Files whose bounds are apart hold no equal rows, so many need not be read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from itertools import product
from typing import Any, Final, NamedTuple, TypeAlias

from dbt.adapters.vcs.core.model import Block, ColumnStats, Field, Scalar
from dbt.adapters.vcs.core.model.data_type import FLOATS, type_of
from dbt.adapters.vcs.core.plan.delta import Delta
from dbt.adapters.vcs.core.plan.states import State, Triple

_MAX_PAIRS: Final = 50_000


class Piece(NamedTuple):
    """Rows of one block: all rows of its file, or those whose images a tombstone holds.

    Attributes:
        block: Path of the block.
        rows: Number of rows.
        image: Path of the tombstone that holds them as before-images; None for the block itself.
        info: The block's entry, None if it is not known.
    """

    block: str
    rows: int
    image: str | None = None
    info: Block | None = None

    @property
    def path(self) -> str:
        """The file to read."""
        return self.image or self.block

    @property
    def bounds(self) -> Bounds:
        """The known bounds of the rows' columns."""
        return self.info.stats if self.info else {}


class Touched(NamedTuple):
    """A piece that differs among base, ours and theirs, and the sides that changed it."""

    piece: Piece
    ours: bool
    theirs: bool


class SignedPiece(NamedTuple):
    """A piece whose rows are added (1) or removed (-1), except those its tombstones delete."""

    piece: Piece
    sign: int
    without: tuple[str, ...] = ()


def signed_pieces(delta: Delta) -> tuple[SignedPiece, ...]:
    """Return the pieces with the signed rows of a delta, removed ones first.

    Rows of an added block deleted in the same delta, and rows of a removed block deleted before,
    are left out by position; their images are not read.
    """
    come, go = ({block.path for block in blocks} for blocks in (delta.added, delta.removed))
    holes: dict[str, list[str]] = {}
    for part, whole in ((delta.deleted, come), (delta.restored, go)):
        for item in part:
            if item.block in whole:
                holes.setdefault(item.block, []).append(item.path)
    pieces: list[SignedPiece] = []
    for sign, blocks, images, whole in (
        (-1, delta.removed, delta.deleted, come),
        (1, delta.added, delta.restored, go),
    ):
        for block in blocks:
            piece = Piece(block.path, block.rows, info=block)
            pieces.append(SignedPiece(piece, sign, tuple(holes.get(block.path, ()))))
        pieces += [
            SignedPiece(Piece(item.block, item.rows, image=item.path), sign)
            for item in images
            if item.block not in whole
        ]
    return tuple(pieces)


def touched_pieces(triple: Triple, infos: Mapping[str, Block]) -> tuple[Touched, ...]:
    """Return the pieces whose rows are live in some but not all of base, ours and theirs.

    Args:
        triple: The three states.
        infos: Entries of blocks that all three share and from which any deletes rows.
    """
    base, ours, theirs = triple[:3]
    found: list[Touched] = []
    holes = [_by_block(state) for state in (base, ours, theirs)]
    for path in _paths(triple):
        block = next(s.blocks[path] for s in (base, ours, theirs) if path in s.blocks)
        states = [
            (path in state.blocks, part.get(path, set()))
            for state, part in zip((base, ours, theirs), holes, strict=True)
        ]
        found.append(
            Touched(
                Piece(path, block.rows, info=block),
                ours=states[1] != states[0],
                theirs=states[2] != states[0],
            )
        )
    whole = {item.piece.block for item in found}
    deletions = {**base.deletions, **ours.deletions, **theirs.deletions}
    for key, rows in deletions.items():
        image, path = key
        if path not in whole:
            had = key in base.deletions
            piece = Piece(path, rows, image=image, info=infos.get(path))
            found.append(
                Touched(piece, (key in ours.deletions) != had, (key in theirs.deletions) != had)
            )
    return tuple(found)


def shared_targets(triple: Triple) -> set[str]:
    """Return the paths of blocks that all three share and from which any deletes rows."""
    keys = {key for state in triple[:3] for key in state.deletions}
    return {block for _, block in keys} - set(_paths(triple))


def meeting(pieces: Sequence[Touched], columns: Sequence[Field]) -> tuple[Piece, ...]:
    """Return the pieces that may hold rows equal, in some columns, to rows of the other side.

    If there are none, both sides certainly changed different rows, and nothing has to be read. Of
    very many pieces, each is compared with the bounds of the other side as a whole.
    """
    ours = [item for item in pieces if item.ours]
    theirs = [item for item in pieces if item.theirs]
    if not ours or not theirs:
        return ()
    ours, theirs = _close_to(ours, theirs, columns), _close_to(theirs, ours, columns)
    near = {id(item) for item in _meeting(ours, theirs, columns)}
    return tuple(item.piece for item in pieces if id(item) in near)


def _close_to(
    side: Sequence[Touched], other: Sequence[Touched], columns: Sequence[Field]
) -> list[Touched]:
    """Return a side's items that overlap the bounds of the other side as a whole."""
    around = hull([item.piece.bounds for item in other], columns)
    return [item for item in side if can_meet(item.piece.bounds, around, columns)]


def _meeting(
    ours: Sequence[Touched], theirs: Sequence[Touched], columns: Sequence[Field]
) -> Iterable[Touched]:
    """Return the items of two sides that can meet an item of the other, in any order."""
    if len(ours) * len(theirs) > _MAX_PAIRS:
        return (*ours, *theirs)
    found: dict[int, Touched] = {}
    for our, their in product(ours, theirs):
        is_known = id(our) in found and id(their) in found
        if not is_known and (
            our is their or can_meet(our.piece.bounds, their.piece.bounds, columns)
        ):
            found |= {id(our): our, id(their): their}
    return found.values()


def _paths(triple: Triple) -> Iterable[str]:
    """Return the blocks that some but not all states have, base first."""
    return dict.fromkeys(path for state in triple[:3] for path in state.blocks)


def _by_block(state: State) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for image, path in state.deletions:
        found.setdefault(path, set()).add(image)
    return found


Bounds: TypeAlias = Mapping[str, ColumnStats]
"""What is known of a file's columns, by field id; what is not known can be anything."""


class _Range(NamedTuple):
    low: Scalar | Decimal
    high: Scalar | Decimal
    nulls: bool


def can_meet(left: Bounds, right: Bounds, columns: Iterable[Field]) -> bool:
    """Return whether two files may hold rows that are equal in all the given columns.

    | bounds of a column                        | rows can be equal in it  |
    |-------------------------------------------|--------------------------|
    | unknown or incomplete on a side           | yes                      |
    | both sides have NULLs: NULL equals NULL   | yes                      |
    | the ranges overlap                        | yes                      |
    | else                                      | no                       |
    """
    return not any(_are_apart(left, right, field) for field in columns)


def hull(parts: Sequence[Bounds], columns: Iterable[Field]) -> Bounds:
    """Return bounds that hold in all of the files, at least one of which is given."""
    found: dict[str, ColumnStats] = {}
    for field in columns:
        ranges = [_range(part, field) for part in parts]
        known = [item for item in ranges if item is not None]
        kinds = {type(bound) for item in known for bound in (item.low, item.high)}
        if len(known) == len(ranges) and len(kinds) == 1:
            low: Any = min(item.low for item in known)  # type: ignore[type-var]
            high: Any = max(item.high for item in known)  # type: ignore[type-var]
            found[field.id] = ColumnStats(low, high, int(any(item.nulls for item in known)))
    return found


def _are_apart(left: Bounds, right: Bounds, field: Field) -> bool:
    one, other = _range(left, field), _range(right, field)
    if one is None or other is None or (one.nulls and other.nulls):
        return False
    try:
        return bool(one.high < other.low or other.high < one.low)  # type: ignore[operator]
    except TypeError:
        # The bounds have two types: the column's type changed between the files.
        return False


def _range(bounds: Bounds, field: Field) -> _Range | None:
    stats = bounds.get(field.id)
    if stats is None or stats.min is None or stats.max is None:
        return None
    kind = type_of(field.type).kind
    if kind in FLOATS:
        # Their bounds leave out values: none includes NaN.
        return None
    if kind == "decimal":
        return _Range(Decimal(str(stats.min)), Decimal(str(stats.max)), stats.nulls != 0)
    return _Range(stats.min, stats.max, stats.nulls != 0)
