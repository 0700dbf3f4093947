"""A pager for long output on a terminal, chosen as git does."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final

from dbt.adapters.vcs import variables

if TYPE_CHECKING:
    from typing_extensions import Buffer

_DEFAULT: Final = "less -FRX"


def pager_command() -> str | None:
    """Return the pager's command line; None if output is not for one.

    It is the first that is set of `DBT_VCS_PAGER` and `PAGER`, else `less -FRX`. An empty text and
    `cat` ask for none.
    """
    if not sys.stdout.isatty() or os.environ.get("TERM") in ("dumb", "unknown"):
        return None
    given = os.environ.get(variables.PAGER, os.environ.get("PAGER"))
    if given is None:
        return _DEFAULT if shutil.which("less") else None
    return None if given.strip() in ("", "cat") else given


class _Pager(io.RawIOBase):
    """A file that a pager shows; the pager starts with the first bytes, so not for an error."""

    def __init__(self, command: str) -> None:
        self._command = command
        self._process: subprocess.Popen[bytes] | None = None

    def isatty(self) -> bool:
        """Return True: what is written is shown on a terminal, with its colours and width."""
        return True

    def writable(self) -> bool:
        return True

    def write(self, data: Buffer, /) -> int | None:
        """Hand bytes to the pager.

        Raises:
            BrokenPipeError: It was quit.
        """
        if self._process is None:
            # As git sets them for a pager that is called without options: it shows colours, and
            # doesn't wait if everything fits the screen.
            env = {"LESS": "FRX", "LESSCHARSET": "utf-8", **os.environ}
            self._process = subprocess.Popen(
                self._command, shell=True, stdin=subprocess.PIPE, bufsize=0, env=env
            )
        into = self._process.stdin
        assert into is not None
        return into.write(data)

    def wait(self) -> None:
        """Wait until the pager is quit, if it was started; Ctrl-C is the pager's to answer."""
        while self._process is not None:
            with suppress(KeyboardInterrupt):
                self._process.communicate()
                return


@contextmanager
def paged() -> Iterator[None]:
    """Send what is printed to a pager, if standard output is a terminal, until it is left.

    A pager that is quit early ends what is printed in the block, without an error.
    """
    command = pager_command()
    if command is None:
        yield
        return
    terminal, pager = sys.stdout, _Pager(command)
    into = io.TextIOWrapper(io.BufferedWriter(pager), encoding="utf-8", errors="backslashreplace")
    sys.stdout = into
    try:
        with suppress(BrokenPipeError):
            yield
    finally:
        sys.stdout = terminal
        # What is left in the buffer may be for a pager that is gone.
        with suppress(BrokenPipeError):
            into.close()
        pager.wait()
