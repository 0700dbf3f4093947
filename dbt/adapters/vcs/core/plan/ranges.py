"""Ranges: whether two files may hold rows equal in some columns, by their bounds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any, NamedTuple, TypeAlias

from dbt.adapters.vcs.core.model import ColumnStats, Field, Scalar
from dbt.adapters.vcs.core.model.data_type import FLOATS, type_of

Bounds: TypeAlias = Mapping[str, ColumnStats]
"""What is known of a file's columns, by field id; what is not known can be anything."""


class _Range(NamedTuple):
    low: Scalar | Decimal
    high: Scalar | Decimal
    nulls: bool


def can_meet(left: Bounds, right: Bounds, columns: Iterable[Field]) -> bool:
    """Return whether two files may hold rows that are equal in all the given columns.

    | bounds of a column                        | rows can be equal in it  |
    |-------------------------------------------|--------------------------|
    | unknown or incomplete on a side           | yes                      |
    | both sides have NULLs: NULL equals NULL   | yes                      |
    | the ranges overlap                        | yes                      |
    | else                                      | no                       |
    """
    return not any(_are_apart(left, right, field) for field in columns)


def hull(parts: Sequence[Bounds], columns: Iterable[Field]) -> Bounds:
    """Return bounds that hold in all of the files, at least one of which is given."""
    found: dict[str, ColumnStats] = {}
    for field in columns:
        ranges = [_range(part, field) for part in parts]
        known = [item for item in ranges if item is not None]
        kinds = {type(bound) for item in known for bound in (item.low, item.high)}
        if len(known) == len(ranges) and len(kinds) == 1:
            low: Any = min(item.low for item in known)  # type: ignore[type-var]
            high: Any = max(item.high for item in known)  # type: ignore[type-var]
            found[field.id] = ColumnStats(low, high, int(any(item.nulls for item in known)))
    return found


def _are_apart(left: Bounds, right: Bounds, field: Field) -> bool:
    one, other = _range(left, field), _range(right, field)
    if one is None or other is None or (one.nulls and other.nulls):
        return False
    try:
        return bool(one.high < other.low or other.high < one.low)  # type: ignore[operator]
    except TypeError:
        # The bounds have two types: the column's type changed between the files.
        return False


def _range(bounds: Bounds, field: Field) -> _Range | None:
    stats = bounds.get(field.id)
    if stats is None or stats.min is None or stats.max is None:
        return None
    kind = type_of(field.type).kind
    if kind in FLOATS:
        # Their bounds leave out values: none includes NaN.
        return None
    if kind == "decimal":
        return _Range(Decimal(str(stats.min)), Decimal(str(stats.max)), stats.nulls != 0)
    return _Range(stats.min, stats.max, stats.nulls != 0)
