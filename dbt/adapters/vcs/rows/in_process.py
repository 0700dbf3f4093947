"""The choice between this process and an engine."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

from dbt.adapters.vcs.core.errors import UnsupportedError
from dbt.adapters.vcs.rows.limits import TooLargeError

T = TypeVar("T")
U = TypeVar("U")


def in_process_first(in_process: Callable[[], T], otherwise: Callable[[], U]) -> T | U:
    """Compute in this process if possible, otherwise with a second function.

    Args:
        in_process: Raises `TooLargeError` if manifests show more than `Limits`, before any row is
            read, and `UnsupportedError` for types that Arrow lacks.
        otherwise: Called in both cases, usually with the engine; its errors are passed on.
    """
    with suppress(TooLargeError, UnsupportedError):
        return in_process()
    return otherwise()
