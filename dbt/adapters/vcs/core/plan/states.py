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
from itertools import chain
from typing import Generic, NamedTuple, TypeAlias, TypeVar

from dbt.adapters.vcs.core.ids import SegmentId
from dbt.adapters.vcs.core.model import Block, Derivation, Snapshot, Tombstone
from dbt.adapters.vcs.core.plan.delta import ReadSegment

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


def compare(base: Snapshot | None, ours: Snapshot, theirs: Snapshot, read: ReadSegment) -> Triple:
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
    deletions = {
        key: rows
        for key, rows in ours.deletions.items()
        if key[1] not in gone
        and (key[1] in own or key in theirs.deletions or key not in base.deletions)
    }
    for key, rows in theirs.deletions.items():
        if key not in base.deletions and key[1] not in own | gone | lost:
            deletions.setdefault(key, rows)
    return State({**blocks, **added}, deletions)


class _Loaded:
    """The contents of one version's segments, without those that all share."""

    def __init__(self, version: Snapshot, shared: set[SegmentId], read: ReadSegment) -> None:
        segments = [read(ref.id) for ref in version.segments if ref.id not in shared]
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
    """Return a mapping with part of it changed."""
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
    """Remove the blocks and deletions that all states have."""
    blocks = set.intersection(*(set(state.blocks) for state in states))
    deletions = set.intersection(*(set(state.deletions) for state in states))
    for state in states:
        for path in blocks:
            del state.blocks[path]
        for key in deletions:
            del state.deletions[key]
