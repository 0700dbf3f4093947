"""Long output on a terminal goes to a pager, chosen as git does."""

from __future__ import annotations

import os
import pty
import select
import sys
import time
from pathlib import Path

import pytest

from tests.unit.cli.conftest import Call
from tests.unit.iceberg.lake import Lake
from tests.unit.warehouse import Warehouse

MAIN = "from dbt.adapters.vcs.cli import main; main(prog_name='dbt-vcs')"


@pytest.fixture(autouse=True)
def history(warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    """A repository with two commits, and no pager chosen yet."""
    warehouse.put(a="1 2")
    warehouse.put(a="1 2", b="1")
    for name in ("PAGER", "LESS", "NO_COLOR", "DBT_VCS_PAGER"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")


def on_terminal(*arguments: str, **env: str) -> tuple[int, str]:
    """Run the command on a terminal, and return its exit code and what was shown."""
    pid, terminal = pty.fork()
    if pid == 0:
        words = [sys.executable, "-c", MAIN, "-r", "warehouse", *arguments]
        os.execve(sys.executable, words, {**os.environ, **env})
    shown, end = b"", time.monotonic() + 60
    while time.monotonic() < end:
        if not select.select([terminal], [], [], 1)[0]:
            continue
        try:
            part = os.read(terminal, 65536)
        except OSError:
            # So Linux says that nobody writes there any more.
            break
        if not part:
            break
        shown += part
    os.close(terminal)
    _, status = os.waitpid(pid, 0)
    return os.waitstatus_to_exitcode(status), shown.decode().replace("\r\n", "\n")


def marking(folder: Path, mark: str) -> str:
    """Return a pager that shows a mark before what it gets."""
    path = folder / f"pager-{mark}"
    path.write_text(f"#!/bin/sh\necho '<{mark}>'\nexec cat\n")
    path.chmod(0o755)
    return str(path)


VERBS = [
    ("log",),
    ("log", "--json"),
    ("show", "main"),
    ("diff", "main~1", "main", "--stat"),
]


@pytest.mark.parametrize("arguments", VERBS, ids=" ".join)
def test_a_verb_that_lists_has_a_pager(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    code, paged = on_terminal(*arguments, DBT_VCS_PAGER=marking(tmp_path, "mine"))
    plain_code, plain = on_terminal("--no-pager", *arguments, DBT_VCS_PAGER="false")
    assert paged == f"<mine>\n{plain}"
    # Whatever the pager's: 1 of `diff` says that something differs.
    assert code == plain_code == (1 if arguments[0] == "diff" else 0)
    assert "--json" in arguments or "\x1b[" in paged


def test_the_pager_is_chosen_as_git_does(tmp_path: Path) -> None:
    mine, general = marking(tmp_path, "mine"), marking(tmp_path, "general")
    assert "<mine>" in on_terminal("log", DBT_VCS_PAGER=mine, PAGER=general)[1]
    assert "<general>" in on_terminal("log", PAGER=general)[1]
    for none in ("", "cat"):
        assert "<" not in on_terminal("log", DBT_VCS_PAGER=none, PAGER=general)[1]
    assert "<" not in on_terminal("log", PAGER=general, TERM="dumb")[1]
    # One that is short and no list of anything needs none.
    assert "<" not in on_terminal("branch", "create", "dev", PAGER=general)[1]


def test_short_output_is_shown_without_waiting_where_no_pager_is_chosen() -> None:
    code, shown = on_terminal("log")
    assert code == 0
    assert "Create the repository" in shown


def test_a_pager_that_is_quit_early_ends_the_command_quietly(warehouse: Warehouse) -> None:
    for number in range(60):
        warehouse.put(a=f"1 {number + 2}")
    code, shown = on_terminal("log", "-n", "0", DBT_VCS_PAGER="head -n 1")
    assert code == 0
    assert len(shown.splitlines()) == 1
    code, shown = on_terminal("diff", "main~2", "main", DBT_VCS_PAGER="true")
    assert (code, shown) == (1, "")


def test_rows_that_are_written_as_bytes_go_to_the_pager(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    lake = Lake(tmp_path / "warehouse")
    lake.run("create table s.t (id bigint, name string)")
    lake.add("t", [(number, "x" * 50) for number in range(5000)])
    mine = marking(tmp_path, "mine")
    code, shown = on_terminal("cat", "s.t", "-n", "2", DBT_VCS_PAGER=mine)
    assert code == 0
    # Where reading takes seconds, its progress is shown before.
    assert '<mine>\n"id","name"\n0,' in shown
    code, shown = on_terminal("cat", "s.t", DBT_VCS_PAGER="head -n 1")
    assert (code, shown.count("\n0,")) == (0, 0)
    assert shown.endswith('"id","name"\n')


def test_an_error_is_shown_without_a_pager(tmp_path: Path) -> None:
    code, shown = on_terminal("log", "nowhere", DBT_VCS_PAGER=marking(tmp_path, "mine"))
    assert code == 1
    assert "Error:" in shown
    assert "<mine>" not in shown


def test_what_is_no_terminal_has_no_pager(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DBT_VCS_PAGER", marking(tmp_path, "mine"))
    assert "<mine>" not in call("-r", "warehouse", "log").output
