"""Column statistics from manifests, in the form that Spark shows them."""

from __future__ import annotations

from decimal import Decimal
from typing import Final

from dbt.adapters.vcs.core.model import Block, ColumnStats, Field, Scalar, Snapshot
from dbt.adapters.vcs.core.model.data_type import type_of
from dbt.adapters.vcs.rows.python_values import date_text, moment_text
from dbt.adapters.vcs.worktree.overlay import Overlay
from dbt.adapters.vcs.worktree.table_version import Version

NULL: Final = "NULL"
"""What Spark shows for an unknown value."""

_NAMES: Final = ("min", "max", "num_nulls", "distinct_count", "avg_col_len", "max_col_len")

UNKNOWN: Final = [(name, NULL) for name in (*_NAMES, "histogram")]
"""The statistics of a column about which nothing is known."""

_LENGTHS: Final = {
    "boolean": 1, "tinyint": 1, "smallint": 2, "int": 4, "bigint": 8, "date": 4,
    "timestamp": 8, "timestamp_ntz": 8, "float": 4, "double": 8,
}  # fmt: skip
"""Bytes that Spark counts per value."""

_BOUNDED: Final = {*_LENGTHS, "decimal"} - {"float", "double"}
"""Types whose bounds in a block are values of the column.

Bounds of text may be truncated, and those of floats exclude NaN.
"""


def facts_of(overlay: Overlay, snapshot: Snapshot, field: Field) -> list[tuple[str, str]]:
    """Return the statistics of a column as names and values, `NULL` if not known.

    Bounds and counts are exact. Those that deleted rows or missing block statistics make
    uncertain are `NULL`.
    """
    version = Version.of(overlay.repository, snapshot)
    holed = set(version.deleted)
    blocks = list(version.blocks)
    known = dict(UNKNOWN)
    if type_of(field.type).kind in _BOUNDED and not holed:
        low, high = _bounds(blocks, field)
        known |= {"min": low, "max": high}
    known["num_nulls"] = _nulls(blocks, field, holed)
    length = _length(field.type)
    known |= {"avg_col_len": length, "max_col_len": length}
    more = [] if field.default is None else [("default", field.default)]
    return [*known.items(), *more]


def _bounds(blocks: list[Block], field: Field) -> tuple[str, str]:
    stats = [block.stats.get(field.id) for block in blocks]
    known = [item for item in stats if item is not None and item.min is not None]
    empty = [
        item is not None and item.nulls == block.rows
        for item, block in zip(stats, blocks, strict=True)
    ]
    if not known or len(known) + sum(empty) < len(blocks):
        return NULL, NULL
    lows = [_value(item.min, field.type) for item in known]
    highs = [_value(item.max, field.type) for item in known]
    return _shown(min(lows), field.type), _shown(max(highs), field.type)


def _nulls(blocks: list[Block], field: Field, holed: set[str]) -> str:
    count = 0
    for block in blocks:
        stats: ColumnStats | None = block.stats.get(field.id)
        if stats is None or stats.nulls < 0 or (stats.nulls and block.path in holed):
            return NULL
        count += stats.nulls
    return str(count)


def _value(bound: Scalar, type_: str) -> Decimal | int:
    if type_of(type_).kind == "decimal":
        return Decimal(str(bound))
    return int(bound or 0)


def _shown(value: Decimal | int, type_: str) -> str:
    """Return a value in the form that Spark writes into a catalog."""
    kind = type_of(type_).kind
    if kind == "boolean":
        return str(bool(value)).lower()
    if kind == "date":
        return date_text(int(value))
    if kind in ("timestamp", "timestamp_ntz"):
        text = moment_text(int(value), fraction=True)
        return f"{text} +0000" if kind == "timestamp" else text
    return str(value)


def _length(type_: str) -> str:
    found = type_of(type_)
    if found.kind == "decimal":
        return "8" if found.precision <= 18 else "16"
    return str(_LENGTHS.get(found.kind, NULL))
