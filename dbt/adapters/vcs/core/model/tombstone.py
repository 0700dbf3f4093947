"""A tombstone: an immutable Parquet file of deleted row positions with their before-images."""

from __future__ import annotations

from dbt.adapters.vcs.core.model.value import Value

FILE_COLUMN = "__vcs_file"
"""Column of a tombstone file: path of the block, relative to the repository."""

POSITION_COLUMN = "__vcs_pos"
"""Column of a tombstone file: position of the row in the block, from 0."""


class Tombstone(Value, frozen=True, kw_only=True):
    """One file of deletions, as far as a snapshot makes use of it.

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
