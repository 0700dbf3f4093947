"""A cache bounded by bytes, shared by threads."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable
from typing import Final, Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

MAX_BYTES: Final = 512 * 2**20
"""What decoded objects may take: those of a table of 100,000 files with 16 columns are 300 MiB."""


class BoundedCache(Generic[K, V]):
    """Evicts the least recently used values once all together are too large.

    Args:
        max_bytes: What the values may take in memory.
        keeps_last: Keep the value that was put last even if it is larger than that by itself,
            and no other one then: for values that are costly to make and used many times.
    """

    def __init__(self, max_bytes: int, *, keeps_last: bool = False) -> None:
        self._max_bytes = max_bytes
        self._keeps_last = keeps_last
        self._lock = threading.Lock()
        self._values: OrderedDict[K, tuple[V, int]] = OrderedDict()
        self._bytes = 0

    @property
    def bytes(self) -> int:
        """What the values that are held take."""
        return self._bytes

    def __len__(self) -> int:
        """Return how many values are held."""
        return len(self._values)

    def get(self, key: K) -> V | None:
        """Return a value, or None if it is not held."""
        with self._lock:
            found = self._values.get(key)
            if found is None:
                return None
            self._values.move_to_end(key)
            return found[0]

    def put(self, key: K, value: V, size: int) -> None:
        """Hold a value that takes a number of bytes, in place of another one of the same key."""
        with self._lock:
            old = self._values.pop(key, None)
            if old is not None:
                self._bytes -= old[1]
            if size > self._max_bytes and not self._keeps_last:
                return
            self._values[key] = (value, size)
            self._bytes += size
            while self._bytes > self._max_bytes and len(self._values) > 1:
                self._bytes -= self._values.popitem(last=False)[1][1]
