"""Many small reads at once: on an object store they mostly wait."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

A = TypeVar("A")
B = TypeVar("B")

_MANY: Final = 16
_READERS: Final = 16


def each(read: Callable[[A], B], items: Iterable[A]) -> list[B]:
    """Return the result of `read` for each item, in their order."""
    wanted = list(items)
    if len(wanted) < _MANY:
        return [read(item) for item in wanted]
    with ThreadPoolExecutor(_READERS) as pool:
        return list(pool.map(read, wanted))
