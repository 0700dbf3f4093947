"""The command `dbt-vcs`, which loads neither dbt, Spark nor Java, so it answers at once."""

from __future__ import annotations

import io
import sys
from importlib import import_module
from typing import Any, Final

import click

from dbt.adapters.vcs.__version__ import version
from dbt.adapters.vcs.commands import COMMANDS, GROUPS
from dbt.adapters.vcs.commands.failure import failing_plainly, told_of
from dbt.adapters.vcs.commands.options import common_options, current_settings, with_options
from dbt.adapters.vcs.core.errors import VcsError

_FILES: Final = {"promote": "merge", "upgrade": "init"}
"""Where a command is that is not in the file of its name."""


class RootGroup(click.Group):
    """Commands whose modules are loaded when they are called, so that help is instant.

    Their errors are handled here.
    """

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Load and return a command; None if it does not exist."""
        if cmd_name not in COMMANDS:
            return None
        file = _FILES.get(cmd_name, cmd_name)
        module = import_module(f"dbt.adapters.vcs.commands.{file}")
        command = getattr(module, f"{cmd_name}_command")
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands' help without loading the commands."""
        for title, verbs in GROUPS.items():
            with formatter.section(title):
                formatter.write_dl(list(verbs.items()))

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; its exceptions become a message and an exit code."""
        try:
            with failing_plainly():
                return super().invoke(ctx)
        except click.ClickException as failure:
            settings = current_settings(ctx)
            # Click's own attribute, which its types call final.
            vars(failure)["message"] = with_options(failure.message, settings)
            if (settings.json or settings.jsonl) and isinstance(failure.__cause__, VcsError):
                # Imported here because it is slow, and help and completion don't need it.
                from dbt.adapters.vcs.commands.output import print_json, print_jsonl

                # A scheduler reads stdout; the message for people still goes to stderr.
                told = told_of(failure.__cause__, failure)
                print_jsonl([told]) if settings.jsonl else print_json(told)
            if settings.debug and failure.__cause__ is not None:
                # The cause alone: the traceback of the message made from it says nothing more.
                raise failure.__cause__ from None
            raise


@click.group(
    cls=RootGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 99},
    params=common_options(),
)
@click.version_option(version, prog_name="dbt-vcs")
def main() -> None:
    """Version control for the tables that dbt builds on Spark.

    A revision is a branch, a tag, a commit id or its first digits, or relative to one of these:
    main~2, main^2, main@{1}, "main@{2026-11-20 12:00}", "main@{2 hours ago}".

    Exit codes: 0 success; 1 not found, or a conflict; 2 wrong usage, or an error.
    """
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A character that the terminal's encoding lacks is escaped instead of failing.
        sys.stdout.reconfigure(errors="backslashreplace")
