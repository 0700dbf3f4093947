"""Progress is shown on stderr, as a line that is written again or a line now and then."""

from __future__ import annotations

import sys

import pytest

from dbt.adapters.vcs.cli.progress_line import ProgressLine


def test_a_terminal_shows_one_line_that_is_taken_away(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    progress = ProgressLine()
    progress.show("Read 1 of 2")
    progress.show("Done")
    progress.clear()
    progress.clear()
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err == "\rRead 1 of 2\rDone       \r    \r"


def test_elsewhere_lines_are_whole_and_not_too_many(capsys: pytest.CaptureFixture[str]) -> None:
    often, seldom = ProgressLine(0), ProgressLine(3_600)
    for number in range(3):
        often.show(f"Read {number} of 2")
        seldom.show("never")
    often.clear()
    assert capsys.readouterr().err == "Read 0 of 2\nRead 1 of 2\nRead 2 of 2\n"


def test_an_operation_shows_none(capsys: pytest.CaptureFixture[str]) -> None:
    ProgressLine(0, is_quiet=True).show("Read")
    assert capsys.readouterr().err == ""
