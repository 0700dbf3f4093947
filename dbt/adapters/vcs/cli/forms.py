"""Forms of a command: the options that one of them doesn't know are refused, never ignored."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import click
from click.core import ParameterSource

_SOURCES: Final = (ParameterSource.COMMANDLINE, ParameterSource.DEFAULT_MAP)
"""Where what a person gave comes from: a command line, or the arguments of an operation."""


def check_only(form: str, *known: str) -> None:
    """Check that nothing was given to the command at work but the parameters of these names.

    Args:
        form: How the command was called, for the message: `--continue`.
        known: The names of the parameters that this form takes.

    Raises:
        click.UsageError: Something else was given.
    """
    ctx = click.get_current_context()
    for param in _given(ctx):
        if param.expose_value and param.name not in known:
            raise click.UsageError(f"{_shown(param)} does not go with {form}.", ctx)


def check_before(ctx: click.Context, command: click.Command) -> None:
    """Check that a command of a group takes what was given before its name.

    Raises:
        click.UsageError: It doesn't, or takes it only after its name.
    """
    for param in _given(ctx):
        takes = any(set(param.opts) & set(own.opts) for own in command.params)
        if not takes:
            raise click.UsageError(f"{_shown(param)} does not go with {command.name}.", ctx)
        if param.expose_value:
            raise click.UsageError(f"Give {_shown(param)} after {command.name}.", ctx)


def _given(ctx: click.Context) -> Iterator[click.Parameter]:
    for param in ctx.command.params:
        if ctx.get_parameter_source(str(param.name)) in _SOURCES:
            yield param


def _shown(param: click.Parameter) -> str:
    return param.opts[0] if isinstance(param, click.Option) else param.human_readable_name
