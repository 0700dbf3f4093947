"""The command `dbt-vcs`, which loads neither dbt, Spark nor Java, so it answers at once."""

from __future__ import annotations

import io
import sys
from importlib import import_module
from typing import Any, Final

import click

from dbt.adapters.vcs.__version__ import version
from dbt.adapters.vcs.commands.failure import failing_plainly, told_of
from dbt.adapters.vcs.commands.options import common_options, current_settings
from dbt.adapters.vcs.core.errors import VcsError

COMMANDS = {
    "init": "Create an empty repository.",
    "status": "Show the status of the repository and a branch.",
    "branch": "List, create, rename and delete branches.",
    "tag": "List, create, rename and delete tags.",
    "snapshot": "List, create and delete named snapshots of tables.",
    "clone": "Create a table from a version of another table.",
    "restore": "Restore a relation or a branch to an earlier state.",
    "revert": "Undo the changes of a commit.",
    "log": "List the commits of a revision, newest first.",
    "reflog": "List the moves of a branch or tag, newest first.",
    "show": "Show a commit: its run, and what it changed.",
    "diff": "Show how two commits differ.",
    "review": "Review what a branch changes before it is merged.",
    "merge": "Merge a branch, with all its relations in one step.",
    "forecast": "Merge open branches in memory, and list what will conflict.",
    "conflicts": "Show the conflicts of a merge into TARGET.",
    "resolve": "Resolve conflicts of RELATION with one side, or with values for a row.",
    "promote": "Publish a branch, all of its relations or none.",
    "optimize": "Combine small files of tables.",
    "lineage": "Show what a version was built from.",
    "du": "Show what the tables of REVISION take up, the largest first.",
    "stale": "List tables that were made from other versions than REVISION shows.",
    "bisect": "Find the commit, run and model that broke a condition.",
    "blame": "Show which commit last changed a row.",
    "sql": "Run SQL on a branch, with Spark.",
    "cat": "Write the rows of RELATION, a table, as they are read.",
    "runs": "List, discard and publish runs of dbt.",
    "gc": "Delete files that are no longer needed.",
    "reuse": "Show what is remembered of computed results, and why one was computed.",
    "purge": "Erase rows of RELATION, schema.table, from all versions on all branches.",
    "copy": "Copy a repository, or bring a copy up to date.",
    "serve": "Serve the repository as an Iceberg REST catalog.",
    "export": "Let other engines read a branch's tables, without a server.",
    "fsck": "Check for missing or damaged files.",
    "upgrade": "Give a repository of an older version the newest format.",
    "repair": "Show what is damaged and what can be done about it, or do it.",
    "prepare": "Let Spark start sooner on this machine.",
}
"""The one-line help of each command, which is listed without loading the command."""

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
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; its exceptions become a message and an exit code."""
        try:
            with failing_plainly():
                return super().invoke(ctx)
        except click.ClickException as failure:
            settings = current_settings(ctx)
            if (settings.json or settings.jsonl) and isinstance(failure.__cause__, VcsError):
                # Imported here because it is slow, and help and completion don't need it.
                from dbt.adapters.vcs.commands.output import print_json, print_jsonl

                # A scheduler reads stdout; the message for people still goes to stderr.
                told = told_of(failure.__cause__, failure.exit_code)
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
