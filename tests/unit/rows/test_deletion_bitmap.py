"""Bitmaps of deleted rows: a row is marked just if it was deleted."""

from __future__ import annotations

from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbt.adapters.vcs.core.errors import DamagedError
from dbt.adapters.vcs.table import row_numbers
from dbt.adapters.vcs.table.row_numbers import (
    CHUNK_BITS,
    UNIT,
    WORD_BITS,
    DeletionBitmap,
    FileNumbers,
    deletion_bitmap,
    number_count,
    text_size,
)

SIZES = st.integers(1, 3_000)


@st.composite
def files(draw: st.DrawFn) -> tuple[dict[str, int], dict[str, set[int]]]:
    """Rows of some files, and positions of some that are deleted."""
    rows = {f"f{n}": size for n, size in enumerate(draw(st.lists(SIZES, min_size=1, max_size=4)))}
    deleted = {
        file: draw(st.sets(st.integers(0, size - 1), max_size=30)) for file, size in rows.items()
    }
    return rows, {file: found for file, found in deleted.items() if found or draw(st.booleans())}


def is_marked(bitmap: DeletionBitmap, number: int, position: int) -> bool:
    """Look a row up as a scan does."""
    place = number >> WORD_BITS
    if bitmap.chunks is not None:
        place = int(bitmap.chunks[number >> CHUNK_BITS]) + ((position >> WORD_BITS) & 7)
    word = int(bitmap.words[place])
    return bool((word >> (position & 63)) & 1)


@given(files(), st.booleans())
def test_a_row_is_marked_just_if_it_was_deleted(
    made: tuple[dict[str, int], dict[str, set[int]]], in_chunks: bool
) -> None:
    rows, deleted = made
    with mock.patch.object(row_numbers, "_MAX_PLAIN", 0 if in_chunks else 1_000_000):
        files = FileNumbers.of(rows)
    bitmap = deletion_bitmap(
        files, {file: np.array(sorted(found), np.int64) for file, found in deleted.items()}
    )
    assert (bitmap.chunks is not None) == in_chunks
    numbers = []
    for file, size in rows.items():
        assert files.first[file] % UNIT == 0
        for position in range(size):
            number = files.first[file] + position
            numbers.append(number)
            assert is_marked(bitmap, number, position) == (position in deleted.get(file, ()))
    assert len(set(numbers)) == len(numbers)
    assert max(numbers) < files.end


def test_few_deleted_rows_of_many_need_few_words() -> None:
    deleted = np.array([5, 700_000], np.int64)
    bitmap = deletion_bitmap(FileNumbers.of({"f": 10_000_000}), {"f": deleted})
    assert bitmap.chunks is not None
    assert len(bitmap.chunks) == 157 * 64_000 / 512
    assert len(bitmap.words) == 3 * 8


@pytest.mark.parametrize("position", [-1, 3, 5_000])
def test_a_position_that_is_no_row_of_its_file_is_refused(position: int) -> None:
    with pytest.raises(DamagedError, match=r"of f, which has 3 rows"):
        deletion_bitmap(FileNumbers.of({"f": 3, "g": 9}), {"f": np.array([position], np.int64)})


ROWS_AND_COUNTS = [(100_000, 10), (1_000_000, 5_000), (300_000, 90_000), (20_000_000, 9_000)]


@pytest.mark.parametrize(("rows", "count"), ROWS_AND_COUNTS)
def test_a_bitmap_is_hardly_larger_than_foretold(rows: int, count: int) -> None:
    deleted = np.sort(np.random.default_rng(1).choice(rows, count, replace=False))
    files = FileNumbers.of({"f": rows})
    bitmap = deletion_bitmap(files, {"f": deleted})
    parts = [bitmap.words] if bitmap.chunks is None else [bitmap.chunks, bitmap.words]
    numbers = sum(map(len, parts))
    assert numbers <= number_count(files, count) <= 1.1 * numbers
    size = sum(len(str(number)) + 1 for part in parts for number in part)
    assert size <= 1.1 * text_size(files, count) + 100
    assert text_size(files, count) <= 4 * size
