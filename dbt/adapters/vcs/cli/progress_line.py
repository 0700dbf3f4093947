"""Progress: how far a long command is, on stderr, apart from its result."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from time import monotonic
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from rich.text import Text

_AFTER: Final = 2.0
"""Seconds that a command may take without a word."""

_REFRESH: Final = 0.25
"""Seconds between two looks at how far it is."""

_SECONDS: Final = 10.0
"""Seconds between two lines where nobody watches."""

_DUMB: Final = frozenset({"dumb", "unknown"})


class ProgressLine:
    """One line of a terminal while a command takes long; elsewhere a line now and then.

    In a terminal it appears after two seconds, and is taken away at the end. Elsewhere only
    commands that say themselves how far they are write lines, and none if they end soon.
    """

    def __init__(
        self,
        describe: Callable[[float], str] | None = None,
        *,
        after: float = _AFTER,
        seconds: float = _SECONDS,
        is_quiet: bool = False,
    ) -> None:
        """Prepare a line, which `begin` shows.

        Args:
            describe: Says how far a command is that doesn't do it itself, from the seconds since
                it began: a short text without line breaks. It is called by another thread.
            after: Seconds before a terminal shows it.
            seconds: The time between two lines where stderr is no terminal.
            is_quiet: Show nothing.
        """
        self.is_live = _is_terminal() and not is_quiet
        self._is_quiet = is_quiet
        self._describe = describe or (lambda seconds: f"{seconds:.0f} s")
        self._after = after
        self._seconds = seconds
        self._began = self._last = monotonic()
        self._text = ""
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None

    def begin(self) -> None:
        """Show the line in a terminal, once the command takes long."""
        if self.is_live and self._thread is None:
            self._ended = threading.Event()
            self._thread = threading.Thread(target=self._run, args=(self._ended,), daemon=True)
            self._thread.start()

    def show(self, text: str) -> None:
        """Say how far the command is, a short text without line breaks."""
        self._text = text
        if not (self.is_live or self._is_quiet) and monotonic() - self._last >= self._seconds:
            self._last = monotonic()
            sys.stderr.write(text + "\n")
            sys.stderr.flush()

    def clear(self) -> None:
        """Take the line away before something else is printed; it comes back some time later."""
        if self._thread is not None:
            self.end()
            self.begin()

    def end(self) -> None:
        """Take the line away."""
        if self._thread is not None:
            self._ended.set()
            self._thread.join()
            self._thread = None

    def _run(self, ended: threading.Event) -> None:
        if ended.wait(self._after):
            return
        # Imported here because it is slow to import, and most commands end before.
        from rich.console import Console
        from rich.live import Live

        with Live(
            get_renderable=self._line,
            console=Console(stderr=True),
            auto_refresh=False,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        ) as live:
            live.refresh()
            while not ended.wait(_REFRESH):
                live.refresh()

    def _line(self) -> Text:
        from rich.text import Text

        text = self._text or self._describe(monotonic() - self._began)
        return Text(text, style="dim", no_wrap=True, overflow="ellipsis")


def _is_terminal() -> bool:
    return sys.stderr.isatty() and os.environ.get("TERM") not in _DUMB
