"""A block: one immutable Parquet file and the contents of its footer."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from dbt.adapters.vcs.core.model.value import Value

Scalar: TypeAlias = bool | int | float | str | None
"""How a bound is written: dates as days, timestamps as microseconds, decimals as text."""


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
