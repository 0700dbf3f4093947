"""Processes of Spark's own, started and stopped by their id."""

from __future__ import annotations

import ctypes
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

START_SECONDS = 120
STOP_SECONDS = 30
PR_SET_PDEATHSIG = 1

T = TypeVar("T")


class Daemon:
    """A process whose log is a file; it ends with the process that started it (on Linux)."""

    def __init__(
        self, name: str, command: Sequence[str], folder: Path, env: Mapping[str, str]
    ) -> None:
        """Start it in a folder, where its log comes to lie."""
        self.name = name
        self.log = folder / f"{name}.log"
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=folder,
                env=dict(env),
                preexec_fn=_end_with_parent,
            )

    @property
    def pid(self) -> int:
        """Its process id; shell scripts on the way to Java replace themselves."""
        return self._process.pid

    @property
    def is_running(self) -> bool:
        """Return whether it has not ended."""
        return self._process.poll() is None

    def said(self, pattern: str) -> str:
        """Wait until its log has a match, and return the first group."""

        def found() -> str | None:
            match = re.search(pattern, self.log.read_text(errors="replace"))
            if match is None and not self.is_running:
                raise AssertionError(f"{self.name} ended:\n{self._tail()}")
            return None if match is None else match[1]

        return wait_for(found, lambda: f"{self.name} does not say {pattern!r}:\n{self._tail()}")

    def children(self, of: str = "") -> list[int]:
        """Return the ids of the processes that it started, with some words on their line."""
        command = ["pgrep", "-P", str(self.pid), "-f", of or "."]
        done = subprocess.run(command, capture_output=True, text=True)
        return [int(line) for line in done.stdout.split()]

    def kill(self) -> None:
        """Kill it, and what it started, as a machine that loses its power."""
        for pid in (self.pid, *self.children()):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self._process.wait(STOP_SECONDS)

    def stop(self) -> None:
        """Ask it to end, and kill it if it doesn't."""
        self._process.terminate()
        try:
            self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()

    def _tail(self) -> str:
        return self.log.read_text(errors="replace")[-3000:]


def wait_for(
    found: Callable[[], T | None], complaint: Callable[[], str], seconds: float = START_SECONDS
) -> T:
    """Return what a function finds as soon as that is neither None nor false."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        result = found()
        if result:
            return result
        time.sleep(0.05)
    raise AssertionError(complaint())


def run_of(process: subprocess.Popen[str]) -> tuple[int, str]:
    """Wait for a command's end; return its exit code and what it printed."""
    try:
        said, _ = process.communicate(timeout=2 * START_SECONDS)
    finally:
        process.kill()
    return process.returncode, said


def _end_with_parent() -> None:
    # A test run that is killed must not leave a cluster behind.
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
