"""Delta: the changes between two snapshots, by file, and the files to read for them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final, Literal, NamedTuple, TypeAlias

from dbt.adapters.vcs.core.ids import SegmentId
from dbt.adapters.vcs.core.model import (
    Block,
    ColumnStats,
    Derivation,
    Replacement,
    Segment,
    Snapshot,
    Tombstone,
)

ReadSegments = Callable[[Iterable[SegmentId]], Sequence[Segment]]
"""Returns segments by their ids, in order."""


class Deletion(NamedTuple):
    """The rows that one tombstone deletes from one block.

    Attributes:
        path: The tombstone's file, relative to the repository.
        block: Path of the block.
        tombstone: The tombstone's entry, None if it is not known.
    """

    path: str
    block: str
    rows: int
    tombstone: Tombstone | None = None


class Delta(NamedTuple):
    """The differences between two snapshots, each part in manifest order.

    As signed rows: `+ rows(added) - rows(removed) - images(deleted) + images(restored)`, with all
    rows of a block, and the images of deleted rows that tombstones hold. So a deletion from an
    added block is in `deleted`, one from a removed block in `restored`.

    The cost depends on the change: shared segments are never read (MatrixOne paper, section 5.1).

    Attributes:
        added: Blocks that only the second snapshot has.
        removed: Blocks that only the first one has.
        deleted: Deletions that only the second one has.
        restored: Deletions that only the first one has.
        updates: Updates that segments of the second one tell of; parts of them may be missing.
        undone: Updates that segments of the first one tell of; the same.
        copied: Paths of blocks that cancelled because some are copies of the others, so that a
            row has a place in several of them.
    """

    added: tuple[Block, ...]
    removed: tuple[Block, ...]
    deleted: tuple[Deletion, ...]
    restored: tuple[Deletion, ...]
    updates: tuple[Replacement, ...] = ()
    undone: tuple[Replacement, ...] = ()
    copied: frozenset[str] = frozenset()

    @property
    def is_empty(self) -> bool:
        """Whether both snapshots hold the same rows, as far as manifests show."""
        return not (self.added or self.removed or self.deleted or self.restored)

    @property
    def may_delete_twice(self) -> bool:
        """Whether both snapshots may delete the same row, by a tombstone each.

        It is in neither then, but among the signed rows twice, and has to cancel.
        """
        new, old = self._holes()
        deleted = {item.block for item in self.deleted} - new
        restored = {item.block for item in self.restored} - old
        both = deleted & restored
        # A row of copied blocks has several places, and may be deleted at another on each side.
        return bool(both or (deleted & self.copied and restored & self.copied))

    @property
    def tombstones(self) -> tuple[Tombstone, ...]:
        """The known entries of the tombstones, whose digests readers check."""
        items = (*self.deleted, *self.restored)
        return tuple(item.tombstone for item in items if item.tombstone is not None)

    @property
    def rows_added(self) -> int:
        """Rows added, before any cancel out by value."""
        new, old = self._holes()
        return (
            # Of an added block a deletion takes rows back, of a common one it removes rows.
            sum(block.rows for block in self.added)
            + sum(item.rows for item in self.restored if item.block not in old)
            - sum(item.rows for item in self.deleted if item.block in new)
        )

    @property
    def rows_removed(self) -> int:
        """Rows removed, before any cancel out by value."""
        new, old = self._holes()
        return (
            sum(block.rows for block in self.removed)
            + sum(item.rows for item in self.deleted if item.block not in new)
            - sum(item.rows for item in self.restored if item.block in old)
        )

    def _holes(self) -> tuple[set[str], set[str]]:
        return {block.path for block in self.added}, {block.path for block in self.removed}


def delta(
    before: Snapshot | None,
    after: Snapshot | None,
    read: ReadSegments,
    *,
    with_moves: bool = False,
) -> Delta:
    """Return the changes from one snapshot to another; None is a table without rows.

    A block that replaces others (`Derivation`) cancels with them without being read: a compaction
    is no change, and only the deletions made in between count. With `with_moves` it does not
    cancel: the result is file by file.
    """
    gone, come = _Side(read(_only_in(before, after))), _Side(read(_only_in(after, before)))
    # A write that replaces some blocks of a segment writes the others into a new one.
    for path in gone.blocks.keys() & come.blocks.keys():
        del gone.blocks[path], come.blocks[path]
    # Decision 9: pairs are compared, since an entry that lost a target deletes the same rows.
    for key in gone.deletions.keys() & come.deletions.keys():
        del gone.deletions[key], come.deletions[key]
    # Decision 10: a compaction is no change of rows.
    copied: set[str] = set()
    if not with_moves:
        # Both ways: a diff may also lead back over a compaction.
        copied = _cancel_derived(come, gone) | _cancel_derived(gone, come)
    return Delta(
        added=tuple(come.blocks.values()),
        removed=tuple(gone.blocks.values()),
        deleted=tuple(come.deletions.values()),
        restored=tuple(gone.deletions.values()),
        updates=tuple(come.replacements),
        undone=tuple(gone.replacements),
        copied=frozenset(copied),
    )


def _only_in(one: Snapshot | None, other: Snapshot | None) -> list[SegmentId]:
    """Return the segments of one snapshot that the other lacks, in order."""
    known = {ref.id for ref in other.segments} if other else set()
    return [ref.id for ref in one.segments if ref.id not in known] if one else []


class _Side:
    """What only one of the snapshots has."""

    def __init__(self, segments: Iterable[Segment]) -> None:
        self.blocks: dict[str, Block] = {}
        self.deletions: dict[tuple[str, str], Deletion] = {}
        self.derivations: list[Derivation] = []
        self.replacements: list[Replacement] = []
        for segment in segments:
            self.blocks.update((block.path, block) for block in segment.blocks)
            for tombstone in segment.tombstones:
                for block, rows in tombstone.targets.items():
                    self.deletions[tombstone.path, block] = Deletion(
                        tombstone.path, block, rows, tombstone
                    )
            self.derivations += segment.derivations
            self.replacements += segment.replacements


def _cancel_derived(written: _Side, other: _Side) -> set[str]:
    """Cancel the blocks of a rewrite with the blocks that they replace; return their paths.

    outputs = inputs - tombstones, so `- tombstones` is left on the rewritten side. A deletion from
    the inputs that the other side also has is no difference.
    """
    copied: set[str] = set()
    for item in written.derivations:
        inputs = set(item.inputs)
        # Decision 10: a rewrite that lost an output cancels nothing: blocks are compared by value.
        if not (inputs <= other.blocks.keys() and set(item.outputs) <= written.blocks.keys()):
            continue
        copied.update(inputs, item.outputs)
        for path in item.outputs:
            del written.blocks[path]
        for path in inputs:
            del other.blocks[path]
        for tombstone in item.tombstones:
            for block, rows in tombstone.targets.items():
                if other.deletions.pop((tombstone.path, block), None) is None:
                    key = tombstone.path, block
                    written.deletions[key] = Deletion(*key, rows, tombstone)
    return copied


Bounds: TypeAlias = Mapping[str, ColumnStats]
"""What is known of a file's columns, by field id; what is not known can be anything."""


class Piece(NamedTuple):
    """Rows of one block: all rows of its file, or those whose images a tombstone holds.

    Attributes:
        block: Path of the block.
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
            # The others are left out by position when their block is read.
            if item.block not in whole
        ]
    return tuple(pieces)


ChangeKind: TypeAlias = Literal["insert", "delete", "update_preimage", "update_postimage"]

_ADDED: Final[ChangeKind] = "insert"
_REMOVED: Final[ChangeKind] = "delete"


class KnownChange(NamedTuple):
    """Files of a delta whose rows are changes of one kind.

    Attributes:
        blocks: Paths of blocks, less the rows that the delta deletes from them.
        images: Deletions whose before-images count.
        whole: True if the images are all rows of the tombstones' files.
    """

    kind: ChangeKind
    blocks: frozenset[str] = frozenset()
    images: tuple[Deletion, ...] = ()
    whole: bool = False


def known_changes(
    delta: Delta, *, unique: bool, key: Collection[str], compared: Collection[str]
) -> tuple[KnownChange, ...] | None:
    """Return the changes in a delta by file; None if rows have to be compared for it.

    No row of such a file cancels with another one, and all of them are changes of one kind:

    | rows                                                 | the new ones     | the old ones    |
    |------------------------------------------------------|------------------|-----------------|
    | of an update that only the second version has        | update_postimage | update_preimage |
    | of an update that only the first version has, undone | update_preimage  | update_postimage|
    | all others, if they are only added or only removed   | insert           | delete          |

    Args:
        unique: True if the key is surely unique in both versions.
        key: Field ids of the key by which rows are paired; none for a table without one.
        compared: Field ids of the columns that are compared.
    """
    # Decision 29: one row may be among the deletions of both sides.
    if delta.may_delete_twice:
        return None
    come = _Changed.of(delta.added, delta.deleted, delta.updates)
    go = _Changed.of(delta.removed, delta.restored, delta.undone)
    found: list[KnownChange] = []
    # Decision 29: only a key that no update set pairs old rows with new ones.
    if unique and key:
        columns = frozenset(compared).difference(key)
        found += come.updated(columns, new="update_postimage", old="update_preimage")
        found += go.updated(columns, new="update_preimage", old="update_postimage")
    told = {path for item in found for path in item.blocks}
    tombstones = {item.path for change in found for item in change.images}
    others = (
        KnownChange(_ADDED, come.blocks - told, go.images_without(tombstones)),
        KnownChange(_REMOVED, go.blocks - told, come.images_without(tombstones)),
    )
    left = [item for item in others if item.blocks or item.images]
    # Added rows may be equal to removed ones, which cancel: only a comparison tells.
    return None if len(left) > 1 else (*found, *left)


class _Changed(NamedTuple):
    """What only one of the versions has.

    Attributes:
        blocks: Paths of its blocks.
        intact: Those from which it deletes no row.
        images: Its deletions from blocks that both have.
        updates: The updates that its segments tell of.
    """

    blocks: frozenset[str]
    intact: frozenset[str]
    images: tuple[Deletion, ...]
    updates: tuple[Replacement, ...]

    @classmethod
    def of(
        cls,
        blocks: Iterable[Block],
        deletions: Iterable[Deletion],
        updates: tuple[Replacement, ...],
    ) -> _Changed:
        paths = frozenset(block.path for block in blocks)
        holed = {item.block for item in deletions}
        images = tuple(item for item in deletions if item.block not in paths)
        return cls(paths, paths - holed, images, updates)

    def updated(
        self, columns: frozenset[str], *, new: ChangeKind, old: ChangeKind
    ) -> Iterator[KnownChange]:
        """Yield the changes of updates of only these columns of which all rows are here.

        An update of the key pairs rows differently, and one of a column that isn't compared may
        change nothing that shows.
        """
        for update in self.updates:
            images = tuple(item for item in self.images if item.path in update.tombstones)
            is_whole = sum(item.rows for item in images) == update.rows
            is_covered = columns.issuperset(update.columns)
            # Decision 29: a later statement may have changed some of the new rows.
            if is_whole and is_covered and self.intact.issuperset(update.blocks):
                yield KnownChange(old, images=images, whole=True)
                yield KnownChange(new, blocks=frozenset(update.blocks))

    def images_without(self, tombstones: Collection[str]) -> tuple[Deletion, ...]:
        """Return its deletions from common blocks, except those of some tombstones."""
        return tuple(item for item in self.images if item.path not in tombstones)
