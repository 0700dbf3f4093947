"""Output: plain text or JSON for files and pipes, styled text for a terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

import click
import msgspec

from dbt.adapters.vcs.verbs.layout import Block, Grid, Line, Span, Style, plain_lines, printable

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

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


def print_json(value: Any) -> None:
    """Print a value as JSON: objects by field name, times in UTC."""
    data = msgspec.json.format(msgspec.json.encode(value), indent=2)
    click.echo(data.decode())


def print_blocks(blocks: Iterable[Block]) -> None:
    """Print blocks, with styles if a terminal reads them."""
    if sys.stdout.isatty():
        # Loading it takes a while, which nobody notices but scripts.
        from rich.console import Console

        print_styled(blocks, Console(highlight=False))
        return
    for text in plain_lines(blocks):
        click.echo(text)


def print_styled(blocks: Iterable[Block], console: Console) -> None:
    """Print blocks on a terminal."""
    for block in blocks:
        if isinstance(block, Line):
            console.print(_text(*block.spans), soft_wrap=True)
        else:
            console.print(_table(block))


def _text(*spans: Span) -> Text:
    from rich.text import Text

    return Text.assemble(*((printable(span.text), _STYLES[span.style]) for span in spans))


def _table(grid: Grid) -> Table:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for head in grid.heads:
        table.add_column(
            head,
            justify="right" if head in grid.right else "left",
            no_wrap=head != grid.heads[-1],
            overflow="fold",
        )
    for row in grid.rows:
        table.add_row(*(_text(span) for span in row))
    return table
