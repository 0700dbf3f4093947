"""Which columns of a Parquet file get statistics: those whose bounds hold every value.

Arrow ignores NaN in a column's bounds. Spark, which sorts NaN above all other numbers, then skips
row groups with NaN when it looks for NaN or for large numbers.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc


def measured_columns(rows: pa.Table) -> frozenset[str]:
    """Return the paths of the leaf columns whose bounds hold every value of these rows.

    These are all columns but floating-point ones that mix NaN with numbers or are nested.
    """
    return frozenset(
        path
        for field, column in zip(rows.schema, rows.columns, strict=True)
        for path, type_ in leaves(field.name, field.type)
        if not pa.types.is_floating(type_) or (path == field.name and not _leaves_out(column))
    )


def _leaves_out(column: pa.ChunkedArray) -> bool:
    """Return whether bounds would omit values; a column of only NaN has none, which is safe."""
    found = pc.unique(pc.is_nan(column.drop_null()))
    return len(found) > 1


def leaves(path: str, type_: pa.DataType) -> Iterator[tuple[str, pa.DataType]]:
    """Yield path and type of each leaf column that Parquet keeps for a value."""
    if pa.types.is_struct(type_):
        for field in type_:
            yield from leaves(f"{path}.{field.name}", field.type)
    elif pa.types.is_map(type_):
        yield from leaves(f"{path}.key_value.key", type_.key_type)
        yield from leaves(f"{path}.key_value.value", type_.item_type)
    elif pa.types.is_list(type_) or pa.types.is_large_list(type_):
        yield from leaves(f"{path}.list.element", type_.value_type)
    else:
        yield path, type_
