"""A tombstone: an immutable Parquet file of deleted row positions with their before-images."""

from __future__ import annotations

from dbt.adapters.vcs.core.model.value import Value


class Tombstone(Value, frozen=True, kw_only=True):
    """One file of deletions, its rows `(file, pos, <all columns of the deleted row>)`.

    Attributes:
        path: Where it lies, relative to the repository; unique.
        rows: Rows that it deletes.
        bytes: Size of the file.
        targets: Paths of the blocks that it deletes from.
    """

    path: str
    rows: int
    bytes: int
    targets: tuple[str, ...]
