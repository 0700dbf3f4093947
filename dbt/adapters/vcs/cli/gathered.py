"""Gathered options: a command with many options takes them as one value."""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from typing import Any, TypeVar

S = TypeVar("S")
T = TypeVar("T")
R = TypeVar("R")


def gathered(kind: type[T]) -> Callable[[Callable[[S, T], R]], Callable[..., R]]:
    """Return a decorator that passes a command's arguments and options as one value.

    The session still comes first.

    Args:
        kind: A dataclass with a field for each argument and option, by its name.
    """

    def decorate(command: Callable[[S, T], R]) -> Callable[..., R]:
        def run(session: S, **given: Any) -> R:
            return command(session, kind(**given))

        return update_wrapper(run, command)

    return decorate
