"""Which columns of a Parquet file get a dictionary: those whose values repeat.

A dictionary of values that hardly repeat is filled, found too large and given up, in each row
group. That takes longer than to write the values, and leaves a larger file.
"""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from dbt.adapters.vcs.rows.files.column_stats import leaves

_SAMPLES: Final = 20
_SAMPLE: Final = 1_000
"""How many pieces of a table are looked at, and the rows of each: neighbours may be alike."""

_MOST: Final = 0.5
"""The most different values, as a part of those looked at."""


def repeating_columns(rows: pa.Table) -> frozenset[str]:
    """Return the paths of the leaf columns that get a dictionary.

    These are all columns but those not nested of which a sample has mostly different values.
    """
    return frozenset(
        path
        for field, column in zip(rows.schema, rows.columns, strict=True)
        for path, _ in leaves(field.name, field.type)
        if path != field.name or _repeats(column)
    )


def _repeats(column: pa.ChunkedArray) -> bool:
    count = len(column)
    if count <= _SAMPLES * _SAMPLE:
        return True
    starts = range(0, count - _SAMPLE, count // _SAMPLES)
    chunks = [chunk for start in starts for chunk in column.slice(start, _SAMPLE).chunks]
    sample = pa.chunked_array(chunks, column.type)
    return len(sample.unique()) <= _MOST * len(sample)
