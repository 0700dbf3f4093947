"""Many calls of the store at once, since most of each is waiting."""

from __future__ import annotations

import os
import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from operator import itemgetter
from typing import ClassVar, Final, Generic, TypeVar

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
        # One task for each thread: one for each item can cost more than the call itself.
        work = _Work(function, wanted)
        for task in [self._pool.submit(work) for _ in range(min(_THREADS, len(wanted)))]:
            task.result()
        if work.errors:
            raise min(work.errors, key=itemgetter(0))[1]
        return [work.results[number] for number in range(len(wanted))]

    def _started(self) -> ThreadPoolExecutor:
        initializer = partial(setattr, self._here, "is_one", True)
        return ThreadPoolExecutor(_THREADS, "vcs-store", initializer=initializer)


class _Work(Generic[T, R]):
    """Calls that several threads share out among themselves.

    Attributes:
        results: What the calls returned, by number of the item.
        errors: The numbers of the items whose calls raised, and what they raised.
    """

    def __init__(self, function: Callable[[T], R], items: Iterable[T]) -> None:
        self.results: dict[int, R] = {}
        self.errors: list[tuple[int, BaseException]] = []
        self._function = function
        self._left = deque(enumerate(items))

    def __call__(self) -> None:
        """Make calls until none is left."""
        while True:
            try:
                number, item = self._left.popleft()
            except IndexError:
                return
            try:
                self.results[number] = self._function(item)
            except BaseException as error:
                self.errors.append((number, error))


def _renew(parallel: weakref.ref[Parallel]) -> None:
    """Give a forked process threads of its own: those of its parent don't run in it."""
    found = parallel()
    if found is not None:
        found._pool = found._started()


each: Final = Parallel().map
"""For what reads a repository; stores have threads of their own, which never wait for others."""
