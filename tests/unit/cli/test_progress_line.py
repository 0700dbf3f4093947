"""Progress is shown on stderr: a line of a terminal that goes away, or a line now and then."""

from __future__ import annotations

import os
import pty
import re
import shutil
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from dbt.adapters.vcs.commands.session import ProgressLine, WatchedBlobs, activity_text
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.store.blobs import MemoryBlobs
from dbt.adapters.vcs.core.store.local import LocalBlobs
from tests.screens import screen
from tests.unit.tables import Tables
from tests.unit.warehouse import Warehouse

# Every look at a file takes long, as in a store far away.
SLOW = """
import sys, time
from dbt.adapters.vcs.commands import session
from dbt.adapters.vcs.core.store.local import LocalBlobs

def slowly(name):
    real = getattr(LocalBlobs, name)
    def method(*args, **kwargs):
        time.sleep({pause})
        return real(*args, **kwargs)
    setattr(LocalBlobs, name, method)

for name in ("get", "range", "exists", "modified_at", "create_all"):
    slowly(name)
session.ProgressLine.__init__.__kwdefaults__["after"] = {after}
from dbt.adapters.vcs.cli import main
sys.argv[0] = "dbt-vcs"
main()
"""


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("progress") / "repository"
    warehouse = Warehouse(LocalBlobs(folder, fsync=False))
    tables = Tables(warehouse)
    first = tables.entry([tables.block({1: "a", 2: "b"})], key=True)
    warehouse.repository.create_branch("dev", tables.put(a=first), author="ann")
    more = [tables.block({1: "a", 2: "b"}), tables.block({3: "c"})]
    tables.put(a=tables.entry(more, key=True, parents=[first]))
    tables.put("dev", a=tables.entry([tables.block({1: "x"})], key=True, parents=[first]))
    return folder


def run(
    arguments: Sequence[str], *, after: float, pause: float, stop_at: str = ""
) -> tuple[int, str, str]:
    """Run a command with a terminal as its stderr; return exit code, output, what was written.

    With `stop_at`, Ctrl-C is pressed once the terminal shows that, a regular expression.
    """
    mine, its = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", SLOW.format(after=after, pause=pause), *arguments],
        stdout=subprocess.PIPE,
        stderr=its,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "100", "DBT_VCS_AUTHOR": "ann"},
        # A shell's background jobs ignore Ctrl-C, and so would everything that they start.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    os.close(its)
    shown = b""
    while True:
        try:
            part = os.read(mine, 4_096)
        except OSError:
            # The last one that had the terminal open has closed it.
            break
        if not part:
            break
        shown += part
        if stop_at and re.search(stop_at, shown.decode(errors="ignore")):
            process.send_signal(signal.SIGINT)
            stop_at = ""
    os.close(mine)
    assert process.stdout is not None
    out = process.stdout.read().decode()
    process.stdout.close()
    return process.wait(), out, shown.decode()


@pytest.mark.parametrize(
    "command",
    [
        ("merge", "dev", "main", "--on-conflict", "accept"),
        ("diff", "main..dev"),
        ("gc",),
        ("fsck", "--data"),
        ("copy", "{repository}", "{other}"),
        ("export",),
        ("repair",),
        ("purge", "shop.a", "--where", "id = 2"),
        ("restore", "shop.a", "--to", "main~1"),
        ("optimize", "--all"),
    ],
    ids=lambda command: command[0],
)
def test_whatever_takes_long_shows_files_and_takes_the_line_away(
    command: tuple[str, ...], repository: Path, tmp_path: Path
) -> None:
    here = shutil.copytree(repository, tmp_path / "repository")
    words = [w.format(repository=here, other=tmp_path / "other") for w in command]
    if command[0] != "copy":
        words += ["--repository", str(here)]
    code, out, shown = run(words, after=0.1, pause=0.03)
    assert (code, bool(out)) == (1 if command[0] == "diff" else 0, True), shown
    assert re.search(r"read \d+ files?, |Read \d+ of \d+ data files", shown), shown
    assert screen(shown) == ""
    assert "\x1b[?25h" in shown, "the cursor is shown again"


def test_nothing_is_shown_for_two_seconds(repository: Path) -> None:
    where = ["--repository", str(repository)]
    code, out, shown = run(["log", *where], after=2.0, pause=0.0)
    assert (code, shown) == (0, "") and out
    code, out, shown = run(["log", "--json", *where], after=0.0, pause=0.05)
    assert (code, shown) == (0, "") and out


def test_ctrl_c_leaves_one_word_and_the_branch_as_it_was(repository: Path, tmp_path: Path) -> None:
    here = shutil.copytree(repository, tmp_path / "repository")
    before = Repository.open(LocalBlobs(here)).branch("main").head
    words = ["merge", "dev", "main", "--on-conflict", "accept", "--repository", str(here)]
    code, out, shown = run(words, after=0.0, pause=0.2, stop_at=r"read \d+ files")
    assert (code, out) == (130, ""), shown
    assert screen(shown) == "Stopped."
    assert Repository.open(LocalBlobs(here)).branch("main").head == before


def test_an_error_stands_alone(repository: Path) -> None:
    where = ["--repository", str(repository)]
    code, out, shown = run(["log", "nothing", *where], after=0.0, pause=0.2)
    assert (code, out) == (1, "")
    assert re.search(r"\d s", shown)
    assert screen(shown).startswith("Error: ")


def test_a_line_is_cut_to_the_width_of_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    mine, its = pty.openpty()
    with os.fdopen(its, "w") as terminal:
        monkeypatch.setattr(sys, "stderr", terminal)
        monkeypatch.setenv("TERM", "xterm")
        monkeypatch.setenv("COLUMNS", "20")
        progress = ProgressLine(after=0)
        progress.show("Read 1 of 2 files that have a long name")
        progress.begin()
        shown = ""
        while "Read 1" not in shown:
            shown += os.read(mine, 1_000).decode()
        progress.end()
        progress.end()
        shown += os.read(mine, 1_000).decode()
    os.close(mine)
    assert "Read 1 of 2 files t…" in shown
    assert screen(shown) == ""


def test_a_terminal_that_can_do_nothing_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    assert ProgressLine().is_live and not ProgressLine(is_quiet=True).is_live
    monkeypatch.setenv("TERM", "dumb")
    assert not ProgressLine().is_live


def test_elsewhere_lines_are_whole_and_not_too_many(capsys: pytest.CaptureFixture[str]) -> None:
    often, seldom = ProgressLine(seconds=0), ProgressLine(seconds=3_600)
    for number in range(3):
        often.begin()
        often.show(f"Read {number} of 2")
        seldom.show("never")
    often.clear()
    often.end()
    assert capsys.readouterr().err == "Read 0 of 2\nRead 1 of 2\nRead 2 of 2\n"


def test_an_operation_shows_none(capsys: pytest.CaptureFixture[str]) -> None:
    ProgressLine(seconds=0, is_quiet=True).show("Read")
    assert capsys.readouterr().err == ""


def test_what_is_done_with_files_is_counted_and_told() -> None:
    counts: Counter[str] = Counter()
    blobs: Any = WatchedBlobs(MemoryBlobs(), counts)
    assert activity_text(0, counts, None) == "0 s"
    assert blobs.create("data/a", b"123") and not blobs.create("data/a", b"4567")
    blobs.create_all({"data/b": b"89"})
    assert blobs.get("data/a") == b"123" and blobs.range("data/a", 1, 2) == b"23"
    assert [info.path for info in blobs.walk("data")] == ["data/a", "data/b"]
    assert blobs.create("logs/main/1", b"") and [end.blobs for end in blobs.ends("logs")] == [1]
    assert blobs.exists("data/a") and blobs.size("data/b") == 2 and blobs.folders("data") == []
    blobs.delete("data/b")
    assert activity_text(61.4, counts, (1, 2)) == (
        "61 s · read 1 file, 5 B · wrote 3 files, 5 B · deleted 1 file · listed 3 files · "
        "checked 2 files · Spark: 1 of 2 tasks"
    )
