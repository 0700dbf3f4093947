"""A segment: an immutable list of blocks and tombstones, shared between snapshots by id."""

from __future__ import annotations

from dbt.adapters.vcs.core.ids import SegmentId
from dbt.adapters.vcs.core.model.block import Block
from dbt.adapters.vcs.core.model.tombstone import Tombstone
from dbt.adapters.vcs.core.model.value import Value

MAX_BLOCKS = 1_000
"""A segment lists at most this many blocks."""


class Derivation(Value, frozen=True, kw_only=True):
    """A rewrite that changed no value: the blocks that others replace, row for row.

    Attributes:
        outputs: Paths of the blocks that were written.
        inputs: Paths of the blocks whose rows they hold.
        tombstones: Deletions from the inputs that were applied; their targets are only inputs.
    """

    outputs: tuple[str, ...]
    inputs: tuple[str, ...]
    tombstones: tuple[Tombstone, ...] = ()


class Replacement(Value, frozen=True, kw_only=True):
    """An update: blocks whose rows replace deleted rows, one for one.

    Each new row is one of the old rows with other values in some of the columns, in at least one,
    and in no other column.

    Attributes:
        blocks: Paths of the blocks with the new rows, and no others.
        tombstones: Paths of the tombstones whose files have the old rows, and no others.
        rows: Number of old rows, and of new ones.
        columns: Field ids of the columns that may have other values.
    """

    blocks: tuple[str, ...]
    tombstones: tuple[str, ...]
    rows: int
    columns: tuple[str, ...]


class Segment(Value, frozen=True, kw_only=True):
    """Blocks and tombstones in the order they were written.

    Attributes:
        blocks: At most MAX_BLOCKS.
        tombstones: Deletions from blocks of any segment of the snapshot.
        derivations: Of blocks in this segment; one that has lost an output no longer applies.
        replacements: Updates whose new blocks are in this segment or were when it was written.
    """

    blocks: tuple[Block, ...] = ()
    tombstones: tuple[Tombstone, ...] = ()
    derivations: tuple[Derivation, ...] = ()
    replacements: tuple[Replacement, ...] = ()


class SegmentRef(Value, frozen=True, kw_only=True):
    """A snapshot's reference to one of its segments.

    Attributes:
        id: The segment.
        blocks: Number of blocks.
        rows: Rows in the blocks, deleted ones included.
        deleted: Rows that the segment's tombstones delete, in any segment of the snapshot.
        bytes: Size of the block files.
    """

    id: SegmentId
    blocks: int
    rows: int
    deleted: int = 0
    bytes: int = 0
