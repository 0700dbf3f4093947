"""Many calls of the store at once, since most of each is waiting."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

_THREADS: Final = 16

T = TypeVar("T")
R = TypeVar("R")


class Parallel:
    """Threads that are started when first needed and kept; safe to share."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pool: ThreadPoolExecutor | None = None

    def map(self, function: Callable[[T], R], items: Collection[T]) -> list[R]:
        """Return the results in order of the items; raises the first error after all ended."""
        if len(items) < 2:
            return [function(item) for item in items]
        futures = [self._threads().submit(function, item) for item in items]
        errors = [error for future in futures if (error := future.exception()) is not None]
        if errors:
            raise errors[0]
        return [future.result() for future in futures]

    def _threads(self) -> ThreadPoolExecutor:
        with self._lock:
            if self._pool is None:
                self._pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="vcs-store")
            return self._pool
