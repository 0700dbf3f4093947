import math
import struct
from collections.abc import Iterator
from decimal import Decimal
from itertools import islice
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from dbt.adapters.vcs.table.compare.located import ranks, sums
from dbt.adapters.vcs.table.equality import (
    codes_of,
    equal_pairs,
    equal_rows,
    group_ids,
    group_in_steps,
    ids_within,
)

NAN = float("nan")
OTHER_NAN = struct.unpack("<d", struct.pack("<Q", 0xFFF8000000000001))[0]


def classes(values: Any, type_: pa.DataType) -> list[int]:
    """Return for each value the place of the first one that is equal."""
    codes = codes_of(pa.array(values, type_)).tolist()
    return [codes.index(code) for code in codes]


@pytest.mark.parametrize(
    ("values", "type_", "expected"),
    [
        ([1, None, 1, None, 2], pa.int64(), [0, 1, 0, 1, 4]),
        ([0.0, -0.0, math.nan, OTHER_NAN, None, -math.nan], pa.float64(), [0, 0, 2, 2, 4, 2]),
        ([0.0, -0.0, math.nan], pa.float32(), [0, 0, 2]),
        ([Decimal("1.50"), Decimal("1.5"), Decimal("1.51")], pa.decimal128(5, 2), [0, 0, 2]),
        (["a", "A", "a\0", "", None], pa.string(), [0, 1, 2, 3, 4]),
        ([b"\x00", b"", b"\x00\x00", None], pa.binary(), [0, 1, 2, 3]),
        ([True, False, None, True], pa.bool_(), [0, 1, 2, 0]),
        ([None, None], pa.null(), [0, 0]),
        ([[1, 2], [2, 1], [1, 2], [], None, [None]], pa.list_(pa.int8()), [0, 1, 0, 3, 4, 5]),
        ([[0.0], [-0.0], [math.nan], [OTHER_NAN]], pa.list_(pa.float64()), [0, 0, 2, 2]),
        (
            [{"a": 1, "b": None}, {"a": 1, "b": "x"}, None, {"a": 1, "b": None}],
            pa.struct([("a", pa.int8()), ("b", pa.string())]),
            [0, 1, 2, 0],
        ),
        ([{"a": None}, None, {"a": None}], pa.struct([("a", pa.int8())]), [0, 1, 0]),
        (
            [[("a", 1), ("b", 2)], [("b", 2), ("a", 1)], [("a", 2), ("b", 1)], [], None],
            pa.map_(pa.string(), pa.int8()),
            [0, 0, 2, 3, 4],
        ),
        (
            [[{"m": [("a", 0.0), ("b", None)]}], [{"m": [("b", None), ("a", -0.0)]}], [None]],
            pa.list_(pa.struct([("m", pa.map_(pa.string(), pa.float64()))])),
            [0, 0, 2],
        ),
    ],
)
def test_equal_values_have_one_number(
    values: Any, type_: pa.DataType, expected: list[int]
) -> None:
    assert classes(values, type_) == expected


def test_slices_and_chunks_are_numbered_together() -> None:
    whole = pa.array([[1], [2], None, [3], [1]], pa.list_(pa.int8()))
    chunks = pa.chunked_array([whole.slice(3), whole.slice(0, 3), whole.slice(4, 0)])
    codes = codes_of(chunks).tolist()
    assert codes[1] == codes[2]
    assert len(set(codes)) == 4


@pytest.mark.parametrize(
    "type_",
    [
        pa.int8(),
        pa.int64(),
        pa.uint16(),
        pa.date32(),
        pa.timestamp("us", "UTC"),
        pa.decimal128(18, 2),
        pa.decimal128(19, 2),
    ],
    ids=str,
)
@pytest.mark.parametrize("spread", [3, 10**6])
def test_values_close_together_are_numbered_as_others_are(type_: pa.DataType, spread: int) -> None:
    width = type_.bit_width if not pa.types.is_decimal(type_) else 64
    least = 0 if pa.types.is_unsigned_integer(type_) else -1
    numbers = [least, None, 0, least + min(spread, 2 ** (width - 1) - 1), 0, None, least]
    scaled = [n if n is None or width != 64 else n * 10**9 for n in numbers]
    made = pa.array(scaled, pa.int64())
    if pa.types.is_decimal(type_):
        values = pa.array([n and Decimal(n).scaleb(-2) for n in scaled], type_)
    elif pa.types.is_date(type_):
        values = made.cast(pa.int32()).cast(type_)
    else:
        values = made.cast(type_)
    for column in (values, values[1:], values[2:5], pa.chunked_array([values[:3], values[4:]])):
        codes = codes_of(column).tolist()
        texts = [str(value) for value in column.to_pylist()]
        assert [codes.index(n) for n in codes] == [texts.index(text) for text in texts]
        assert min(codes) >= 0


def test_rows_are_equal_in_all_columns() -> None:
    columns = [pa.array([1, 1, 2, 1]), pa.array(["a", "b", "a", "a"])]
    assert group_ids(columns, 4).tolist() == [0, 1, 2, 0]
    assert group_ids([], 3).tolist() == [0, 0, 0]
    assert group_ids([pa.array([], pa.int8())], 0).tolist() == []


def test_steps_end_when_all_rows_differ() -> None:
    def steps() -> Iterator[list[pa.Array]]:
        yield [pa.array([1, 1, 2, 1, 2])]
        yield [pa.array(["a", "b", "c", "b", "c"]), pa.array([None, 5, 7, 5, 8])]
        yield [pa.array([1.0, 2.0, 3.0, 4.0, 5.0])]
        raise AssertionError("all rows differ by now")

    one, other, *_ = found = group_in_steps(steps(), 5).tolist()
    assert sorted(found) == [0, 1, 2, 3, 4]
    assert one != other
    two_steps = list(islice(steps(), 2))
    _, first, third, again, fifth = group_in_steps(two_steps, 5).tolist()
    assert first == again
    assert third != fifth


@pytest.mark.parametrize(
    "column",
    [
        pa.array([float("nan"), -0.0, None, None, 1.0, 2.0]),
        pa.array([[1], [], None, None, [2], [3]], pa.list_(pa.int8())),
        pa.array([b"1", b"", None, None, b"2", b"3"]),
    ],
    ids=lambda column: str(column.type),
)
def test_pairs_are_equal_as_groups_are(column: pa.Array) -> None:
    other = pa.array([float("nan"), 0.0]) if pa.types.is_floating(column.type) else column[:2]
    whole = pa.chunked_array([column, other])
    pairs = np.array([[0, 6], [1, 7], [2, 3], [3, 4], [4, 5], [2, 2], [0, 1]]).T
    codes = group_ids([whole], 8)
    expected = (codes[pairs[0]] == codes[pairs[1]]).tolist()
    assert equal_pairs([[whole]], *pairs).tolist() == expected
    assert expected == [True, True, True, False, False, True, False]


def test_pairs_are_equal_in_all_columns() -> None:
    columns = [
        pa.chunked_array([["x", "x"], ["x", None, None]]),
        pa.chunked_array([[1, 2], [1, 1, 1]]),
    ]
    one, other = np.array([0, 0, 0, 3, 4]), np.array([2, 1, 3, 4, 4])
    assert equal_pairs([columns], one, other).tolist() == [True, False, False, True, True]
    assert equal_pairs([columns], one[:0], other[:0]).tolist() == []
    assert equal_pairs([], one[:1], other[:1]).tolist() == [True]


@pytest.mark.parametrize(
    "values",
    [
        pa.array(["x", None, "y"]),
        pa.array([1.0, float("nan"), None]),
        pa.array([[1], None, []], pa.list_(pa.int8())),
        pa.nulls(3),
    ],
    ids=lambda values: str(values.type),
)
def test_rows_of_a_group_are_told_apart(values: pa.Array) -> None:
    rng = np.random.default_rng(1)
    for size in (0, 1, 2, 5, 40):
        groups = rng.integers(0, 1 + size // 2, size)
        same = rng.integers(0, 3, size // 2 + 1)[groups]
        columns = [
            pa.chunked_array([values.take(pa.array(indices))])
            for indices in (same, rng.integers(0, 3, size), rng.integers(0, 3, size))
        ]
        expected, found = group_ids(columns, size), ids_within(groups, columns)
        pairs = [(n, m) for n in range(size) for m in range(n) if groups[n] == groups[m]]
        assert [found[n] == found[m] for n, m in pairs] == [
            expected[n] == expected[m] for n, m in pairs
        ]


def test_columns_that_tell_no_rows_of_a_group_apart_do_not_count() -> None:
    columns = [pa.chunked_array([["x", "y", "x"]]), pa.chunked_array([[None, 1, 2]])]
    assert ids_within(np.array([0, 1, 0]), columns[:1]).tolist() == [0, 1, 0]
    one, _, other = ids_within(np.array([0, 1, 0]), columns).tolist()
    assert one != other


def test_no_column_is_asked_for_once_no_rows_of_a_group_are_equal() -> None:
    def columns() -> Iterator[pa.ChunkedArray]:
        yield pa.chunked_array([[7, 7, 7, 7]])
        yield pa.chunked_array([[1, 1, 2, 2]])
        raise AssertionError("all rows of a group differ by now")

    one, first, other, second = ids_within(np.array([0, 1, 0, 1]), columns()).tolist()
    assert one != other
    assert first != second


def test_many_columns_do_not_overflow() -> None:
    rows = 3_000
    rng = np.random.default_rng(0)
    columns = [pa.array(rng.permutation(rows)) for _ in range(12)]
    doubled = [pa.chunked_array([column, column]) for column in columns]
    codes = group_ids(doubled, 2 * rows)
    assert len(set(codes.tolist())) == rows
    assert (codes[:rows] == codes[rows:]).all()


def test_ranks_count_within_groups() -> None:
    groups = np.array([2, 0, 2, 2, 1, 0])
    assert ranks(groups).tolist() == [0, 0, 1, 2, 0, 1]
    assert ranks(np.empty(0, np.int64)).tolist() == []


def test_sums_are_whole() -> None:
    assert sums(np.array([0, 2, 2]), np.array([1, -1, -1])).tolist() == [1, 0, -2]


@pytest.mark.parametrize(
    ("type_", "old", "new", "expected"),
    [
        (pa.int64(), [1, 1, None, None], [1, 2, None, 3], [False, True, False, True]),
        (pa.float64(), [NAN, NAN, 0.0, None], [NAN, 1.0, -0.0, NAN], [False, True, False, True]),
        (pa.string(), ["a", "", "ü"], ["A", None, "ü"], [True, True, False]),
        (pa.binary(), [b"\x00", b"a"], [b"\x00", b"b"], [False, True]),
        (pa.list_(pa.int32()), [[1, None], []], [[1, None], None], [False, True]),
        (
            pa.struct([("x", pa.int32())]),
            [{"x": 1}, {"x": None}, None],
            [{"x": 1}, None, None],
            [False, True, False],
        ),
        (pa.map_(pa.string(), pa.int32()), [[("a", 1)], []], [[("a", 1)], None], [False, True]),
        (pa.list_(pa.float64()), [[NAN], [0.0]], [[NAN], [-0.0]], [False, False]),
        (
            pa.map_(pa.string(), pa.int32()),
            [[("a", 1), ("b", 2)]],
            [[("b", 2), ("a", 1)]],
            [False],
        ),
        (pa.null(), [None], [None], [False]),
        (pa.string(), [], [], []),
    ],
)  # fmt: skip
def test_values_that_differ(
    type_: pa.DataType, old: list[Any], new: list[Any], expected: list[bool]
) -> None:
    columns = [[pa.chunked_array([pa.array(values, type_)])] for values in (old, new)]
    assert (~equal_rows(*columns, len(expected))).tolist() == expected


def test_any_column_may_differ() -> None:
    same = pa.chunked_array([pa.array([1, 2])])
    nested = pa.chunked_array([pa.array([[1], [2]])])
    other = pa.chunked_array([pa.array([[1], [3]])])
    assert equal_rows([same, nested], [same, other], 2).tolist() == [True, False]
    assert equal_rows([], [], 2).tolist() == [True, True]
