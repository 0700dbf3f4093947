"""Errors and warnings of an engine, and what is written to the log about them."""

from __future__ import annotations

import sys
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from dbt.adapters.vcs.core.errors import EngineError

MAX_CAUSES: Final = 20
"""How many causes of an exception are followed, since a chain may be a cycle."""


class StatementError(EngineError):
    """The engine rejected a statement or failed to run it; the message is its own.

    Attributes:
        condition: The engine's name of the error, such as `TABLE_OR_VIEW_NOT_FOUND`, or None.
        sent: The text to which lines and positions in the message refer; None if not known.
    """

    def __init__(
        self, message: str, condition: str | None = None, sent: str | None = None
    ) -> None:
        super().__init__(message)
        self.condition = condition
        self.sent = sent


class CancelledError(StatementError):
    """The statement was cancelled."""

    def __init__(self) -> None:
        super().__init__("The statement was cancelled.", "CANCELLED")


_PACKAGE: Final = str(Path(__file__).parents[1])


def warn_caller(*messages: str) -> None:
    """Give warnings at the line of the program that called this package."""
    level, frame = 1, sys._getframe()
    # Counted, since calls of one method come here by several ways, and by more in another year.
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        level, frame = level + 1, frame.f_back
    for message in messages:
        warnings.warn(message, stacklevel=level)


@contextmanager
def sending(text: str) -> Iterator[None]:
    """Attach the text that the engine was given to errors inside the block."""
    try:
        yield
    except StatementError as error:
        # The innermost text is the one that positions refer to.
        if error.sent is None:
            error.sent = text
        raise


class UnfitError(EngineError):
    """A result has a date or timestamp that Python can't represent."""

    def __init__(self, error: Exception) -> None:
        super().__init__(
            f"A date or timestamp of the result does not fit Python's years 1 to 9999 ({error}). "
            "Cast the column to string."
        )


def trace_of(error: BaseException) -> str:
    """Return what a developer needs in a log: Python's stack, followed by Java's."""
    lines = traceback.format_exception(error)
    cause: BaseException | None = error
    for _ in range(MAX_CAUSES):
        if cause is None:
            break
        # Where PySpark keeps the stack of the JVM.
        stack = getattr(cause, "_stackTrace", None)
        if stack:
            lines.append(f"Java's stack:\n{stack}")
        cause = cause.__cause__
    return "".join(lines)
