"""`dbt-vcs resolve -i` on a terminal: what it shows, asks, stores and says in the end."""

from __future__ import annotations

import os
import pty
import re
import select
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from dbt.adapters.vcs.commands.merge import continue_merge, merge
from dbt.adapters.vcs.core.errors import ConflictError
from tests.unit.cli.conftest import Call
from tests.unit.commands.test_resolve_values import BASE, OURS, THEIRS, rows, table
from tests.unit.tables import Tables
from tests.unit.warehouse import Warehouse

PROGRAM = "from dbt.adapters.vcs.cli import main; main()"


class Terminal:
    """A command with a terminal of its own, and somebody who types."""

    def __init__(self, *arguments: str) -> None:
        self._mine, its = pty.openpty()
        self.shown = ""
        self._read = 0
        self._process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, *arguments],
            stdin=its,
            stdout=its,
            stderr=its,
            env={**os.environ, "TERM": "dumb", "COLUMNS": "100", "DBT_VCS_AUTHOR": "ann"},
        )
        os.close(its)

    def type(self, *words: str) -> str:
        """Answer each question; return what was shown before the last one."""
        shown = ""
        for word in words:
            shown = self.asked()
            os.write(self._mine, f"{word}\n".encode())
        return shown

    def asked(self) -> str:
        """Wait for a question, and return what was shown since the last one."""
        deadline = time.monotonic() + 60
        while not re.search(r"\]: $|Column: $|Value of [^\n]*: $", self.shown[self._read :]):
            assert time.monotonic() < deadline, self.shown
            if not self._more():
                raise AssertionError(f"It ended: {self.shown}")
        found = self.shown[self._read :]
        self._read = len(self.shown)
        return found

    def end(self) -> str:
        """Wait for the command to end, and return what it showed last."""
        while self._more():
            pass
        self.close()
        assert self._process.returncode == 0, self.shown
        return self.shown[self._read :]

    def close(self) -> None:
        if self._mine >= 0:
            os.close(self._mine)
            self._mine = -1
        if self._process.poll() is None:
            # It has ended, or ends now, unless a test failed before it quit.
            try:
                self._process.wait(10)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()

    def _more(self) -> bool:
        if not select.select([self._mine], [], [], 60)[0]:
            raise AssertionError(f"Nothing more was shown: {self.shown}")
        try:
            part = os.read(self._mine, 4_096)
        except OSError:
            # The command has closed the terminal.
            return False
        self.shown += part.decode(errors="replace").replace("\r\n", "\n")
        return bool(part)


@pytest.fixture
def waiting(warehouse: Warehouse) -> Warehouse:
    """A merge with five rows of `a` and the view `v` in conflict."""
    warehouse.put(a=table(warehouse, BASE), v=warehouse.view("select 1"))
    warehouse.branch("dev")
    warehouse.put("dev", a=table(warehouse, THEIRS), v=warehouse.view("select 2"))
    warehouse.put(a=table(warehouse, OURS), v=warehouse.view("select 3"))
    with pytest.raises(ConflictError):
        merge(warehouse.repository, "dev", "main", author="ann")
    return warehouse


@pytest.fixture
def terminal(waiting: Warehouse) -> Iterator[Terminal]:
    made = Terminal("resolve", "-r", "warehouse", "-i", "main")
    yield made
    made.close()


def test_each_letter_decides_and_the_end_says_how_to_go_on(
    terminal: Terminal, waiting: Warehouse
) -> None:
    first = terminal.type("x")
    assert "shop.v conflicts as a whole: ours changed it, theirs changed it (6 left)" in first
    assert "Choose [b,o,t,d,u,s,q,?]: " in first
    assert "Found 'x'; expected one of b, o, t, d, u, s, q, ?" in terminal.type("t")
    # Row 1: both changed the credit, nobody anything else.
    row = terminal.type("c")
    assert "shop.a  id=1  (5 left)" in row
    assert re.search(r"!\s+credit\s+1\.00\s+2\.00\s+3\.00", row)
    assert "2 more columns, the same" in row
    assert "credit  b 1.00  o 2.00  t 3.00" in terminal.type("t")
    # Row 2: a value for the note, the credit by cell.
    assert "id=2" in terminal.type("v")
    assert "Columns: credit, note, name" in terminal.type("note")
    assert "Value of note, varchar(7)" in terminal.type("too long")
    terminal.type("o")
    refused = terminal.type("v")
    assert "'too long' is not a value of the column note of shop.a" in refused
    terminal.type("note", "'NULL'")
    terminal.type("v")
    assert "Value of credit, decimal(9,2)" in terminal.type("9.5")
    # Row 3, taken back and decided again; row 4 is gone in ours, row 7 is new on both sides.
    assert "id=3" in terminal.type("o")
    assert "id=4" in terminal.type("u")
    assert "Took back: Resolve 1 of shop.a with ours (by ann)." in terminal.type("b")
    gone = terminal.type("c")
    assert "No such row in ours." in gone
    assert "One side deleted the row" in terminal.type("d")
    assert "No such row in base." in terminal.type("v")
    terminal.type("credit", "NULL")
    # Name was changed by both; the base has no row to take it from.
    assert "name [o,t,v]" in terminal.type("t")
    end = terminal.end()
    assert (
        "No conflict is left. To finish the merge: dbt-vcs -r warehouse merge --continue main"
        in (" ".join(end.split()))
    )
    continue_merge(waiting.repository, "main", author="ann")
    assert rows(waiting) == {
        0: ("1.00", "old", "n0"),
        1: ("3.00", "old", "n1"),
        2: ("9.50", "NULL", "n2"),
        3: ("1.00", "old", "n3"),
        5: ("1.00", "old", "n5"),
        7: ("None", "same", "their"),
    }
    assert waiting.shown()["shop.v"] == waiting.shown("dev")["shop.v"]


def test_help_skip_and_quit_keep_what_is_decided(terminal: Terminal) -> None:
    helped = terminal.type("?", "s")
    assert "t  take their row" in helped
    assert "O  keep ours" not in helped
    assert "id=1" in terminal.type("s")
    assert "O  keep ours for all" in terminal.type("?", "T")
    # What was skipped is not asked about again, and is open.
    assert "1 left." in terminal.end()


def test_the_end_of_the_input_keeps_what_is_decided(terminal: Terminal) -> None:
    terminal.type("t", "\x04")
    assert "5 left." in terminal.end()


def test_one_relation_is_asked_about(waiting: Warehouse) -> None:
    terminal = Terminal("resolve", "-r", "warehouse", "-i", "shop.v")
    terminal.type("o")
    assert "5 left." in terminal.end()
    for names, words in (
        (("shop.x",), "shop.x has no conflicts; expected one of: shop.a, shop.v"),
        (("dev",), "No merge into 'dev' is waiting"),
    ):
        failed = Terminal("resolve", "-r", "warehouse", "-i", *names)
        with pytest.raises(AssertionError, match="It ended"):
            failed.asked()
        assert words in failed.shown
        failed.close()


def test_copies_of_rows_without_a_key_are_taken_from_a_side(warehouse: Warehouse) -> None:
    tables = Tables(warehouse)
    base = tables.entry([tables.block({1: "a"})])
    tables.put(a=base)
    warehouse.branch("dev")
    tables.put("dev", a=tables.entry([], parents=[base]))
    more = [tables.block({1: "a"}), tables.block({1: "a"})]
    tables.put(a=tables.entry(more, parents=[base]))
    with pytest.raises(ConflictError):
        merge(warehouse.repository, "dev", "main", author="ann")
    terminal = Terminal("resolve", "-r", "warehouse", "-i")
    shown = terminal.type("t")
    assert "Copies of the row, compared with the base: ours +1, theirs -1" in shown
    assert "[b,o,t,O,T,u,s,q,?]" in shown
    assert "No conflict is left" in terminal.end()


def test_values_of_others_can_not_write_on_the_terminal(warehouse: Warehouse) -> None:
    tables = Tables(warehouse)
    base = tables.entry([tables.block({1: "a"})], key=True)
    tables.put(a=base)
    warehouse.branch("dev")
    hostile = ("\x1b[2J\u202eevil", "line\nbreak" + "x" * 10_000)
    for branch, text in zip(("main", "dev"), hostile, strict=True):
        tables.put(branch, a=tables.entry([tables.block({1: text})], parents=[base], key=True))
    with pytest.raises(ConflictError):
        merge(warehouse.repository, "dev", "main", author="ann")
    terminal = Terminal("resolve", "-r", "warehouse", "-i")
    assert "evil" in terminal.type("c")
    assert "evil" in terminal.type("o")
    assert "\x1b" not in terminal.shown
    assert "\u202e" not in terminal.shown
    assert "No conflict is left" in terminal.end()


def test_without_a_terminal_it_says_what_to_do(waiting: Warehouse, vcs: Call) -> None:
    said = " ".join(vcs("resolve", "-i", code=2).stderr.split())
    assert "-i asks about each conflict on a terminal, and standard input is none." in said
    assert "--with can't be used with -i" in vcs("resolve", "-i", "--with", "ours", code=2).stderr


def test_the_name_of_a_column_does_not_control_the_terminal(warehouse: Warehouse) -> None:
    name = "no\x1b[2Jte"
    warehouse.put(a=table(warehouse, BASE, note=name))
    warehouse.branch("dev")
    warehouse.put("dev", a=table(warehouse, THEIRS, note=name))
    warehouse.put(a=table(warehouse, OURS, note=name))
    with pytest.raises(ConflictError):
        merge(warehouse.repository, "dev", "main", author="ann")
    terminal = Terminal("resolve", "-r", "warehouse", "-i", "main")
    terminal.type("s", "v", "nix", "v", name, "1", "o", "q")
    terminal.end()
    assert r"Value of no\x1b[2Jte" in terminal.shown
    assert r"one of credit, no\x1b[2Jte" in terminal.shown
    # The terminal itself repeats what is typed, as ^[.
    assert "\x1b[2J" not in terminal.shown
