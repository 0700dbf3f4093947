"""A test session that is stopped leaves no process behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[2]

SERVE = """
import subprocess, sys, time
from pathlib import Path

from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.store.opening import open_blobs
from tests.unit.serve.server_process import serving

LEAVE = "import subprocess; subprocess.Popen(['sleep', '600'], start_new_session=True)"

def test_serve(tmp_path):
    Repository.create(open_blobs(str(tmp_path / "w")), author="ann")
    with serving(tmp_path / "w"):
        subprocess.run([sys.executable, "-c", LEAVE], check=True)
        Path("ready").touch()
        time.sleep(600)
"""
CONNECT = """
import time
from pathlib import Path

def test_connect(spark_server):
    Path("ready").touch()
    time.sleep(600)
"""


def processes_of(folder: Path) -> list[str]:
    """Return the command lines of the processes that run in a folder or below it."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if Path(os.readlink(process / "cwd")).is_relative_to(folder):
                found.append((process / "cmdline").read_text().replace("\0", " ").strip())
        except OSError:
            continue
    return found


def wait_for_none(folder: Path, seconds: float) -> list[str]:
    end = time.monotonic() + seconds
    while (found := processes_of(folder)) and time.monotonic() < end:
        time.sleep(0.1)
    return found


@pytest.mark.skipif(sys.platform != "linux", reason="The guardian reads /proc")
@pytest.mark.parametrize(
    ("test", "stopped_by", "options"),
    [
        pytest.param(SERVE, signal.SIGINT, (), id="interrupted"),
        pytest.param(SERVE, signal.SIGTERM, (), id="terminated"),
        pytest.param(SERVE, signal.SIGKILL, ("--numprocesses", "1"), id="killed"),
        pytest.param(
            *(CONNECT, signal.SIGKILL, ()),
            id="killed-on-connect",
            marks=[pytest.mark.spark, pytest.mark.slow],
        ),
    ],
)
def test_a_stopped_session_leaves_nothing(
    test: str, stopped_by: int, options: tuple[str, ...], tmp_path: Path
) -> None:
    (tmp_path / "test_stopped.py").write_text(test)
    with (tmp_path / "log").open("wb") as log:
        session = subprocess.Popen(
            [
                *(sys.executable, "-m", "pytest", "-p", "tests.conftest", *options),
                *(
                    "-p",
                    "no:cacheprovider",
                    "--basetemp",
                    str(tmp_path / "base"),
                    "test_stopped.py",
                ),
            ],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(CHECKOUT)},
            stdout=log,
            stderr=log,
            # A shell's background jobs ignore Ctrl-C, and so would everything that they start.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
    while not (tmp_path / "ready").exists():
        assert session.poll() is None, (tmp_path / "log").read_text()
        time.sleep(0.1)
    assert len(processes_of(tmp_path)) > 1
    session.send_signal(stopped_by)
    session.wait(60)
    assert wait_for_none(tmp_path, 30) == []
