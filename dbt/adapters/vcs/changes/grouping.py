"""Grouping: equal values to equal numbers, column by column, in numpy.

| values                     | equal if                                                    |
|----------------------------|-------------------------------------------------------------|
| NULL                       | NULL                                                        |
| NaN                        | NaN, whatever its bits                                      |
| -0.0                       | 0.0                                                         |
| decimals                   | equal in value: both are at the column's scale              |
| text, binary               | the same bytes                                              |
| timestamps                 | the same instant                                            |
| structs                    | equal field by field                                        |
| arrays                     | equal element by element, in order                          |
| maps                       | equal entry by entry, in any order                          |

A nested value is made the sequence of its elements' numbers, and these bytes are numbered. So
the comparison is exact, and no table of large values is held.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Codes = npt.NDArray[np.int64]

_LARGEST: Final = 2**62


def group_ids(columns: Sequence[pa.ChunkedArray], rows: int) -> Codes:
    """Return a number for each row, the same for rows equal in all columns, dense from 0."""
    found = np.zeros(rows, np.int64)
    size = 1
    for column in columns:
        codes = codes_of(column)
        width = int(codes.max(initial=0)) + 1
        if size * width > _LARGEST:
            found = _dense(found)
            size = int(found.max(initial=0)) + 1
        found = found * width + codes
        size *= width
    return _dense(found)


def equal_pairs(
    columns: Iterable[pa.ChunkedArray], one: Codes, other: Codes
) -> npt.NDArray[np.bool_]:
    """Tell for pairs of rows whether they are equal in all columns, as `group_ids` has it.

    Args:
        columns: The rows' columns.
        one: The number of a row for each pair.
        other: The number of the row that it is compared with.
    """
    equal = np.ones(len(one), np.bool_)
    # Numbers are compared faster than texts, and pairs that differ are not compared again.
    for column in sorted(columns, key=lambda column: not pa.types.is_primitive(column.type)):
        left = np.flatnonzero(equal)
        if not len(left):
            break
        sides = [column.take(pa.array(side[left])) for side in (one, other)]
        codes = codes_of(pa.chunked_array([chunk for side in sides for chunk in side.chunks]))
        equal[left] = codes[: len(left)] == codes[len(left) :]
    return equal


def codes_of(column: Any) -> Codes:
    """Return a number for each value of an Arrow array, the same for equal ones, below its length.

    NULL has a number, too.
    """
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    type_ = column.type
    if pa.types.is_map(type_):
        entry = pa.struct([("key", type_.key_type), ("value", type_.item_type)])
        return _list_codes(column.cast(pa.list_(entry)), ordered=False)
    if pa.types.is_list(type_):
        return _list_codes(column, ordered=True)
    if pa.types.is_struct(type_):
        parts = [pc.is_null(column), *column.flatten()]
        return group_ids(parts, len(column))
    if pa.types.is_null(type_):
        return np.zeros(len(column), np.int64)
    if pa.types.is_floating(type_):
        nan = pa.scalar(float("nan"), type_)
        column = pc.if_else(pc.is_nan(column), nan, pc.add(column, pa.scalar(0.0, type_)))
    return _encoded(column)


def _list_codes(column: Any, *, ordered: bool) -> Codes:
    items = column.flatten()
    lengths = pc.fill_null(pc.list_value_length(column), 0).to_numpy(zero_copy_only=False)
    codes = codes_of(items)
    if not ordered:
        owner = np.repeat(np.arange(len(column)), lengths)
        codes = codes[np.lexsort((codes, owner))]
    ends = np.concatenate([[0], np.cumsum(lengths)]) * codes.itemsize
    texts = pa.LargeBinaryArray.from_buffers(
        pa.large_binary(),
        len(column),
        [None, pa.py_buffer(ends.astype(np.int64)), pa.py_buffer(np.ascontiguousarray(codes))],
    )
    return _encoded(pc.if_else(pc.is_null(column), pa.scalar(None, pa.large_binary()), texts))


def _encoded(column: Any) -> Codes:
    indices = pc.dictionary_encode(column, null_encoding="encode").indices
    return np.asarray(indices.to_numpy(zero_copy_only=False), dtype=np.int64)


def _dense(codes: Codes) -> Codes:
    return _encoded(pa.array(codes))
