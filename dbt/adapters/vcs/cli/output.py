"""Output: plain text for files and pipes, fitted and styled text for terminals, streamed."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from time import monotonic
from typing import IO, TYPE_CHECKING, Final

from dbt.adapters.vcs.layout.styled import Block, Style, TextLine, fitted_lines, plain_text

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
"""Seconds after which collected lines are flushed."""


def print_blocks(blocks: Iterable[Block]) -> None:
    """Print blocks as they are read, styled and fitted if the output is a terminal."""
    if sys.stdout.isatty():
        # Imported here because it is slow to import, which scripts would notice.
        from rich.console import Console

        print_styled(blocks, Console(highlight=False))
    else:
        print_lines(plain_text(blocks))


def print_styled(blocks: Iterable[Block], console: Console) -> None:
    """Print blocks on a terminal as they are read."""
    from rich.color import ColorSystem
    from rich.style import Style as Look

    looks = {name: Look.parse(look) for name, look in _STYLES.items()}
    if console.no_color:
        looks = {name: look.without_color for name, look in looks.items()}
    # Only the basic colours, which every colour terminal has.
    system = None if console.color_system is None else ColorSystem.STANDARD

    def styled(line: TextLine) -> str:
        return "".join(
            looks[span.style].render(span.text, color_system=system) for span in line.spans
        )

    print_lines(map(styled, fitted_lines(blocks, max(1, console.width))), console.file)


def print_lines(lines: Iterable[str], file: IO[str] | None = None) -> None:
    """Print lines to standard output or a file as they are read, keeping at most one in memory."""
    into = sys.stdout if file is None else file
    written = monotonic()
    for line in lines:
        into.write(f"{line}\n")
        now = monotonic()
        if now - written > _SOON:
            into.flush()
            written = now
    into.flush()
