"""Many calls of the store at once, since most of each is waiting."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Final, TypeVar

_THREADS: Final = 16

T = TypeVar("T")
R = TypeVar("R")


class Parallel:
    """Threads that are started when first needed and kept; safe to share."""

    def __init__(self) -> None:
        self._here = threading.local()
        self._pool = ThreadPoolExecutor(
            _THREADS, "vcs-store", initializer=partial(setattr, self._here, "is_one", True)
        )

    def map(self, function: Callable[[T], R], items: Iterable[T]) -> list[R]:
        """Return the results in order of the items; raises the first error after all ended."""
        wanted = list(items)
        # Threads that waited for threads of their own pool could wait forever.
        if len(wanted) < 2 or hasattr(self._here, "is_one"):
            return [function(item) for item in wanted]
        futures = [self._pool.submit(function, item) for item in wanted]
        errors = [error for future in futures if (error := future.exception()) is not None]
        if errors:
            raise errors[0]
        return [future.result() for future in futures]


each: Final = Parallel().map
"""For what reads a repository; stores have threads of their own, which never wait for others."""
