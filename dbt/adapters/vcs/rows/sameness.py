"""Equality of values column by column, as DESIGN's `Equality` has it, without Spark.

NULL equals NULL, NaN equals NaN, -0.0 equals 0.0. Nested values are compared in Python, where
nothing else differs; NaN inside them, and another order of a map, are taken for a difference.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc


def changed_rows(
    old: Sequence[pa.ChunkedArray], new: Sequence[pa.ChunkedArray], rows: int
) -> pa.Array:
    """Return, for each row, whether any column's new value is another one than the old.

    Args:
        old: Columns.
        new: Columns of the same types.
        rows: How many there are.
    """
    changed = pa.repeat(pa.scalar(False), rows)
    nested = []
    for before, after in zip(old, new, strict=True):
        if pa.types.is_nested(before.type):
            nested.append((before, after))
        else:
            changed = pc.or_(changed, _differs(_flat(before), _flat(after)))
    for before, after in nested:
        told = changed.to_pylist()
        equal = pa.array(
            (row for row, is_changed in enumerate(told) if not is_changed), pa.int64()
        )
        values = zip(before.take(equal).to_pylist(), after.take(equal).to_pylist(), strict=True)
        for row, (one, other) in zip(equal, values, strict=True):
            told[row] = one != other
        changed = pa.array(told, pa.bool_())
    return changed


def _flat(column: pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def _differs(old: pa.Array, new: pa.Array) -> pa.Array:
    if pa.types.is_null(old.type):
        return pa.repeat(False, len(old))
    equal = pc.fill_null(pc.equal(old, new), False)
    equal = pc.or_(equal, pc.and_(pc.is_null(old), pc.is_null(new)))
    if pa.types.is_floating(old.type):
        nan = pc.and_(pc.is_nan(old), pc.is_nan(new))
        equal = pc.or_(equal, pc.fill_null(nan, False))
    return pc.invert(equal)
