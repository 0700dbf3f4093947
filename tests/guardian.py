"""Kills what a test session leaves running, however the session ends.

A pytest that gets SIGTERM or SIGKILL closes no fixture: the servers that its tests started would
run on. So each session starts this program, in a process group of its own, which waits for the
session's end and then kills all that carry the session's mark in their environment: children,
their children, and what was started in a session of its own. It needs Linux's /proc.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

MARK = "DBT_VCS_TEST_SESSION"
_SECONDS = 10
"""How long what is about to start another process is looked for."""


def pytest_configure(config: pytest.Config) -> None:
    """Guard the session: a hook for each conftest.py. A worker is of its controller's session."""
    if not hasattr(config, "workerinput"):
        _start()


def _start() -> None:
    """Mark what this process starts from now on, and have it killed when this process ends."""
    session = uuid.uuid4().hex
    subprocess.Popen(
        [sys.executable, "-I", "-S", __file__, str(os.getpid()), session],
        stdin=subprocess.DEVNULL,
        start_new_session=True,
    )
    # A session within a test of another one ends with either.
    os.environ[MARK] = f"{os.environ.get(MARK, '')} {session}".strip()


def _marked(session: str) -> Iterator[int]:
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            environment = path.read_bytes()
        except OSError:
            # Another user's, or it has just ended.
            continue
        if session.encode() in environment:
            yield int(path.parent.name)


def _guard(parent: int, session: str) -> None:
    while os.getppid() == parent:
        time.sleep(0.2)
    end = time.monotonic() + _SECONDS
    while (found := list(_marked(session))) and time.monotonic() < end:
        for process in found:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        time.sleep(0.1)


if __name__ == "__main__":
    _guard(int(sys.argv[1]), sys.argv[2])
