"""Bitmaps are Roaring's, whoever writes them."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyroaring import BitMap64

from dbt.adapters.vcs.table.position_bitmaps import bitmap_bytes, bitmap_positions

MOST = 1_000_000


@st.composite
def positions(draw: st.DrawFn) -> list[int]:
    """Draw sets with containers of each kind: few numbers, many, and runs."""
    starts = st.sampled_from([0, 65_530, 131_072, 2**32 - 3, 2**32, 2**33 + 65_530, 2**40])
    spans = st.tuples(starts, st.integers(0, 5_000), st.integers(1, 3))
    found = set(draw(st.sets(st.integers(0, 2**41), max_size=20)))
    for start, length, step in draw(st.lists(spans, max_size=3)):
        found.update(range(start, start + length * step, step))
    return sorted(found)


def read(data: bytes, most: int = MOST) -> list[int]:
    found = bitmap_positions(data, most)
    assert found.dtype == np.int64
    return found.tolist()


@given(positions())
def test_what_is_written_is_read_here_and_by_another_library(values: list[int]) -> None:
    data = bitmap_bytes(np.array(values, np.int64))
    assert read(data) == values
    assert list(BitMap64.deserialize(data)) == values


@given(positions(), st.booleans())
def test_what_another_library_writes_is_read(values: list[int], with_runs: bool) -> None:
    written = BitMap64(values)
    if with_runs:
        written.run_optimize()
    assert read(written.serialize()) == values


@given(positions(), st.data())
def test_a_bitmap_that_is_cut_or_goes_on_is_refused(
    values: list[int], data: st.DataObject
) -> None:
    whole = BitMap64(values)
    whole.run_optimize()
    stored = whole.serialize()
    end = data.draw(st.integers(0, len(stored) - 1))
    with pytest.raises(ValueError):
        read(stored[:end])
    with pytest.raises(ValueError, match="goes on for 1 bytes"):
        read(stored + b"\0")


@given(st.binary(max_size=200))
def test_other_bytes_are_refused_or_read_without_another_error(data: bytes) -> None:
    try:
        found = read(struct.pack("<Q", 1) + data)
    except ValueError:
        return
    assert found == sorted(set(found))


def small(*parts: bytes, key: int = 0, count: int = 1) -> bytes:
    return struct.pack("<QI", count, key) + b"".join(parts)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (small(struct.pack("<I", 7)), "begins with 7"),
        (small(struct.pack("<IIHHI2H", 12346, 1, 0, 1, 16, 5, 5)), "other numbers"),
        (small(struct.pack("<IIHHI", 12346, 1, 0, 4999, 16), bytes(8192)), "other numbers"),
        (small(struct.pack("<IIHHHHIIHH", 12346, 2, 1, 0, 1, 0, 24, 26, 5, 6)), "containers"),
        (small(struct.pack("<IBHHHHH", 12347, 1, 0, 9, 1, 65_530, 9)), "runs"),
        (small(struct.pack("<IBHHHHHHH", 12347, 1, 0, 9, 2, 0, 4, 4, 4)), "runs"),
        (small(struct.pack("<IBHHHHH", 12347, 1, 0, 8, 1, 0, 9)), "other numbers"),
        (small(struct.pack("<III", 12346, 0, 0), struct.pack("<II", 12346, 0), count=2), "order"),
    ],
)
def test_a_bitmap_that_says_two_things_is_refused(data: bytes, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        read(data)


def test_a_small_file_that_stands_for_many_positions_is_refused() -> None:
    written = BitMap64(range(20_000_000))
    written.run_optimize()
    data = written.serialize()
    assert len(data) < 10_000
    with pytest.raises(ValueError, match="more positions"):
        read(data)
