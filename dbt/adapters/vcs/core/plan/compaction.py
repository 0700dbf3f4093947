"""Compaction: which blocks to rewrite together, so that readers open fewer files."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping
from typing import Any, Final, NamedTuple

import msgspec

from dbt.adapters.vcs.core.model import Block, Derivation, Segment, Tombstone

TARGET_BYTES: Final = 128 * 1024 * 1024
"""Size of a block that is worth reading, unless told."""

SMALL: Final = 0.5
"""A block below this share of the target is small."""

MUCH_DELETED: Final = 0.1
"""A block with more than this share of its rows deleted is written anew."""

DUE_BLOCKS: Final = 64
"""A table with more small blocks than this is due for compaction."""

# Each composition is one more entry in a segment; what is further back is compared by value.
_MOST_COMPOSED: Final = 32


class Bin(NamedTuple):
    """Blocks of one partition to be written as one block, or as few.

    Attributes:
        blocks: In the order in which their rows are to be written.
        bytes: Approximate size of their remaining rows.
    """

    blocks: tuple[Block, ...]
    bytes: int


class Contents(NamedTuple):
    """The contents of a snapshot's segments.

    Attributes:
        blocks: In order.
        tombstones: In order.
        deleted: Number of rows deleted from each block that has any, by path.
        derivations: Compactions that are known, in order.
    """

    blocks: tuple[Block, ...]
    tombstones: tuple[Tombstone, ...]
    deleted: Mapping[str, int]
    derivations: tuple[Derivation, ...]


def contents_of(segments: Iterable[Segment]) -> Contents:
    """Return the combined contents of segments."""
    blocks: list[Block] = []
    tombstones: list[Tombstone] = []
    deleted: dict[str, int] = {}
    derivations: list[Derivation] = []
    for segment in segments:
        blocks += segment.blocks
        tombstones += segment.tombstones
        derivations += segment.derivations
        for tombstone in segment.tombstones:
            for path, rows in tombstone.targets.items():
                deleted[path] = deleted.get(path, 0) + rows
    return Contents(tuple(blocks), tuple(tombstones), deleted, tuple(derivations))


def plan_compaction(
    contents: Contents,
    *,
    target_bytes: int = TARGET_BYTES,
    order: Callable[[Block], Any] | None = None,
) -> tuple[Bin, ...]:
    """Return what is worth rewriting: small blocks together, and blocks with many deletions.

    A bin holds blocks of one partition. It holds at most the target size, and more than half of it
    unless it is a partition's last, so compacted blocks are left alone the next time.

    Args:
        contents: What the snapshot holds.
        target_bytes: The size that blocks should have.
        order: The key to sort a partition's blocks by, such as their range in the clustering
            columns; None for the snapshot's order.
    """
    groups: dict[tuple[tuple[str, str | None], ...], list[Block]] = {}
    for block in contents.blocks:
        if _is_small(block, target_bytes) or _is_riddled(block, contents.deleted):
            # By partition: all rows of a block are of one.
            groups.setdefault(tuple(sorted(block.partition.items())), []).append(block)
    bins: list[Bin] = []
    for blocks in groups.values():
        bins += _bins(sorted(blocks, key=order) if order else blocks, contents, target_bytes)
    written = {frozenset(item.outputs) for item in contents.derivations}
    return tuple(item for item in bins if _is_useful(item, contents.deleted, written))


def is_due(contents: Contents) -> bool:
    """Return whether a table has enough small blocks or deletions to slow down reads."""
    # Many small blocks are not enough: alone in their partitions they can't be packed.
    small = sum(_is_small(block, TARGET_BYTES) for block in contents.blocks)
    rows = sum(block.rows for block in contents.blocks)
    gone = sum(contents.deleted.values())
    return bool(plan_compaction(contents)) and (small > DUE_BLOCKS or gone > MUCH_DELETED * rows)


def composed(new: Derivation, known: Iterable[Derivation]) -> tuple[Derivation, ...]:
    """Return a derivation, and its compositions with older ones whose blocks it rewrote.

    They let a diff from before the older compactions cancel too: if `b` replaces `a`, and `c`
    replaces `b`, then `c` replaces `a`. Deletions add up, those from `b` by their own images. If
    blocks replace several versions of the table, all go back equally far in each step.
    """
    inputs = set(new.inputs)
    histories: dict[tuple[str, ...], list[Derivation]] = {}
    for old in known:
        # Decision 10: only all outputs of a rewrite together stand for its inputs.
        if old.outputs and inputs.issuperset(old.outputs):
            histories.setdefault(old.outputs, []).append(old)
    depth = min(max(map(len, histories.values()), default=0), _MOST_COMPOSED)
    found = [new]
    for level in range(depth):
        item = new
        for outputs, history in histories.items():
            old = history[min(level, len(history) - 1)]
            rest = [path for path in item.inputs if path not in outputs]
            item = Derivation(
                outputs=new.outputs,
                inputs=(*rest, *old.inputs),
                tombstones=(*old.tombstones, *item.tombstones),
            )
        found.append(item)
    return tuple(found)


def carried_out(tombstones: Iterable[Tombstone], paths: Iterable[str]) -> tuple[Tombstone, ...]:
    """Return tombstones' entries, limited to deletions from the given blocks."""
    wanted = set(paths)
    found = []
    for tombstone in tombstones:
        targets = {path: rows for path, rows in tombstone.targets.items() if path in wanted}
        if targets:
            found.append(msgspec.structs.replace(tombstone, targets=targets))
    return tuple(found)


def _is_small(block: Block, target_bytes: int) -> bool:
    return block.bytes < SMALL * target_bytes


def _is_riddled(block: Block, deleted: Mapping[str, int]) -> bool:
    return deleted.get(block.path, 0) > MUCH_DELETED * block.rows


def _bins(blocks: Iterable[Block], contents: Contents, target_bytes: int) -> list[Bin]:
    bins: list[Bin] = []
    held: list[Block] = []
    size = 0
    for block in blocks:
        rows = block.rows - contents.deleted.get(block.path, 0)
        left = block.bytes * rows // max(block.rows, 1)
        if held and size + left > target_bytes:
            bins.append(Bin(tuple(held), size))
            held, size = [], 0
        held.append(block)
        size += left
    return [*bins, Bin(tuple(held), size)] if held else bins


def _is_useful(item: Bin, deleted: Mapping[str, int], written: Container[frozenset[str]]) -> bool:
    """Return whether a rewrite gives other blocks than there are.

    `written` has the paths of the blocks that one compaction wrote. Another one would write them
    again, and leave as many: a small block by itself, and blocks that can't be one, such as ranges
    of a sort, or rows with and without NaN.
    """
    paths = frozenset(block.path for block in item.blocks)
    return (len(paths) > 1 and paths not in written) or any(
        _is_riddled(block, deleted) for block in item.blocks
    )
