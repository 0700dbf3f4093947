"""Position bitmaps: sets of row positions in Roaring's portable format of 64 bits.

https://github.com/RoaringBitmap/RoaringFormatSpec. All numbers are little-endian.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

_Numbers: TypeAlias = npt.NDArray[np.int64]

_COOKIE: Final = 12346
"""What a bitmap without runs begins with."""

_RUN_COOKIE: Final = 12347
"""What one with runs begins with, in the lower two of four bytes."""

_MOST_LISTED: Final = 4096
"""A container of more numbers is a set of bits."""

_FEWEST_PLACED: Final = 4
"""A bitmap with runs has the places of its containers only from this many on."""

_CONTAINER: Final = 65_536
_CUT_OFF: Final = "it ends too early"


def bitmap_bytes(positions: npt.NDArray[np.int64]) -> bytes:
    """Return a bitmap of positions, which ascend."""
    high = positions >> 32
    keys = np.unique(high)
    parts = [struct.pack("<Q", len(keys))]
    for key in keys:
        low = (positions[high == key] & 0xFFFF_FFFF).astype(np.uint32)
        parts += [struct.pack("<I", int(key)), _small_bitmap(low)]
    return b"".join(parts)


def _small_bitmap(values: npt.NDArray[np.uint32]) -> bytes:
    """Return ascending numbers of 32 bits: a container for each 65,536."""
    keys, starts = np.unique(values >> 16, return_index=True)
    groups = np.split((values & 0xFFFF).astype("<u2"), starts[1:])
    bodies = [_container(group) for group in groups]
    heads = [
        struct.pack("<HH", int(key), len(group) - 1)
        for key, group in zip(keys, groups, strict=True)
    ]
    first = 8 + 8 * len(keys)
    offsets = first + np.cumsum([0, *(len(body) for body in bodies[:-1])])
    return b"".join(
        (struct.pack("<II", _COOKIE, len(keys)), *heads, offsets.astype("<u4").tobytes(), *bodies)
    )


def _container(values: npt.NDArray[np.uint16]) -> bytes:
    if len(values) <= _MOST_LISTED:
        return values.tobytes()
    bits = np.zeros(_CONTAINER, np.uint8)
    bits[values] = 1
    return np.packbits(bits, bitorder="little").tobytes()


def bitmap_positions(data: bytes, most: int) -> npt.NDArray[np.int64]:
    """Return the positions of a bitmap, ascending, each once.

    Args:
        data: The bitmap, with runs or without, and nothing else.
        most: How many positions it may have. More are refused before they take up memory.

    Raises:
        ValueError: It is no such bitmap, or has too many positions.
    """
    source = _Source(data)
    parts: list[_Numbers] = []
    found, before = 0, -1
    for _ in range(source.number(8)):
        key = source.number(4)
        if key <= before:
            raise ValueError("its parts are not in order")
        before = key
        for part in _read_small_bitmap(source, most - found):
            found += len(part)
            parts.append(part + (key << 32))
    if source.left:
        raise ValueError(f"it goes on for {source.left} bytes after its end")
    return np.concatenate(parts) if parts else np.empty(0, np.int64)


class _Source:
    """Bytes that are read from the first to the last."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._place = 0

    @property
    def left(self) -> int:
        """How many bytes were not read yet."""
        return len(self._data) - self._place

    def bytes(self, size: int) -> bytes:
        if size > self.left:
            raise ValueError(_CUT_OFF)
        self._place += size
        return self._data[self._place - size : self._place]

    def number(self, size: int) -> int:
        return int.from_bytes(self.bytes(size), "little")

    def numbers(self, count: int) -> _Numbers:
        """Return numbers of two bytes each."""
        return np.frombuffer(self.bytes(2 * count), "<u2").astype(np.int64)


def _read_small_bitmap(source: _Source, most: int) -> Sequence[_Numbers]:
    """Return the numbers of a bitmap of 32 bits, container by container."""
    cookie = source.number(4)
    has_runs: Any = None
    if cookie & 0xFFFF == _RUN_COOKIE:
        count = (cookie >> 16) + 1
        flags = np.frombuffer(source.bytes((count + 7) // 8), np.uint8)
        has_runs = np.unpackbits(flags, bitorder="little")
    elif cookie == _COOKIE:
        count = source.number(4)
    else:
        raise ValueError(f"a bitmap begins with {cookie}")
    heads = source.numbers(2 * count).reshape(-1, 2)
    if has_runs is None or count >= _FEWEST_PLACED:
        # The places of the containers, which follow each other anyway.
        source.bytes(4 * count)
    keys, sizes = heads[:, 0], heads[:, 1] + 1
    if np.any(np.diff(keys) <= 0):
        raise ValueError("its containers are not in order")
    if int(sizes.sum()) > most:
        raise ValueError("it has more positions than its description says")
    found = []
    for place, (key, size) in enumerate(zip(keys.tolist(), sizes.tolist(), strict=True)):
        is_run = has_runs is not None and has_runs[place]
        low = _read_runs(source) if is_run else _read_container(source, size)
        if len(low) != size or np.any(np.diff(low) <= 0):
            raise ValueError("a container has other numbers than it says")
        found.append(low + (key << 16))
    return found


def _read_container(source: _Source, size: int) -> _Numbers:
    if size <= _MOST_LISTED:
        return source.numbers(size)
    bits = np.frombuffer(source.bytes(_CONTAINER // 8), np.uint8)
    return np.flatnonzero(np.unpackbits(bits, bitorder="little")).astype(np.int64)


def _read_runs(source: _Source) -> _Numbers:
    """Return the numbers of runs, each given by its first number and how many follow it."""
    runs = source.numbers(2 * source.number(2)).reshape(-1, 2)
    first, more = runs[:, 0], runs[:, 1]
    if np.any(first + more >= _CONTAINER) or np.any(first[1:] <= (first + more)[:-1]):
        raise ValueError("its runs are not in order")
    ends = np.cumsum(more + 1)
    numbers: _Numbers = np.arange(ends[-1] if len(ends) else 0) + np.repeat(
        first - np.concatenate(([0], ends[:-1])) if len(ends) else first, more + 1
    )
    return numbers
