"""A segment: an immutable list of blocks and tombstones, shared between snapshots by id."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from dbt.adapters.vcs.core.ids import SegmentId
from dbt.adapters.vcs.core.model.value import Value

FILE_COLUMN = "__vcs_file"
"""Column of a tombstone file: path of the block, relative to the repository."""

POSITION_COLUMN = "__vcs_pos"
"""Column of a tombstone file: position of the row in the block, from 0."""

Scalar: TypeAlias = bool | int | float | str | None
"""How a bound is written: dates as days, timestamps as microseconds, decimals as text."""


class Tombstone(Value, frozen=True, kw_only=True):
    """One Parquet file of deleted rows, places and before-images, as far as a snapshot uses it.

    Its rows are `(__vcs_file, __vcs_pos, <all columns of the deleted row, by field id>)`, sorted
    by the first two. Within a snapshot each row is deleted once, and every target is a block of
    the snapshot. When a target leaves the snapshot, the tombstone's entry is replaced by one
    without it, and readers skip those rows of the file.

    Attributes:
        path: Relative to the repository.
        bytes: Size of the file.
        targets: Rows that it deletes, by path of the block.
        footer: Digest of the file's footer; empty in entries of before there were digests.
        whole: Digest of the whole file; empty unless all its bytes were at hand.
    """

    path: str
    bytes: int
    targets: dict[str, int]
    footer: str = ""
    whole: str = ""

    @property
    def rows(self) -> int:
        """Rows that it deletes."""
        return sum(self.targets.values())


class ColumnStats(NamedTuple):
    """Bounds of one column in one block.

    `min` and `max` are None if the file has none; a text bound may be shortened, and is still a
    bound then. `nulls` is -1 if unknown.
    """

    min: Scalar
    max: Scalar
    nulls: int


class Block(Value, frozen=True, kw_only=True):
    """One Parquet file of rows.

    Attributes:
        path: Relative to the repository; unique, so it is the block's identity.
        rows: Rows in the file, deleted ones included.
        bytes: Size of the file.
        partition: Partition values by field id, as text; None is NULL.
        stats: Bounds by field id, without columns that have none.
        footer: Digest of the file's footer; empty in entries of before there were digests.
        whole: Digest of the whole file; empty unless all its bytes were at hand.
    """

    path: str
    rows: int
    bytes: int
    partition: dict[str, str | None] = {}
    stats: dict[str, ColumnStats] = {}
    footer: str = ""
    whole: str = ""


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
