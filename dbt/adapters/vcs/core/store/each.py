"""Many calls of the store at once, since most of each is waiting."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import ClassVar, Final, TypeVar

_THREADS: Final = 16

T = TypeVar("T")
R = TypeVar("R")


class Parallel:
    """Threads that are started when first needed and kept; safe to share, and to fork.

    Attributes:
        is_serial: True to make all calls in the caller's thread, one after the other: for tests
            that decide what happens between two calls.
    """

    is_serial: ClassVar[bool] = False

    def __init__(self) -> None:
        self._here = threading.local()
        self._pool = self._started()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=partial(_renew, weakref.ref(self)))

    def map(self, function: Callable[[T], R], items: Iterable[T]) -> list[R]:
        """Return the results in order of the items; raises the first error after all ended."""
        wanted = list(items)
        # Threads that waited for threads of their own pool could wait forever.
        if len(wanted) < 2 or self.is_serial or hasattr(self._here, "is_one"):
            return [function(item) for item in wanted]
        futures = [self._pool.submit(function, item) for item in wanted]
        errors = [error for future in futures if (error := future.exception()) is not None]
        if errors:
            raise errors[0]
        return [future.result() for future in futures]

    def _started(self) -> ThreadPoolExecutor:
        initializer = partial(setattr, self._here, "is_one", True)
        return ThreadPoolExecutor(_THREADS, "vcs-store", initializer=initializer)


def _renew(parallel: weakref.ref[Parallel]) -> None:
    """Give a forked process threads of its own: those of its parent don't run in it."""
    found = parallel()
    if found is not None:
        found._pool = found._started()


each: Final = Parallel().map
"""For what reads a repository; stores have threads of their own, which never wait for others."""
