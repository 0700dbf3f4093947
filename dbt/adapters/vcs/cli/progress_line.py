"""Progress: how far a long command is, on stderr, apart from its result."""

from __future__ import annotations

import sys
from time import monotonic
from typing import Final

_SECONDS: Final = 10.0
"""Seconds between two lines where nobody watches."""


class ProgressLine:
    """One line that is written again in a terminal; elsewhere a line now and then.

    A command that ends soon writes none to a file or a pipe.
    """

    def __init__(self, seconds: float = _SECONDS, *, is_quiet: bool = False) -> None:
        """Begin.

        Args:
            seconds: The time between two lines where stderr is no terminal.
            is_quiet: Show nothing.
        """
        self._is_live = sys.stderr.isatty() and not is_quiet
        self._is_quiet = is_quiet
        self._seconds = seconds
        self._last = monotonic()
        self._shown = 0

    def show(self, text: str) -> None:
        """Show how far the command is, a short text without line breaks."""
        if self._is_live:
            sys.stderr.write("\r" + text.ljust(self._shown))
            self._shown = len(text)
            sys.stderr.flush()
        elif not self._is_quiet and monotonic() - self._last >= self._seconds:
            self._last = monotonic()
            sys.stderr.write(text + "\n")
            sys.stderr.flush()

    def clear(self) -> None:
        """Take the line away, before something else is printed."""
        if self._shown:
            sys.stderr.write("\r" + " " * self._shown + "\r")
            sys.stderr.flush()
            self._shown = 0
