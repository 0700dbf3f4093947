"""Groups of commands: one that loads them lazily, one with a default command."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any, NamedTuple

import click

from dbt.adapters.vcs.cli.failure import failing_plainly, told_of
from dbt.adapters.vcs.cli.forms import check_before
from dbt.adapters.vcs.cli.options import current_settings
from dbt.adapters.vcs.core.errors import VcsError


class Lazy(NamedTuple):
    """A command's module, which defines it under the module's name, and its one-line help."""

    module: str
    help: str


class RootGroup(click.Group):
    """Commands whose modules are loaded when they are called, so that help is instant.

    Their errors are handled here.
    """

    def __init__(self, *args: Any, lazy: Mapping[str, Lazy], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._lazy = lazy

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands."""
        return list(self._lazy)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Load and return a command; None if it does not exist."""
        if cmd_name not in self._lazy:
            return None
        module = import_module(self._lazy[cmd_name].module)
        command = getattr(module, cmd_name)
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands' help without loading the commands."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, lazy.help) for name, lazy in self._lazy.items()])

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; its exceptions become a message and an exit code."""
        try:
            with failing_plainly():
                return super().invoke(ctx)
        except click.ClickException as failure:
            settings = current_settings(ctx)
            if (settings.json or settings.jsonl) and isinstance(failure.__cause__, VcsError):
                # Imported here because it is slow, and help and completion don't need it.
                from dbt.adapters.vcs.cli.json_text import print_json, print_jsonl

                # A scheduler reads stdout; the message for people still goes to stderr.
                told = told_of(failure.__cause__, failure.exit_code)
                print_jsonl([told]) if settings.jsonl else print_json(told)
            if settings.debug and failure.__cause__ is not None:
                raise failure.__cause__ from None
            raise


class DefaultGroup(click.Group):
    """Commands with a default, used if the first argument names none of them.

    Attributes:
        fallback: Name of the default; None to refuse such an argument.
    """

    def __init__(self, *args: Any, fallback: str | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **{"invoke_without_command": True, **kwargs})
        self.fallback = fallback

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command to run, and its arguments.

        Raises:
            click.UsageError: There is none, or it doesn't accept the options given before its
            name.
        """
        if self.fallback and args[0] not in self.commands:
            args = [self.fallback, *args]
        found = super().resolve_command(ctx, args)
        if found[1] is not None:
            check_before(ctx, found[1])
        return found
