"""Manifests: a table's segments after blocks and deletions are added and removed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

import msgspec

from dbt.adapters.vcs.core.ids import SegmentId, TableId, new_write_id
from dbt.adapters.vcs.core.model import (
    Block,
    Derivation,
    Replacement,
    Segment,
    SegmentRef,
    Snapshot,
    Tombstone,
)
from dbt.adapters.vcs.core.model.snapshot import MAX_BLOCKS
from dbt.adapters.vcs.core.plan.states import BlockEdit, DeletionKey
from dbt.adapters.vcs.core.store.objects import ObjectStore


def edited(
    objects: ObjectStore,
    ours: Snapshot,
    sources: Sequence[Snapshot],
    edit: BlockEdit,
    entries: Mapping[str, Tombstone],
    *,
    blocks: Sequence[Block] = (),
    tombstones: Sequence[Tombstone] = (),
) -> tuple[SegmentRef, ...]:
    """Return the segments of a version after an edit; unchanged ones are shared by id.

    Args:
        objects: The store that segments are read from and written to.
        ours: The version that is edited.
        sources: The versions that new blocks and deletions come from. Their segments that are
            entirely new are shared too, and compactions known there stay known.
        edit: What is removed and added.
        entries: Entries of the tombstones, by path.
        blocks: Further new blocks, written just now.
        tombstones: Further new tombstones, written just now.
    """
    own = {ref.id for ref in ours.segments}
    news = _News(edit)
    others = [ref for source in sources for ref in source.segments if ref.id not in own]
    for ref, segment in zip(others, objects.segments(ref.id for ref in others), strict=True):
        news.look_at(ref, segment)
    return (
        *_kept(objects, ours, edit),
        *news.shared,
        *put_segments(
            objects,
            [*news.blocks.values(), *blocks],
            [*_tombstones(news.deletions, entries), *tombstones],
            news.known_compactions(),
        ),
    )


class _News:
    """What an edit adds, apart from the segments that can be shared whole.

    Attributes:
        blocks: New blocks that no shared segment has, by path.
        deletions: New deletions that no shared segment has.
        shared: Segments of the sources that are all new.
    """

    def __init__(self, edit: BlockEdit) -> None:
        self.blocks = dict(edit.blocks.new)
        self.deletions = dict(edit.deletions.new)
        self.shared: list[SegmentRef] = []
        self._derivations: dict[tuple[tuple[str, ...], ...], Derivation] = {}

    def look_at(self, ref: SegmentRef, segment: Segment) -> None:
        """Share a source's segment if everything in it is new, else remember its compactions."""
        keys = {
            (tombstone.path, path)
            for tombstone in segment.tombstones
            for path in tombstone.targets
        }
        paths = {block.path for block in segment.blocks}
        # A segment that two versions share by its id is skipped when they are compared.
        if (paths or keys) and paths <= self.blocks.keys() and keys <= self.deletions.keys():
            self.shared.append(ref)
            for path in paths:
                del self.blocks[path]
            for key in keys:
                del self.deletions[key]
        else:
            for item in segment.derivations:
                self._derivations[item.outputs, item.inputs] = item

    def known_compactions(self) -> list[Derivation]:
        """Return the compactions with new outputs from segments that were not shared."""
        found = self._derivations.values()
        return [item for item in found if set(item.outputs) <= self.blocks.keys()]


def put_segments(
    objects: ObjectStore,
    blocks: Sequence[Block],
    tombstones: Sequence[Tombstone] = (),
    derivations: Sequence[Derivation] = (),
    replacements: Sequence[Replacement] = (),
) -> tuple[SegmentRef, ...]:
    """Write blocks as segments, in order, and return references to them.

    Tombstones and replacements go to the first segment. A derivation goes to the segment of its
    first output, or to the first if no rows were left to write.
    """
    refs: list[SegmentRef] = []
    # A change may consist of deletions only, which need a segment, too.
    for start in range(0, max(len(blocks), 1 if tombstones or derivations else 0), MAX_BLOCKS):
        part = tuple(blocks[start : start + MAX_BLOCKS])
        paths = {block.path for block in part}
        segment = Segment(
            blocks=part,
            tombstones=tuple(tombstones) if start == 0 else (),
            derivations=tuple(
                item
                for item in derivations
                if (item.outputs[0] in paths if item.outputs else start == 0)
            ),
            replacements=tuple(replacements) if start == 0 else (),
        )
        refs.append(put_segment(objects, segment))
    return tuple(refs)


def _kept(objects: ObjectStore, ours: Snapshot, edit: BlockEdit) -> Sequence[SegmentRef]:
    """Return the segments of ours without what is removed."""
    if not edit.blocks.gone and not edit.deletions.gone:
        return ours.segments
    return _reduced(
        objects, ours.segments, edit.blocks.gone, lambda *pair: pair in edit.deletions.gone
    )


def _reduced(
    objects: ObjectStore,
    refs: Sequence[SegmentRef],
    gone: Collection[str],
    is_dropped: Callable[[str, str], bool],
) -> tuple[SegmentRef, ...]:
    """Return segments without some blocks, given by path, and without some deletions.

    Args:
        is_dropped: Tells whether the deletion of a tombstone's rows from a block is left out.
    """
    kept: list[SegmentRef] = []
    for ref, segment in zip(refs, objects.segments(ref.id for ref in refs), strict=True):
        blocks = tuple(block for block in segment.blocks if block.path not in gone)
        left: list[Tombstone] = []
        for tombstone in segment.tombstones:
            targets = {
                path: rows
                for path, rows in tombstone.targets.items()
                if not is_dropped(tombstone.path, path)
            }
            if len(targets) == len(tombstone.targets):
                left.append(tombstone)
            # Decision 9: the entry goes on without the blocks that left, and the file stays as it
            # is.
            elif targets:
                left.append(msgspec.structs.replace(tombstone, targets=targets))
        rest = msgspec.structs.replace(segment, blocks=blocks, tombstones=tuple(left))
        # Kept by its id, so that a comparison of the two versions skips it.
        if rest == segment:
            kept.append(ref)
        elif blocks or left:
            kept.append(put_segment(objects, rest))
    return tuple(kept)


def _tombstones(
    deletions: Mapping[DeletionKey, int], entries: Mapping[str, Tombstone]
) -> Iterable[Tombstone]:
    targets: dict[str, dict[str, int]] = {}
    # Decision 9: versions differ by pairs of tombstone and block, so an entry lists the new ones.
    for (image, block), rows in deletions.items():
        targets.setdefault(image, {})[block] = rows
    for image, blocks in targets.items():
        yield msgspec.structs.replace(entries[image], targets=blocks)


def put_segment(objects: ObjectStore, segment: Segment) -> SegmentRef:
    """Write a segment and return a reference to it."""
    return SegmentRef(
        id=SegmentId(objects.put(segment)),
        blocks=len(segment.blocks),
        rows=sum(block.rows for block in segment.blocks),
        deleted=sum(tombstone.rows for tombstone in segment.tombstones),
        bytes=sum(block.bytes for block in segment.blocks),
    )


JOIN_ABOVE = 32
"""A table with more segments than this gets short ones joined, so that planning stays short."""


def folder_of(table: TableId) -> str:
    """Return the folder for a new write to a table."""
    # Decision 2: every write has its own folder, so two never write one file.
    return f"data/{table}/w={new_write_id()}"


def without_blocks(
    objects: ObjectStore, refs: Sequence[SegmentRef], gone: Collection[str]
) -> tuple[SegmentRef, ...]:
    """Return segments without some blocks, given by path, and their deletions.

    Segments that mention none of them keep their id.
    """
    return _reduced(objects, refs, gone, lambda _, path: path in gone)


def joined_segments(objects: ObjectStore, refs: Sequence[SegmentRef]) -> tuple[SegmentRef, ...]:
    """Join neighbouring segments as long as the result stays within the limit.

    Up to `JOIN_ABOVE` segments are left as they are: sharing segments between snapshots is worth
    more than a shorter list.
    """
    if len(refs) <= JOIN_ABOVE:
        return tuple(refs)
    groups: list[list[SegmentRef]] = [[]]
    for ref in refs:
        if groups[-1] and sum(item.blocks for item in groups[-1]) + ref.blocks > MAX_BLOCKS:
            groups.append([])
        groups[-1].append(ref)
    return tuple(
        group[0] if len(group) == 1 else _join(objects, group) for group in groups if group
    )


def _join(objects: ObjectStore, refs: Sequence[SegmentRef]) -> SegmentRef:
    segments = objects.segments(ref.id for ref in refs)
    return put_segment(
        objects,
        Segment(
            blocks=tuple(block for segment in segments for block in segment.blocks),
            tombstones=tuple(
                tombstone for segment in segments for tombstone in segment.tombstones
            ),
            derivations=tuple(item for segment in segments for item in segment.derivations),
            replacements=tuple(item for segment in segments for item in segment.replacements),
        ),
    )
