"""Output: plain text for files and pipes, styled text that fits for a terminal, as it comes."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from time import monotonic
from typing import IO, TYPE_CHECKING, Final

from dbt.adapters.vcs.layout.styled import Block, Line, Style, fitted_lines, plain_text

if TYPE_CHECKING:
    from rich.console import Console

_STYLES: Final[dict[Style, str]] = {
    "plain": "",
    "heading": "bold",
    "commit": "yellow",
    "name": "cyan",
    "faint": "dim",
    "good": "green",
    "bad": "red",
    "warn": "yellow",
}
_SOON: Final = 0.1
"""Seconds after which lines are handed over that were gathered to be written together."""


def print_blocks(blocks: Iterable[Block]) -> None:
    """Print blocks as they come, with styles and made to fit if a terminal reads them."""
    if sys.stdout.isatty():
        # Loading it takes a while, which nobody notices but scripts.
        from rich.console import Console

        print_styled(blocks, Console(highlight=False))
    else:
        print_lines(plain_text(blocks))


def print_styled(blocks: Iterable[Block], console: Console) -> None:
    """Print blocks on a terminal as they come."""
    from rich.color import ColorSystem
    from rich.style import Style as Look

    looks = {name: Look.parse(look) for name, look in _STYLES.items()}
    if console.no_color:
        looks = {name: look.without_color for name, look in looks.items()}
    # The colours are those that every terminal has that has any.
    system = None if console.color_system is None else ColorSystem.STANDARD

    def styled(line: Line) -> str:
        return "".join(
            looks[span.style].render(span.text, color_system=system) for span in line.spans
        )

    print_lines(map(styled, fitted_lines(blocks, max(1, console.width))), console.file)


def print_lines(lines: Iterable[str], file: IO[str] | None = None) -> None:
    """Print lines on standard output, or into a file, as they come; no more than one is kept."""
    into = sys.stdout if file is None else file
    written = monotonic()
    for line in lines:
        into.write(f"{line}\n")
        now = monotonic()
        if now - written > _SOON:
            into.flush()
            written = now
    into.flush()
