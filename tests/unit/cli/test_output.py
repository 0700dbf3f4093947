from __future__ import annotations

import io
from collections.abc import Iterator

import pytest
from click import Context
from rich.console import Console

from dbt.adapters.vcs.cli import main
from dbt.adapters.vcs.commands import COMMANDS
from dbt.adapters.vcs.commands.layout import Grid, Span, line
from dbt.adapters.vcs.commands.output import print_lines, print_styled


def styled(*blocks: object, width: int = 40) -> str:
    file = io.StringIO()
    console = Console(file=file, force_terminal=True, width=width, color_system="standard")
    print_styled(blocks, console)  # type: ignore[arg-type]
    return file.getvalue()


def test_a_terminal_gets_colours_and_no_markup() -> None:
    text = styled(line(Span("abc", "commit"), " [bold]x[/bold] \x1b[2J"))
    assert text == "\x1b[33mabc\x1b[0m [bold]x[/bold] \\x1b[2J\n"


def test_long_lines_are_left_to_the_terminal() -> None:
    assert styled(line("x" * 100)) == "x" * 100 + "\n"


def test_texts_of_a_grid_are_shortened_and_names_are_not() -> None:
    rows = ((Span("r" * 20, "name"), Span("word " * 10)),)
    lines = styled(Grid(heads=("RUN", "NOTE"), rows=rows, whole=frozenset({"RUN"}))).splitlines()
    assert len(lines) == 2
    assert "r" * 20 in lines[1]
    assert lines[1].endswith("…")


def test_a_terminal_that_wants_no_colours_gets_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    assert styled(line(Span("abc", "commit"))) == "abc\n"


def test_lines_are_printed_as_they_come() -> None:
    file = io.StringIO()

    def lines() -> Iterator[str]:
        for number in range(3):
            assert file.getvalue().count("\n") == number
            yield str(number)

    print_lines(lines(), file)
    assert file.getvalue() == "0\n1\n2\n"


def test_the_help_of_the_list_is_that_of_the_commands() -> None:
    for name, help in COMMANDS.items():
        command = main.get_command(Context(main), name)
        assert command is not None
        assert command.name == name
        assert (command.help or "").partition("\n")[0] == help
