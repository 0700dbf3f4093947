"""The command `dbt-vcs`, which loads neither dbt, Spark nor Java, so it answers at once."""

from __future__ import annotations

import io
import sys
from typing import Any, Final

import click

from dbt.adapters.vcs.__version__ import version
from dbt.adapters.vcs.commands import COMMANDS, GROUPS
from dbt.adapters.vcs.commands.failure import failing_plainly, told_of
from dbt.adapters.vcs.commands.options import common_options, current_settings, with_options
from dbt.adapters.vcs.commands.signatures import command_of
from dbt.adapters.vcs.core.errors import VcsError

_FILES: Final = {"promote": "merge", "upgrade": "init"}
"""Where a command is that is not in the file of its name."""


_NO_CHECKOUT: Final = (
    "Branches are chosen, not checked out: set branch in the dbt profile, or give --target. To "
    "create one: dbt-vcs branch create NAME"
)
_TABLES: Final = "To list tables: dbt-vcs du. To read one: dbt-vcs cat TABLE"
_GIT: Final = {
    "add": "Nothing is staged: each statement and each dbt run lands by itself",
    "checkout": f"{_NO_CHECKOUT}. To have old rows back: dbt-vcs restore RELATION --to REVISION",
    "commit": "Nothing waits to be committed: each statement and each dbt run lands by itself",
    "config": "Settings are in the dbt profile and in vcs.yml. To see what holds: dbt-vcs status",
    "describe": "To see a commit with its tags: dbt-vcs show REVISION",
    "fetch": "A repository is shared, so nothing is fetched",
    "ls": _TABLES,
    "ls-files": _TABLES,
    "ls-tree": _TABLES,
    "mv": "Tables are renamed with SQL: dbt-vcs sql 'alter table a rename to b'",
    "pull": "A repository is shared, so nothing is pulled. To have what another branch has: "
    "dbt-vcs merge SOURCE TARGET",
    "push": "A repository is shared, so nothing is pushed. To publish a branch: dbt-vcs promote "
    "SOURCE TARGET",
    "rebase": "History is not moved. To have what another branch has: dbt-vcs merge SOURCE TARGET",
    "remote": "A repository is shared, so it has no remotes. To see where it is: dbt-vcs status",
    "reset": "History is kept. To have an earlier state back: dbt-vcs restore --all --to REVISION",
    "rev-parse": "To see the commit of a revision: dbt-vcs show REVISION",
    "rm": "Tables are dropped with SQL: dbt-vcs sql 'drop table a'",
    "shortlog": "To list commits: dbt-vcs log",
    "stash": "Nothing is left uncommitted. To keep a state by name: dbt-vcs tag create NAME",
    "switch": _NO_CHECKOUT,
    "version": "To see the version: dbt-vcs --version",
    "worktree": _NO_CHECKOUT,
}
"""What to type for git's words that are no command here."""


class RootGroup(click.Group):
    """Commands whose modules are loaded when they are run, so that help is instant.

    Their errors are handled here.
    """

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command; None if it does not exist."""
        if cmd_name not in COMMANDS:
            return None
        name = cmd_name.replace("-", "_")
        module = f"dbt.adapters.vcs.commands.{_FILES.get(name, name)}"
        return command_of(module, f"{name}_command")

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command to run, and its arguments.

        Raises:
            click.UsageError: There is none; the message names what may be meant.
        """
        if args[0] == "help":
            # As git has it: `help merge`.
            args = [*args[1:2], "--help"]
        word = args[0]
        if word == "--help":
            click.echo(ctx.get_help(), color=ctx.color)
            ctx.exit()
        if word not in COMMANDS and not word.startswith("-"):
            from difflib import get_close_matches

            near = get_close_matches(word, COMMANDS, n=3)
            meant = f" Did you mean {' or '.join(near)}?" if near else ""
            told = _GIT.get(word)
            # Options after the word choose the repository, too, in what it says to type.
            settings = {"ignore_unknown_options": True, "allow_extra_args": True}
            rest = click.Command(word, params=common_options(), context_settings=settings)
            rest.make_context(word, args[1:], parent=ctx, resilient_parsing=True)
            hint = f" {told}." if told else meant or " To list them: dbt-vcs --help"
            raise click.UsageError(f"There is no command {word!r}.{hint}", ctx)
        return super().resolve_command(ctx, args)

    # `Any`, here and elsewhere: items of click 8.1 take no type, and those of later versions must.
    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[Any]:
        """Return the commands and options that begin like a word, without loading a command."""
        from click.shell_completion import CompletionItem

        found = [
            CompletionItem(name, help=told)
            for name, told in COMMANDS.items()
            if name.startswith(incomplete)
        ]
        return found + click.Command.shell_complete(self, ctx, incomplete)

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
