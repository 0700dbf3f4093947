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
    """Return what one function computes in this process; where it refuses, what another returns.

    Args:
        in_process: Raises `TooLargeError` for more than `Limits`, of which manifests tell before
            rows are read, and `UnsupportedError` for types that Arrow lacks.
        otherwise: Takes its place in both cases, as a rule with the engine. What it raises is
            raised.
    """
    with suppress(TooLargeError, UnsupportedError):
        return in_process()
    return otherwise()
