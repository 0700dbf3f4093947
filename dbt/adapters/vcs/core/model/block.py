"""A block: one immutable Parquet file and what its footer told."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from dbt.adapters.vcs.core.model.value import Value

Scalar: TypeAlias = bool | int | float | str | None
"""How a bound is written: dates as days, timestamps as microseconds, decimals as text."""


class ColumnStats(NamedTuple):
    """Bounds of one column in one block.

    `min` and `max` are None where the file gives none; a text bound may be shortened, and is
    then still a bound. `nulls` is -1 where the file doesn't tell.
    """

    min: Scalar
    max: Scalar
    nulls: int


class Block(Value, frozen=True, kw_only=True):
    """One Parquet file of rows.

    Attributes:
        path: Where it lies, relative to the repository; unique, so it is the block's identity.
        rows: Rows in the file, deleted ones included.
        bytes: Size of the file.
        partition: Partition values by field id, as text; None is NULL.
        stats: Bounds by field id; columns without any are left out.
    """

    path: str
    rows: int
    bytes: int
    partition: dict[str, str | None] = {}
    stats: dict[str, ColumnStats] = {}
