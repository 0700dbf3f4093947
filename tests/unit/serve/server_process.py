"""A server of its own process, as a person starts it."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

_CODE = "from dbt.adapters.vcs.cli import main; main()"


class ServerProcess:
    """A server on a free port of this machine.

    Attributes:
        url: Its address.
        lines: What it has said so far.
    """

    def __init__(
        self, repository: Path | str, *options: str, verb: str = "serve", says: str = "Serving "
    ) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", _CODE, "-r", str(repository), verb, "--port", "0", *options],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert self._process.stdout is not None
        self.lines = [self._process.stdout.readline()]
        self.url = self.lines[0].strip().rpartition(" ")[2]
        assert self.lines[0].startswith(says), self.lines[0] + self._process.stdout.read()
        self._reader = Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for text in self._process.stdout:
            self.lines.append(text)

    def send(self, number: int) -> None:
        self._process.send_signal(number)

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Stop it, and return its exit code."""
        if self._process.poll() is None:
            self.send(number)
        code = self._process.wait(60)
        self._reader.join(60)
        return code


@contextmanager
def serving(repository: Path | str, *options: str) -> Iterator[ServerProcess]:
    server = ServerProcess(repository, *options)
    try:
        yield server
    finally:
        server.stop()
