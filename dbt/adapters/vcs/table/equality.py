"""Equality of values (decision 18), in this process with numpy and as SQL for Spark.

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
| VARIANT, only in Spark     | the same JSON text                                          |

In numpy, equal values get equal numbers, by column. A nested value becomes the sequence of its
elements' numbers, and these bytes are numbered. So the comparison is exact, and no table of large
values is kept. Whole numbers, times and decimals that lie close together are numbered by their
distance from the least one, without any table.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from dbt.adapters.vcs.core.model.data_type import Type, type_of
from dbt.adapters.vcs.table.quoting import quoted, sql_type

Codes = npt.NDArray[np.int64]

# Numbers of several columns are multiplied; above this they are made dense, or they overflow.
_LARGEST: Final = 2**62

# Values lie close together if they fill one of so many places between the least and the greatest,
# at least.
_SPREAD: Final = 32

# But not if there are more places than that: a byte for each has to fit into memory.
_FARTHEST: Final = 2**27

_DIGITS: Final = 18
"""Decimals of up to so many digits fit 64 bits."""


def group_ids(columns: Iterable[pa.ChunkedArray], rows: int) -> Codes:
    """Number the rows densely from 0; rows equal in all columns get the same number."""
    return _combined(np.zeros(rows, np.int64), columns, None)


def group_in_steps(steps: Iterable[Iterable[pa.ChunkedArray]], rows: int) -> Codes:
    """Do the same with columns that arrive in steps; the numbers are dense, in any order.

    Rows that already differ from all others are skipped in later steps. If no rows are left, no
    further step is requested.
    """
    numbers = np.zeros(rows, np.int64)
    # `several` are the rows that are like others so far; below `settled` all numbers are given.
    several, codes, settled = np.arange(rows), numbers, 0
    for step in steps:
        # While no row is settled, columns are used as they are: taking rows would copy them.
        codes = _combined(codes, step, several if len(several) < rows else None)
        # A row that is unlike all others stays so, whatever the next columns hold.
        alone = np.bincount(codes)[codes] == 1
        numbers[several[alone]] = np.arange(settled, settled + int(alone.sum()))
        settled += int(alone.sum())
        several, codes = several[~alone], codes[~alone]
        if not len(several):
            break
    # Rows that are alike after the last step are equal, and get the numbers that are left.
    numbers[several] = settled + _dense(codes)
    return numbers


def _combined(
    codes: Codes, columns: Iterable[pa.ChunkedArray], rows: npt.NDArray[np.int64] | None
) -> Codes:
    """Number rows densely from 0 by their present numbers and more columns."""
    width = int(codes.max(initial=0)) + 1
    for column in columns:
        found = codes_of(column if rows is None else column.take(pa.array(rows)))
        more = int(found.max(initial=0)) + 1
        # Two numbers become one as digits do, which is unique as long as it fits into 64 bits.
        if width * more > _LARGEST:
            codes = _dense(codes)
            width = int(codes.max(initial=0)) + 1
        codes, width = (found, more) if width == 1 else (codes * more + found, width * more)
    return _dense(codes)


def equal_pairs(
    steps: Iterable[Iterable[pa.ChunkedArray]], one: Codes, other: Codes
) -> npt.NDArray[np.bool_]:
    """Return a mask of the pairs of rows that are equal in all columns, as in `group_ids`.

    Once all pairs are known to differ, no further step is requested.

    Args:
        steps: The rows' columns, in steps.
        one: The number of a row for each pair.
        other: The number of the row that it is compared with.
    """
    equal = np.ones(len(one), np.bool_)
    left = np.arange(len(one))
    if not len(left):
        return equal
    # Each column is compared only for the pairs that are equal in those before it.
    for column in chain.from_iterable(steps):
        equal[left] = _equal(*(column.take(pa.array(side[left])) for side in (one, other)))
        left = left[equal[left]]
        if not len(left):
            break
    return equal


def equal_rows(
    one: Sequence[pa.ChunkedArray], other: Sequence[pa.ChunkedArray], rows: int
) -> npt.NDArray[np.bool_]:
    """Compare rows one by one; return a mask of those equal in all columns.

    Args:
        one: Columns.
        other: As many columns, of the same types.
        rows: How many rows there are.
    """
    equal = np.ones(rows, np.bool_)
    for left, right in zip(one, other, strict=True):
        equal &= _equal(left, right)
    return equal


def has_value(column: pa.ChunkedArray, value: pa.Scalar[Any]) -> pa.ChunkedArray:
    """Return a mask of the rows equal to a value of the column's type; NULL equals nothing."""
    wanted = plain(pa.repeat(pc.cast(value, column.type), 1))
    return pc.and_(pc.is_valid(column), pc.is_in(plain(column), value_set=wanted))


def ids_within(groups: Codes, columns: Iterable[pa.ChunkedArray]) -> Codes:
    """Number the rows of each group; rows of a group equal in all columns share a number.

    Numbers of different groups are not comparable. So a column's values are numbered only if rows
    of a group that were equal so far differ in it, which is cheaper to find out. Once no rows are
    equal any more, no further column is requested.

    Args:
        groups: The rows' groups.
        columns: Their columns, one after another.
    """
    found = groups
    order, together = _neighbours(found)
    rest = iter(columns)
    while together.any() and (column := next(rest, None)) is not None:
        if _differ(column, order, together):
            found = group_ids([pa.array(found), column], len(found))
            order, together = _neighbours(found)
    return found


def _neighbours(groups: Codes) -> tuple[Codes, npt.NDArray[np.bool_]]:
    """Return an order by group, and a mask of the rows that follow one of the same group."""
    order = np.argsort(groups, kind="stable")
    return order, groups[order[1:]] == groups[order[:-1]]


def _differ(column: pa.ChunkedArray, order: Codes, together: npt.NDArray[np.bool_]) -> bool:
    """Return whether a column may differ between neighbours of the same group."""
    # These can only be compared by numbering them, which the caller does next anyway.
    if _is_compared_by_code(column.type):
        return True
    sorted_ = column.take(pa.array(order))
    return not _equal(sorted_[1:], sorted_[:-1])[together].all()


def _is_compared_by_code(type_: pa.DataType) -> bool:
    # Arrow finds NaN and NaN different, and can't compare nested values.
    compared = (pa.types.is_floating, pa.types.is_nested, pa.types.is_null)
    return any(is_one(type_) for is_one in compared)


def _equal(one: pa.ChunkedArray, other: pa.ChunkedArray) -> npt.NDArray[np.bool_]:
    if _is_compared_by_code(one.type):
        codes = codes_of(pa.chunked_array([*one.chunks, *other.chunks], one.type))
        same: npt.NDArray[np.bool_] = codes[: len(one)] == codes[len(one) :]
        return same
    equal = pc.fill_null(pc.equal(one, other), pa.scalar(False))
    if one.null_count and other.null_count:
        equal = pc.or_(equal, pc.and_(pc.is_null(one), pc.is_null(other)))
    return np.asarray(equal, dtype=np.bool_)


def plain(column: Any) -> Any:
    """Return values of a plain type with a single zero and a single NaN.

    They are then equal exactly if their bits are, which is how Arrow hashes them.
    """
    if not pa.types.is_floating(column.type):
        return column
    # -0.0 + 0.0 is 0.0, and NaN has many bit patterns, which differ by how it was computed.
    nan, zero = (pa.scalar(value, column.type) for value in (float("nan"), 0.0))
    return pc.if_else(pc.is_nan(column), nan, pc.add(column, zero))


def codes_of(column: Any) -> Codes:
    """Return a number from 0 for each value of an Arrow array, the same for equal values.

    NULL has a number too. The greatest is at most a small multiple of the array's length.
    """
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    type_ = column.type
    if pa.types.is_map(type_):
        # Arrow keeps the entries in the order of their writer.
        entry = pa.struct([("key", type_.key_type), ("value", type_.item_type)])
        return _list_codes(column.cast(pa.list_(entry)), ordered=False)
    if pa.types.is_list(type_):
        return _list_codes(column, ordered=True)
    if pa.types.is_struct(type_):
        parts = [pc.is_null(column), *column.flatten()]
        return group_ids(parts, len(column))
    if pa.types.is_null(type_):
        return np.zeros(len(column), np.int64)
    return _encoded(plain(column))


def _list_codes(column: Any, *, ordered: bool) -> Codes:
    # This leaves out the items of NULL lists, so their length is 0 below.
    items = column.flatten()
    lengths = pc.fill_null(pc.list_value_length(column), 0).to_numpy(zero_copy_only=False)
    # Equal items get equal numbers first, so a list is a sequence of numbers, whatever it holds.
    codes = codes_of(items)
    if not ordered:
        owner = np.repeat(np.arange(len(column)), lengths)
        # The same entries in any order are one map (decision 18).
        codes = codes[np.lexsort((codes, owner))]
    # The sequence of numbers is taken as bytes, so that Arrow can hash it.
    ends = np.concatenate([[0], np.cumsum(lengths)]) * codes.itemsize
    texts = pa.LargeBinaryArray.from_buffers(
        pa.large_binary(),
        len(column),
        [None, pa.py_buffer(ends.astype(np.int64)), pa.py_buffer(np.ascontiguousarray(codes))],
    )
    # NULL has no items either, and is not equal to the empty list.
    return _encoded(pc.if_else(pc.is_null(column), pa.scalar(None, pa.large_binary()), texts))


def _encoded(column: Any) -> Codes:
    near = _close_together(column)
    return _hashed(column) if near is None else near


def _close_together(column: Any) -> Codes | None:
    """Return each value's distance from the least, NULLs last; None if one is too far."""
    values = _whole_numbers(column) if column.null_count < len(column) else None
    if values is None:
        return None
    present = np.asarray(column.is_valid()) if column.null_count else None
    known = values if present is None else values[present]
    low, high = int(known.min()), int(known.max())
    if high - low >= min(_SPREAD * len(column), _FARTHEST):
        return None
    codes: Codes = values.astype(np.int64) - low
    if present is not None:
        codes[~present] = high - low + 1
    return codes


def _whole_numbers(column: Any) -> npt.NDArray[Any] | None:
    """Return the whole numbers that represent the values in memory; anything for NULL."""
    type_ = column.type
    if pa.types.is_decimal128(type_) and type_.precision <= _DIGITS:
        # Two words each, the low one first; the high one repeats its sign.
        words = np.frombuffer(column.buffers()[1], np.int64)
        found = words[2 * column.offset : 2 * (column.offset + len(column)) : 2]
    elif pa.types.is_signed_integer(type_) or pa.types.is_temporal(type_):
        # Arrow counts intervals of months, days and nanoseconds as times: three numbers.
        if type_.bit_width not in (8, 16, 32, 64):
            return None
        size = np.dtype(f"int{type_.bit_width}")
        found = np.frombuffer(column.buffers()[1], size)[column.offset :][: len(column)]
    else:
        return None
    return found


def _hashed(column: Any) -> Codes:
    # NULL is a value like others here, and so has a code of its own.
    indices = pc.dictionary_encode(column, null_encoding="encode").indices
    return np.asarray(indices.to_numpy(zero_copy_only=False), dtype=np.int64)


def _dense(codes: Codes) -> Codes:
    return _hashed(pa.array(codes))


def canonical(value: str, type_: str) -> str:
    """Return SQL for a value's canonical form: Spark finds two equal exactly if the values are.

    Compare, group, join and hash values in SQL only by this form:

    | values          | Spark by itself                    | canonical                       |
    |-----------------|------------------------------------|---------------------------------|
    | NaN, -0.0       | as they should be, nested ones too | unchanged                       |
    | text            | by its collation                   | cast to the binary one          |
    | maps            | not compared, and not hashed       | their entries, in order of keys |
    | VARIANT         | not compared                       | their JSON text                 |
    | arrays, structs | by content                         | content, as this table says     |

    Args:
        value: SQL of the value, not NULL without a type.
        type_: The text of its type.
    """
    return _canonical(value, type_of(type_), 0)


def differs(one: str, other: str, type_: str) -> str:
    """Return SQL for whether two values of a type differ; never NULL."""
    return f"not ({equals(one, other, type_)})"


def equals(one: str, other: str, type_: str) -> str:
    """Return SQL for whether two values of a type are equal; never NULL."""
    return f"{canonical(one, type_)} <=> {canonical(other, type_)}"


def _canonical(value: str, type_: Type, depth: int) -> str:
    kinds = {part.kind for part in type_.whole()}
    if not kinds & {"map", "variant"}:
        is_collated = any(part.collation for part in type_.whole())
        binary = sql_type(str(type_.binary()))
        return f"cast({value} as {binary})" if is_collated else value
    if type_.kind == "variant":
        return f"to_json({value})"
    # Lambdas are nested as the types are, so each level has a variable of its own.
    item = f"__vcs_item{depth}"
    if type_.kind == "array":
        return f"transform({value}, {item} -> {_canonical(item, type_.parts[0], depth + 1)})"
    if type_.kind == "map":
        entry = zip((f"{item}.key", f"{item}.value"), type_.parts, strict=True)
        pair = ", ".join(_canonical(part, of, depth + 1) for part, of in entry)
        return f"sort_array(transform(map_entries({value}), {item} -> struct({pair})))"
    fields = zip(type_.names, type_.parts, strict=True)
    parts = (_canonical(f"{value}.{quoted(name)}", of, depth + 1) for name, of in fields)
    # A NULL struct is another value than a struct of NULLs.
    return f"if({value} is null, null, struct({', '.join(parts)}))"
