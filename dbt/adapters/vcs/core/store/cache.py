"""A bounded cache of decoded objects, shared by threads."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Final

from dbt.adapters.vcs.core.model.value import Value

MAX_VALUES: Final = 4_096
MAX_BYTES: Final = 64 * 2**20
"""Of encoded size; decoded values take a few times that."""

Key = tuple[type[Value], str]


class ObjectCache:
    """Evicts the least recently used values once there are too many or they are too large."""

    def __init__(self, max_values: int = MAX_VALUES, max_bytes: int = MAX_BYTES) -> None:
        self._max_values = max_values
        self._max_bytes = max_bytes
        self._lock = threading.Lock()
        self._values: OrderedDict[Key, tuple[Value, int]] = OrderedDict()
        self._bytes = 0

    def get(self, key: Key) -> Value | None:
        """Return a value, or None if it is not held."""
        with self._lock:
            found = self._values.get(key)
            if found is None:
                return None
            self._values.move_to_end(key)
            return found[0]

    def put(self, key: Key, value: Value, size: int) -> None:
        """Hold a value of an encoded size in bytes, unless it is too large for the cache."""
        if size > self._max_bytes:
            return
        with self._lock:
            if key in self._values:
                return
            self._values[key] = (value, size)
            self._bytes += size
            while len(self._values) > self._max_values or self._bytes > self._max_bytes:
                _, (_, weight) = self._values.popitem(last=False)
                self._bytes -= weight
