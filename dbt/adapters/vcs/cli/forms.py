"""Forms of a command: an option that doesn't apply to a form is refused, never ignored."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import click
from click.core import ParameterSource

_SOURCES: Final = (ParameterSource.COMMANDLINE, ParameterSource.DEFAULT_MAP)
"""Sources of parameters that the caller gave: a command line, or arguments of an operation."""


def check_only(form: str, *known: str, hint: str = "") -> None:
    """Check that the current command was given no parameters other than these.

    Args:
        form: The form of the command, for the message: `--continue`.
        known: The names of the parameters that this form accepts.
        hint: What to do instead, added to the message.

    Raises:
        click.UsageError: Another parameter was given.
    """
    ctx = click.get_current_context()
    for param in _given(ctx):
        if param.expose_value and param.name not in known:
            raise click.UsageError(
                f"{_shown(param)} can't be used with {form}. Leave it out. {hint}".rstrip(), ctx
            )


def check_before(ctx: click.Context, command: click.Command) -> None:
    """Check that a command of a group accepts the options given before its name.

    Raises:
        click.UsageError: It doesn't, or accepts them only after its name.
    """
    for param in _given(ctx):
        takes = any(set(param.opts) & set(own.opts) for own in command.params)
        if not takes:
            raise click.UsageError(
                f"{_shown(param)} can't be used with {command.name}. Leave it out.", ctx
            )
        if param.expose_value:
            raise click.UsageError(f"Put {_shown(param)} after {command.name}.", ctx)


def _given(ctx: click.Context) -> Iterator[click.Parameter]:
    for param in ctx.command.params:
        name = str(param.name)
        # Click before 8.3 says of a list without words that it was given.
        if ctx.get_parameter_source(name) in _SOURCES and ctx.params.get(name) != ():
            yield param


def _shown(param: click.Parameter) -> str:
    return param.opts[0] if isinstance(param, click.Option) else param.human_readable_name
