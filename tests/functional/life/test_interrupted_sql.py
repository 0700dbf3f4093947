"""Ctrl-C in a terminal while `dbt-vcs sql` computes: Spark stops, and nothing stays behind."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dbt.adapters.vcs.api import connect
from tests.functional.life.shop import SPARK, Shop
from tests.screens import screen

pytestmark = pytest.mark.spark

COMMAND = Path(sys.executable).with_name("dbt-vcs")
STARTS, HANGS = 120, 120
"""Seconds after which a command doesn't start, or doesn't end."""

# On both cores, for days.
FOREVER = "range(0, 4000000000000, 1, 2)"
STATEMENTS = {
    "query": f"select count(*) n from {FOREVER} where id % 7 = 3",
    "create": f"create table c as select id from {FOREVER}",
    "update": f"update a set n = (select count(*) from {FOREVER} where id % 7 = 3)",
}


class Terminal:
    """A command with a terminal of its own, in which it is in the foreground."""

    def __init__(self, shop: Shop, *arguments: str) -> None:
        self.scratch = shop.root / "scratch"
        self.scratch.mkdir()
        self._mine, its = os.openpty()
        self.process = subprocess.Popen(
            [str(COMMAND), *arguments],
            stdin=its,
            stdout=its,
            stderr=its,
            cwd=shop.root,
            env={
                **os.environ,
                "TERM": "xterm",
                "COLUMNS": "200",
                "DBT_VCS_AUTHOR": "ann",
                "TMPDIR": str(self.scratch),
                "SPARK_LOCAL_DIRS": str(self.scratch),
            },
            preexec_fn=take_terminal,
        )
        os.close(its)
        self._shown = b""
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def shown(self) -> str:
        return self._shown.decode()

    def wait_for(self, what: Callable[[], bool]) -> None:
        end = time.monotonic() + STARTS
        while not what():
            assert self.process.poll() is None, self.shown
            assert time.monotonic() < end, f"nothing happened in {STARTS} s:\n{self.shown}"
            time.sleep(0.05)

    def press_ctrl_c(self) -> int:
        """Press it, and return the exit code."""
        os.write(self._mine, b"\x03")
        code = self.process.wait(HANGS)
        self._reader.join(HANGS)
        return code

    def ended(self) -> bool:
        """Wait until everything that it started has ended, too."""
        end = time.monotonic() + HANGS
        while left(self.process.pid) and time.monotonic() < end:
            time.sleep(0.05)
        return not left(self.process.pid)

    def close(self) -> None:
        """Kill what is left of the command and of what it started."""
        for pid in left(self.process.pid):
            os.kill(pid, signal.SIGKILL)
        self.process.wait()
        os.close(self._mine)

    def _read(self) -> None:
        while True:
            try:
                part = os.read(self._mine, 4_096)
            except OSError:
                # The last process that had the terminal open has ended.
                return
            self._shown += part


def take_terminal() -> None:
    # A shell's background jobs ignore Ctrl-C, and so would everything that they start.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    os.setsid()
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def left(session: int) -> list[int]:
    """Return the ids of the processes of a session that haven't ended."""
    found = subprocess.run(["pgrep", "-s", str(session)], capture_output=True, text=True)
    return [int(line) for line in found.stdout.split()]


def files(shop: Shop) -> dict[str, int]:
    """Return all files of a shop's folder but logs, and their sizes."""
    return {
        str(path.relative_to(shop.root)): path.stat().st_size
        for path in shop.root.rglob("*")
        if path.is_file() and "logs" not in path.parts
    }


@pytest.fixture
def terminal(shop: Shop) -> Iterator[Callable[[str], Terminal]]:
    """Return what runs a statement in a terminal."""
    opened: list[Terminal] = []

    def run(statement: str) -> Terminal:
        opened.append(Terminal(shop, "sql", statement))
        return opened[-1]

    yield run
    for item in opened:
        item.close()


@pytest.mark.parametrize("kind", STATEMENTS)
def test_ctrl_c_stops_spark_and_leaves_nothing(
    shop: Shop, terminal: Callable[[str], Terminal], kind: str
) -> None:
    with connect(str(shop.warehouse), create=True, spark=SPARK) as client:
        client.sql("create schema analytics")
        client.sql("create table analytics.a as select 1 as n")
    before, branches = files(shop), shop.repository.branches()

    begun = terminal(STATEMENTS[kind])
    begun.wait_for(lambda: " of 2 tasks" in begun.shown)
    assert begun.press_ctrl_c() == 130

    assert screen(begun.shown) == "Stopped."
    assert begun.ended()
    assert shop.repository.branches() == branches
    assert files(shop) == before
    assert not any(begun.scratch.iterdir())


def test_ctrl_c_frees_a_server(
    tmp_path: Path, spark_server: str, terminal: Callable[[str], Terminal], shop: Shop
) -> None:
    shop.write_profile(method="connect", host=spark_server, spark_config={})
    with connect(str(shop.warehouse), create=True, spark={"spark.remote": spark_server}) as client:
        client.sql("create schema analytics")
        before, branches = files(shop), shop.repository.branches()
        begun = terminal(STATEMENTS["create"])
        begun.wait_for(lambda: any(shop.warehouse.glob("data/*/w=*/_temporary/0")))
        assert begun.press_ctrl_c() == 130

        assert screen(begun.shown) == "Stopped."
        assert begun.ended()
        assert shop.repository.branches() == branches
        # Both cores of the server were taken.
        assert client.sql("select sum(id) n from range(0, 10, 1, 2)").to_pylist() == [{"n": 45}]
        assert not any(begun.scratch.iterdir())
        # The server removes its own files on the way out of the job.
        end = time.monotonic() + HANGS
        while files(shop) != before and time.monotonic() < end:
            time.sleep(0.05)
        assert files(shop) == before
