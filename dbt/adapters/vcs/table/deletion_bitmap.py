"""Deletion bitmap: which rows of several files are deleted, as one or two arrays of numbers.

The rows of all files are numbered through, and each word of the first array has the bits of 64
rows. Up to eight million rows, a row's number says where its word is. Above that, a second array
has, for each chunk of 512 rows, the place of the chunk's eight words. Chunks without deleted rows
share the first eight words, which are 0. So few deleted rows of many make a short text.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from dbt.adapters.vcs.core.errors import DamagedError
from dbt.adapters.vcs.table.file_numbers import FileNumbers
from dbt.adapters.vcs.table.files.block_reader import Positions
from dbt.adapters.vcs.table.sorted_numbers import distinct

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


def deletion_bitmap(files: FileNumbers, deleted: Mapping[str, Positions]) -> DeletionBitmap:
    """Return the bitmap of some files.

    Args:
        files: The files.
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
        chunks[used] = np.arange(1, len(used) + 1) * _WORDS
        place = chunks[number >> CHUNK_BITS] + (place & (_WORDS - 1))
        count = (len(used) + 1) * _WORDS
    words = np.zeros(count, np.uint64)
    bits = np.uint64(1) << (number & ((1 << WORD_BITS) - 1)).astype(np.uint64)
    np.bitwise_or.at(words, place, bits)
    return DeletionBitmap(chunks=chunks, words=words.view(np.int64))


def number_count(files: FileNumbers, deleted: int) -> int:
    """Return how many numbers a bitmap has, at most.

    Args:
        files: The files.
        deleted: How many of their rows are deleted.
    """
    words = files.end >> WORD_BITS
    if not files.has_chunks:
        return words
    return (files.end >> CHUNK_BITS) + min((deleted + 1) * _WORDS, words + _WORDS)


def text_size(files: FileNumbers, deleted: int) -> int:
    """Return about how many characters a bitmap takes if its numbers are written out.

    Args:
        files: The files.
        deleted: How many of their rows are deleted.
    """
    chunks, words = files.end >> CHUNK_BITS, files.end >> WORD_BITS
    marked = 20 * min(deleted, words)
    if not files.has_chunks:
        return 2 * words + marked
    return 8 * chunks + 2 * min(deleted * _WORDS, words) + marked
