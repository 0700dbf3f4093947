from __future__ import annotations

import io

from click import Context
from rich.console import Console

from dbt.adapters.vcs.cli.output import print_styled
from dbt.adapters.vcs.cli.root import COMMANDS, main
from dbt.adapters.vcs.verbs.layout import Grid, Span, line


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


def test_the_last_column_of_a_grid_folds() -> None:
    grid = Grid(heads=("RUN", "NOTE"), rows=((Span("r" * 20, "name"), Span("word " * 10)),))
    lines = styled(grid).splitlines()
    assert len(lines) > 3
    assert "r" * 20 in lines[1]


def test_the_help_of_the_list_is_that_of_the_commands() -> None:
    for name, lazy in COMMANDS.items():
        command = main.get_command(Context(main), name)
        assert command is not None
        assert command.name == name
        assert (command.help or "").partition("\n")[0] == lazy.help
