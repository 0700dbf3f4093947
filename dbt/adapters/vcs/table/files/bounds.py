"""Bounds of one column, as the plain scalars that a block keeps."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from datetime import date, datetime, timezone
from decimal import Decimal, InvalidOperation
from typing import Any, Final

from dbt.adapters.vcs.core.ids import micros_of
from dbt.adapters.vcs.core.model import ColumnStats, Scalar
from dbt.adapters.vcs.core.model.data_type import FLOATS, INTEGERS, TEXTS, TIMESTAMPS, type_of

TEXT_LENGTH: Final = 64
"""A text bound has at most this many characters."""

_PER_MICRO: Final = {"milliseconds": (1_000, 1), "microseconds": (1, 1), "nanoseconds": (1, 1_000)}
_EPOCH_DAY: Final = date(1970, 1, 1).toordinal()


def stats_of_chunks(type_: str, chunks: Sequence[Any], leaf: Any) -> ColumnStats:
    """Return the bounds of one column over a file's row groups.

    Args:
        type_: The field's type text.
        chunks: pyarrow's column chunks, one a row group.
        leaf: pyarrow's schema of the column.
    """
    nulls = 0
    lows: list[Any] = []
    highs: list[Any] = []
    for chunk in chunks:
        stats = chunk.statistics
        if stats is None or not stats.has_null_count:
            nulls = -1
        elif stats.null_count == chunk.num_values:
            nulls += stats.null_count if nulls >= 0 else 0
            continue
        elif nulls >= 0:
            nulls += stats.null_count
        low, high = (None, None) if stats is None else _bounds(type_of(type_).kind, stats, leaf)
        lows.append(low)
        highs.append(high)
    return ColumnStats(_overall(min, lows), _overall(max, highs), nulls)


def stats_of_partition(type_: str, text: str | None, rows: int) -> ColumnStats:
    """Return the bounds of a partition column, given its value as text in the folder name."""
    if text is None:
        return ColumnStats(None, None, rows)
    try:
        value = _scalar_of_text(type_of(type_).kind, text)
    except (ValueError, InvalidOperation):
        value = None
    if isinstance(value, str) and type_of(type_).kind in TEXTS:
        return ColumnStats(shortened(value), raised(value), 0)
    return ColumnStats(value, value, 0)


def shortened(text: str) -> str:
    """Return a lower bound of a text, by code points, that is short enough to keep."""
    return text[:TEXT_LENGTH]


def raised(text: str) -> str | None:
    """Return an upper bound of a text that is short enough to keep, or None if there is none."""
    if len(text) <= TEXT_LENGTH:
        return text
    head = text[:TEXT_LENGTH]
    while head:
        point = ord(head[-1]) + 1
        if 0xD800 <= point <= 0xDFFF:
            point = 0xE000
        if point <= 0x10FFFF:
            return head[:-1] + chr(point)
        head = head[:-1]
    return None


def _bounds(kind: str, stats: Any, leaf: Any) -> tuple[Any, Any]:
    """Return the bounds in one row group as comparable values; None if there are none."""
    if not stats.has_min_max:
        return None, None
    if kind in TIMESTAMPS:
        return _timestamp_bounds(stats, leaf)
    if kind in INTEGERS or kind == "date":
        return int(stats.min_raw), int(stats.max_raw)
    if kind in FLOATS:
        low, high = float(stats.min_raw), float(stats.max_raw)
        if math.isnan(low) or math.isnan(high):
            return None, None
        return (low if math.isfinite(low) else None), (high if math.isfinite(high) else None)
    if kind == "boolean":
        return bool(stats.min_raw), bool(stats.max_raw)
    if kind == "decimal":
        return _decimal_bounds(stats, leaf)
    if kind in TEXTS:
        try:
            return shortened(_text(stats.min_raw)), raised(_text(stats.max_raw))
        except UnicodeDecodeError:
            return None, None
    return None, None


def _decimal_bounds(stats: Any, leaf: Any) -> tuple[Decimal, Decimal]:
    if leaf.physical_type not in ("INT32", "INT64"):
        return stats.min, stats.max
    # Older releases of Arrow have bounds only of those stored as bytes.
    least, most = Decimal(stats.min_raw), Decimal(stats.max_raw)
    return least.scaleb(-leaf.scale), most.scaleb(-leaf.scale)


def _timestamp_bounds(stats: Any, leaf: Any) -> tuple[int | None, int | None]:
    unit = json.loads(leaf.logical_type.to_json()).get("timeUnit")
    if leaf.physical_type != "INT64" or unit not in _PER_MICRO:
        return None, None
    times, per = _PER_MICRO[unit]
    return int(stats.min_raw) * times // per, -(-int(stats.max_raw) * times // per)


def _text(raw: Any) -> str:
    return raw if isinstance(raw, str) else bytes(raw).decode("utf-8")


def _overall(pick: Callable[[list[Any]], Any], bounds: list[Any]) -> Scalar:
    """Return the bound of all row groups, or None if one of them has none."""
    if not bounds or None in bounds:
        return None
    bound: Scalar = pick(bounds)
    return f"{bound:f}" if isinstance(bound, Decimal) else bound


def _scalar_of_text(kind: str, text: str) -> Scalar:
    if kind in INTEGERS:
        return int(text)
    if kind in TEXTS:
        return text
    if kind == "date":
        return date.fromisoformat(text).toordinal() - _EPOCH_DAY
    if kind in TIMESTAMPS:
        return micros_of(datetime.fromisoformat(_padded(text)).replace(tzinfo=timezone.utc))
    if kind == "decimal":
        return f"{Decimal(text):f}"
    if kind == "boolean":
        return text == "true"
    return None


def _padded(text: str) -> str:
    """Return a timestamp with six digits after the point, which Python 3.10 requires."""
    head, point, fraction = text.partition(".")
    return head + point + fraction.ljust(6, "0") if point else head
