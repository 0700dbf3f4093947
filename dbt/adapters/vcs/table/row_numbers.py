"""Row numbers: sets of them, and the deleted rows of several files as one bitmap.

Sets are computed by marks or by sorting. numpy's `unique`, and its functions of sets that call it,
hash integers since version 2.3: a million distinct ones take 0.65 s. Sorted, they take 0.06 s, and
next to nothing if they ascend in a few runs, as positions of rows do.

The bitmap (decision 26) numbers the rows of all files through, and each word of its first array
has the bits of 64 rows. Up to eight million rows, a row's number says where its word is. Above
that, a second array has, for each chunk of 512 rows, the place of the chunk's eight words. Chunks
without deleted rows share the first eight words, which are 0. So few deleted rows of many make a
short text.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import accumulate
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from dbt.adapters.vcs.core.errors import DamagedError

Numbers: TypeAlias = npt.NDArray[np.int64]

# Up to so many places for each number, marks that are all read cost less than sorting.
_DENSE: Final = 8

# Up to so many places for each number, marks cost less if only those of the numbers are read.
_NEAR: Final = 64

# Nor are more places than that marked: a mark is a byte.
_MARKED: Final = 2**28


def distinct(numbers: Numbers) -> Numbers:
    """Return numbers in ascending order, each once."""
    if numbers.min(initial=0) >= 0 and numbers.max(initial=0) < _DENSE * len(numbers):
        marks = np.zeros(numbers.max() + 1, np.bool_)
        marks[numbers] = True
        return np.flatnonzero(marks)
    # numpy's stable sort is a timsort, which merges runs that ascend already.
    ordered = np.sort(numbers, kind="stable")
    is_new = np.ones(len(ordered), np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=is_new[1:])
    found: Numbers = ordered[is_new]
    return found


def are_among(numbers: Numbers, some: Numbers) -> npt.NDArray[np.bool_]:
    """Return a mask of the numbers that are among some others."""
    if not len(some):
        return np.zeros(len(numbers), np.bool_)
    lowest = min(numbers.min(initial=0), some.min())
    places = int(max(numbers.max(initial=-1), some.max())) + 1
    if lowest >= 0 and are_near(places, len(numbers) + len(some)):
        marks = np.zeros(places, np.bool_)
        marks[some] = True
        return marks[numbers]
    known = np.sort(some, kind="stable")
    # Without the last one, so that a number above all of them has a place, too.
    at = np.searchsorted(known[:-1], numbers)
    found: npt.NDArray[np.bool_] = known[at] == numbers
    return found


def are_near(places: int, numbers: int) -> bool:
    """Return whether so many numbers below `places` are near enough each other to be marked."""
    return places <= min(numbers * _NEAR, _MARKED)


# A multiple of 1,000, as are times of files, and of 64, so that a word has rows of one file only.
UNIT: Final = 8_000
"""The first row of each file has a multiple of this as its number."""

# A multiple of 1,000 as well, and of 512, so that a chunk has rows of one file only.
_CHUNKED_UNIT: Final = 64_000
"""The same for rows in chunks, which have 512 rows."""

_MAX_PLAIN: Final = 1 << 23
"""Above so many numbers, rows are in chunks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileNumbers:
    """The numbers of the rows of some files.

    Attributes:
        rows: How many rows each file has, deleted ones included.
        first: The number of each file's first row.
        end: More than the number of any row.
        has_chunks: True if each file begins with a chunk of rows, and not just with a word.
    """

    rows: Mapping[str, int]
    first: Mapping[str, int]
    end: int
    has_chunks: bool

    @classmethod
    def of(cls, rows: Mapping[str, int]) -> FileNumbers:
        """Number the rows of files, one file after another, given how many rows each has."""
        numbers = cls._in_units(rows, UNIT, has_chunks=False)
        if numbers.end <= _MAX_PLAIN:
            return numbers
        return cls._in_units(rows, _CHUNKED_UNIT, has_chunks=True)

    @classmethod
    def _in_units(cls, rows: Mapping[str, int], unit: int, *, has_chunks: bool) -> FileNumbers:
        units = [-(-count // unit) for count in rows.values()]
        *starts, end = accumulate(units, initial=0)
        first = {file: start * unit for file, start in zip(rows, starts, strict=True)}
        return cls(rows=rows, first=first, end=end * unit, has_chunks=has_chunks)


WORD_BITS: Final = 6
"""A word has the bits of 64 rows."""

CHUNK_BITS: Final = 9
"""A chunk has 512 rows, which are eight words."""

_WORDS: Final = 1 << (CHUNK_BITS - WORD_BITS)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletionBitmap:
    """The deleted rows of some files.

    Attributes:
        chunks: For each chunk, the index of its first word; None if the words of all chunks
            follow each other.
        words: The words; bit n of a word is its row n, and 1 if that row is deleted.
    """

    chunks: npt.NDArray[np.int64] | None
    words: npt.NDArray[np.int64]


def deletion_bitmap(files: FileNumbers, deleted: Mapping[str, Numbers]) -> DeletionBitmap:
    """Return the bitmap of some files.

    Args:
        deleted: Positions of deleted rows, by file; only of those files.

    Raises:
        DamagedError: A position is beyond the end of its file.
    """
    numbers = [np.empty(0, np.int64)]
    for file, positions in deleted.items():
        if len(positions) and not 0 <= positions.min() <= positions.max() < files.rows[file]:
            raise DamagedError(
                f"A tombstone deletes row {positions.max()} of {file}, which has "
                f"{files.rows[file]} rows. "
                "Run dbt-vcs fsck --data, and restore the file from a backup."
            )
        numbers.append(positions + files.first[file])
    number = np.concatenate(numbers)
    chunks: npt.NDArray[np.int64] | None = None
    place, count = number >> WORD_BITS, -(-files.end // (1 << WORD_BITS))
    if files.has_chunks:
        used = distinct(number >> CHUNK_BITS)
        chunks = np.zeros(-(-files.end // (1 << CHUNK_BITS)), np.int64)
        # From 1, as the first eight words are the zeros of all chunks without deleted rows.
        chunks[used] = np.arange(1, len(used) + 1) * _WORDS
        place = chunks[number >> CHUNK_BITS] + (place & (_WORDS - 1))
        count = (len(used) + 1) * _WORDS
    words = np.zeros(count, np.uint64)
    bits = np.uint64(1) << (number & ((1 << WORD_BITS) - 1)).astype(np.uint64)
    # Several rows share a word, of which a plain assignment would keep the last one's bit.
    np.bitwise_or.at(words, place, bits)
    # Spark has no unsigned numbers.
    return DeletionBitmap(chunks=chunks, words=words.view(np.int64))


def number_count(files: FileNumbers, deleted: int) -> int:
    """Return how many numbers a bitmap has, at most.

    Args:
        deleted: How many of their rows are deleted.
    """
    words = files.end >> WORD_BITS
    if not files.has_chunks:
        return words
    return (files.end >> CHUNK_BITS) + min((deleted + 1) * _WORDS, words + _WORDS)


def text_size(files: FileNumbers, deleted: int) -> int:
    """Return about how many characters a bitmap takes if its numbers are written out.

    Args:
        deleted: How many of their rows are deleted.
    """
    chunks, words = files.end >> CHUNK_BITS, files.end >> WORD_BITS
    # With its comma, a 0 takes two characters, and a word with bits about 20.
    marked = 20 * min(deleted, words)
    if not files.has_chunks:
        return 2 * words + marked
    return 8 * chunks + 2 * min(deleted * _WORDS, words) + marked
