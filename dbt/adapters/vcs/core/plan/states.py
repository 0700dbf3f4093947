"""States: the physical rows of base, ours and theirs, and the graft of theirs onto ours.

A state is a set of blocks and of deletions from them. If b, o, t are 1 for a row of a file that is
live in base, ours and theirs, it is live in the graft as `o + t - b`:

| b o t | graft | |
|-------|-------|---------------------------------------------|
| 0 0 1 | 1     | theirs added it                             |
| 0 1 0 | 1     | ours added it                               |
| 1 0 1 | 0     | ours deleted it                             |
| 1 1 0 | 0     | theirs deleted it                           |
| 1 0 0 | 0     | both deleted it: one deletion is enough     |
| 0 1 1 | 1     | both added the same file: it is kept once   |

It consists of whole blocks and whole deletions, so a few rows can come out wrong. The merge reads
the rows that both sides touched, and repairs these.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import chain, product
from typing import Any, Final, Generic, NamedTuple, TypeAlias, TypeVar

from dbt.adapters.vcs.core.ids import SegmentId
from dbt.adapters.vcs.core.model import (
    Block,
    ColumnStats,
    Derivation,
    Field,
    Scalar,
    Snapshot,
    Tombstone,
)
from dbt.adapters.vcs.core.model.data_type import FLOATS, type_of
from dbt.adapters.vcs.core.plan.delta import Bounds, Piece, ReadSegments

K = TypeVar("K")
V = TypeVar("V")

DeletionKey: TypeAlias = tuple[str, str]
"""Path of a tombstone, path of a block: the rows that the one deletes from the other."""


@dataclass(slots=True)
class State:
    """Blocks and deletions of one version, without those that all versions share.

    Attributes:
        blocks: By path.
        deletions: Rows deleted, by tombstone and block; the block may be shared by all.
    """

    blocks: dict[str, Block] = field(default_factory=dict)
    deletions: dict[DeletionKey, int] = field(default_factory=dict)

    def deletions_from(self, blocks: Iterable[str]) -> dict[DeletionKey, int]:
        """Return the deletions from some blocks."""
        wanted = set(blocks)
        return {key: rows for key, rows in self.deletions.items() if key[1] in wanted}

    def copy(self) -> State:
        """Return an independent copy."""
        return State(dict(self.blocks), dict(self.deletions))


@dataclass(frozen=True, slots=True)
class ItemChange(Generic[K, V]):
    """The items that a mapping loses and gains."""

    gone: frozenset[K]
    new: Mapping[K, V]


class BlockEdit(NamedTuple):
    """How one version's blocks and deletions become another's."""

    blocks: ItemChange[str, Block]
    deletions: ItemChange[DeletionKey, int]


class Triple(NamedTuple):
    """Base, ours and theirs, without what all three share.

    Attributes:
        base: For two tables without a base, what both of them have.
        ours: The version that is changed.
        theirs: The version whose changes are wanted.
        stored: Ours exactly as in its own segments.
        settled: The same after compactions are applied or undone.
        undone: Compactions that were undone.
        tombstones: Entries of the tombstones involved, by path.
    """

    base: State
    ours: State
    theirs: State
    stored: State
    settled: State
    undone: tuple[Derivation, ...]
    tombstones: Mapping[str, Tombstone]

    def edit(self, result: State, deleted_from: Collection[str] = ()) -> BlockEdit:
        """Return the edit from the segments of ours to those of a result.

        Compactions of ours that had to be undone are kept if the result doesn't touch the blocks
        they replaced.

        Args:
            result: The merged state, in the form of `ours`.
            deleted_from: Blocks from which more rows will be deleted.
        """
        final = State(
            _with_change(self.settled.blocks, self.ours.blocks, result.blocks),
            _with_change(self.settled.deletions, self.ours.deletions, result.deletions),
        )
        for item in self.undone:
            is_of_ours = self.stored.blocks.keys() >= set(item.outputs)
            if is_of_ours and not set(item.inputs) & set(deleted_from):
                _carry_out(item, [final], self.stored.blocks)
        return BlockEdit(
            blocks=_change(self.stored.blocks, final.blocks),
            deletions=_change(self.stored.deletions, final.deletions),
        )


def compare(base: Snapshot | None, ours: Snapshot, theirs: Snapshot, read: ReadSegments) -> Triple:
    """Return the states of three versions; segments shared by all are never read.

    A compaction (`Derivation`) that only some of them have is applied to the others, or undone, if
    no row has to be read for it; so it is no change.
    """
    versions = [version for version in (base, ours, theirs) if version is not None]
    shared = set.intersection(*({ref.id for ref in version.segments} for version in versions))
    loaded = [_Loaded(version, shared, read) for version in versions]
    derivations = {
        (item.outputs, item.inputs): item for part in loaded for item in part.derivations
    }
    states = [part.state for part in loaded]
    # Without a base nothing counts as deleted, so what both have stands for it.
    if base is None:
        states.insert(0, _common(*states))
    # The edit of ours starts from what its segments say, whatever is settled for the merge.
    stored = states[1].copy()
    undone = [item for item in derivations.values() if _settle(item, states)]
    settled = states[1].copy()
    _forget_shared(states)
    tombstones = _tombstones(loaded)
    return Triple(states[0], states[1], states[2], stored, settled, tuple(undone), tombstones)


def _tombstones(loaded: Iterable[_Loaded]) -> dict[str, Tombstone]:
    """Return the entries of all tombstones by path, including those applied by compactions."""
    tombstones = (tombstone for part in loaded for tombstone in part.tombstones)
    done = (file for part in loaded for item in part.derivations for file in item.tombstones)
    return {file.path: file for file in chain(tombstones, done)}


def graft(triple: Triple) -> State:
    """Return ours with what theirs added, and without what theirs removed."""
    base, ours, theirs = triple[:3]
    blocks = {
        path: block
        for path, block in ours.blocks.items()
        if path not in base.blocks or path in theirs.blocks
    }
    added = {
        path: block
        for path, block in theirs.blocks.items()
        if path not in base.blocks and path not in ours.blocks
    }
    # Theirs never saw the blocks that ours added, and can say nothing about rows of them.
    own = ours.blocks.keys() - base.blocks.keys()
    gone = ours.blocks.keys() - blocks.keys()
    lost = base.blocks.keys() - ours.blocks.keys()
    # A deletion that base has and theirs lacks was taken back by theirs.
    deletions = {
        key: rows
        for key, rows in ours.deletions.items()
        if key[1] not in gone
        and (key[1] in own or key in theirs.deletions or key not in base.deletions)
    }
    for key, rows in theirs.deletions.items():
        # Of a block that one side removed, no row is left to delete.
        if key not in base.deletions and key[1] not in own | gone | lost:
            deletions.setdefault(key, rows)
    return State({**blocks, **added}, deletions)


class _Loaded:
    """The contents of one version's segments, without those that all share."""

    def __init__(self, version: Snapshot, shared: set[SegmentId], read: ReadSegments) -> None:
        segments = read(ref.id for ref in version.segments if ref.id not in shared)
        self.state = State()
        self.derivations: list[Derivation] = []
        self.tombstones: list[Tombstone] = []
        for segment in segments:
            self.state.blocks.update((block.path, block) for block in segment.blocks)
            self.derivations += segment.derivations
            self.tombstones += segment.tombstones
        for tombstone in self.tombstones:
            for block, rows in tombstone.targets.items():
                self.state.deletions[tombstone.path, block] = rows


def _common(ours: State, theirs: State) -> State:
    """Return what two tables without a base share: the rows live in both."""
    blocks = {path: block for path, block in ours.blocks.items() if path in theirs.blocks}
    lone = ours.blocks.keys() ^ theirs.blocks.keys()
    deletions = {
        key: rows
        for key, rows in {**ours.deletions, **theirs.deletions}.items()
        if key[1] not in lone
    }
    return State(blocks, deletions)


def _settle(item: Derivation, states: Sequence[State]) -> bool:
    """Apply a compaction to the states that lack it, else undo it in those that have it.

    outputs = inputs - tombstones. It can be applied if exactly these rows of the inputs are
    deleted, and undone if no rows of the outputs are. Returns whether it was undone.
    """
    inputs, outputs = set(item.inputs), set(item.outputs)
    having = [state for state in states if outputs <= state.blocks.keys()]
    lacking = [state for state in states if inputs & state.blocks.keys()]
    # A state with blocks of both is neither before the compaction nor after it.
    if not having or not lacking or any(state in having for state in lacking):
        return False
    if _carry_out(item, lacking, having[0].blocks):
        return False
    known = {path: block for state in lacking for path, block in state.blocks.items()}
    return _undo(item, having, known)


def _undo(item: Derivation, states: Sequence[State], known: Mapping[str, Block]) -> bool:
    """Replace the outputs of a compaction with its inputs if all the states allow it."""
    inputs, outputs, done = set(item.inputs), set(item.outputs), _deletions_of(item)
    if (
        not inputs <= known.keys()
        # A composed compaction also deleted from blocks in between, which no state has.
        or any(block not in inputs for _, block in done)
        or any(state.deletions_from(outputs) for state in states)
    ):
        return False
    for state in states:
        _replace(state, outputs, {path: known[path] for path in item.inputs}, done)
    return True


def _carry_out(item: Derivation, states: Sequence[State], known: Mapping[str, Block]) -> bool:
    """Replace the inputs of a compaction with its outputs if all the states allow it."""
    inputs, done = set(item.inputs), _deletions_of(item)
    if not all(
        inputs <= state.blocks.keys() and state.deletions_from(inputs) == done for state in states
    ):
        return False
    for state in states:
        _replace(state, inputs, {path: known[path] for path in item.outputs}, {})
    return True


def _deletions_of(item: Derivation) -> dict[DeletionKey, int]:
    return {
        (tombstone.path, block): rows
        for tombstone in item.tombstones
        for block, rows in tombstone.targets.items()
    }


def _with_change(whole: Mapping[K, V], before: Mapping[K, V], after: Mapping[K, V]) -> dict[K, V]:
    kept = {key: value for key, value in whole.items() if key not in before or key in after}
    return {**kept, **{key: value for key, value in after.items() if key not in before}}


def _change(before: Mapping[K, V], after: Mapping[K, V]) -> ItemChange[K, V]:
    return ItemChange(
        frozenset(before.keys() - after.keys()),
        {key: value for key, value in after.items() if key not in before},
    )


def _replace(
    state: State, old: set[str], new: Mapping[str, Block], deletions: Mapping[DeletionKey, int]
) -> None:
    for key in state.deletions_from(old):
        del state.deletions[key]
    for path in old:
        del state.blocks[path]
    state.blocks.update(new)
    state.deletions.update(deletions)


def _forget_shared(states: list[State]) -> None:
    blocks = set.intersection(*(set(state.blocks) for state in states))
    deletions = set.intersection(*(set(state.deletions) for state in states))
    for state in states:
        for path in blocks:
            del state.blocks[path]
        for key in deletions:
            del state.deletions[key]


# Of more pairs of pieces, each is compared with the other side as a whole, and not with each one.
_MAX_PAIRS: Final = 50_000


class Touched(NamedTuple):
    """A piece that differs among base, ours and theirs, and the sides that changed it."""

    piece: Piece
    ours: bool
    theirs: bool


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
            # A side changed a block that only it or only base has, or if it deletes other rows.
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
        # A block that differs is read as a whole, and its deletions with it.
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
    # By identity: entries of blocks hold dicts, so they have no hash.
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
            # What both sides changed meets itself.
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
    for column in columns:
        ranges = [_range(part, column) for part in parts]
        known = [item for item in ranges if item is not None]
        kinds = {type(bound) for item in known for bound in (item.low, item.high)}
        if len(known) == len(ranges) and len(kinds) == 1:
            # `kinds` has made sure that the bounds have one type, which mypy can't see.
            low: Any = min(item.low for item in known)  # type: ignore[type-var]
            high: Any = max(item.high for item in known)  # type: ignore[type-var]
            found[column.id] = ColumnStats(low, high, int(any(item.nulls for item in known)))
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
        # Stored as text, in which 10 comes before 9.
        return _Range(Decimal(str(stats.min)), Decimal(str(stats.max)), stats.nulls != 0)
    return _Range(stats.min, stats.max, stats.nulls != 0)
