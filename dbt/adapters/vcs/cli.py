"""The command `dbt-vcs`, which loads neither dbt, Spark nor Java, so it answers at once."""

from __future__ import annotations

import io
import sys
from collections.abc import Mapping
from importlib import import_module
from typing import Any, NamedTuple

import click

from dbt.adapters.vcs.__version__ import version
from dbt.adapters.vcs.commands.failure import failing_plainly, told_of
from dbt.adapters.vcs.commands.options import common_options, current_settings
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
        # The name of the command is that of the verb's function.
        command = getattr(module, f"{cmd_name}_command")
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
                from dbt.adapters.vcs.commands.output import print_json, print_jsonl

                # A scheduler reads stdout; the message for people still goes to stderr.
                told = told_of(failure.__cause__, failure.exit_code)
                print_jsonl([told]) if settings.jsonl else print_json(told)
            if settings.debug and failure.__cause__ is not None:
                raise failure.__cause__ from None
            raise


COMMANDS = {
    "init": Lazy("dbt.adapters.vcs.commands.init", "Create an empty repository."),
    "status": Lazy(
        "dbt.adapters.vcs.commands.status",
        "Show the status of the repository and a branch.",
    ),
    "branch": Lazy("dbt.adapters.vcs.commands.refs", "List, create, rename and delete branches."),
    "tag": Lazy("dbt.adapters.vcs.commands.refs", "List, create, rename and delete tags."),
    "snapshot": Lazy(
        "dbt.adapters.vcs.commands.refs",
        "List, create and delete named snapshots of tables.",
    ),
    "clone": Lazy(
        "dbt.adapters.vcs.commands.clone",
        "Create a table from a version of another table.",
    ),
    "restore": Lazy(
        "dbt.adapters.vcs.commands.restore",
        "Restore a relation or a branch to an earlier state.",
    ),
    "revert": Lazy("dbt.adapters.vcs.commands.revert", "Undo the changes of a commit."),
    "log": Lazy("dbt.adapters.vcs.commands.log", "List the commits of a revision, newest first."),
    "reflog": Lazy(
        "dbt.adapters.vcs.commands.reflog",
        "List the moves of a branch or tag, newest first.",
    ),
    "show": Lazy("dbt.adapters.vcs.commands.show", "Show a commit: its run, and what it changed."),
    "diff": Lazy("dbt.adapters.vcs.commands.diff", "Show how two commits differ."),
    "merge": Lazy(
        "dbt.adapters.vcs.commands.merge",
        "Merge a branch, with all its relations in one step.",
    ),
    "conflicts": Lazy(
        "dbt.adapters.vcs.commands.conflicts",
        "Show the conflicts of a merge into TARGET.",
    ),
    "resolve": Lazy(
        "dbt.adapters.vcs.commands.resolve",
        "Resolve conflicts of RELATION with one side, or with values for a row.",
    ),
    "promote": Lazy(
        "dbt.adapters.vcs.commands.merge",
        "Publish a branch, all of its relations or none.",
    ),
    "optimize": Lazy("dbt.adapters.vcs.commands.optimize", "Combine small files of tables."),
    "lineage": Lazy("dbt.adapters.vcs.commands.lineage", "Show what a version was built from."),
    "stale": Lazy(
        "dbt.adapters.vcs.commands.stale",
        "List tables that were made from other versions than REVISION shows.",
    ),
    "bisect": Lazy(
        "dbt.adapters.vcs.commands.bisect",
        "Find the commit, run and model that broke a condition.",
    ),
    "blame": Lazy("dbt.adapters.vcs.commands.blame", "Show which commit last changed a row."),
    "sql": Lazy("dbt.adapters.vcs.commands.sql", "Run SQL on a branch, with Spark."),
    "cat": Lazy(
        "dbt.adapters.vcs.commands.cat",
        "Write the rows of RELATION, a table, as they are read.",
    ),
    "runs": Lazy("dbt.adapters.vcs.commands.runs", "List, discard and publish runs of dbt."),
    "gc": Lazy("dbt.adapters.vcs.commands.gc", "Delete files that are no longer needed."),
    "reuse": Lazy(
        "dbt.adapters.vcs.commands.reuse",
        "Show what is remembered of computed results, and why one was computed.",
    ),
    "purge": Lazy(
        "dbt.adapters.vcs.commands.purge",
        "Erase rows of RELATION, schema.table, from all versions on all branches.",
    ),
    "copy": Lazy(
        "dbt.adapters.vcs.commands.copy",
        "Copy a repository, or bring a copy up to date.",
    ),
    "serve": Lazy(
        "dbt.adapters.vcs.commands.serve",
        "Serve the repository as an Iceberg REST catalog.",
    ),
    "export": Lazy(
        "dbt.adapters.vcs.commands.export",
        "Let other engines read a branch's tables, without a server.",
    ),
    "fsck": Lazy("dbt.adapters.vcs.commands.fsck", "Check for missing or damaged files."),
    "upgrade": Lazy(
        "dbt.adapters.vcs.commands.init",
        "Give a repository of an older version the newest format.",
    ),
    "repair": Lazy(
        "dbt.adapters.vcs.commands.repair",
        "Show what is damaged and what can be done about it, or do it.",
    ),
    "prepare": Lazy(
        "dbt.adapters.vcs.commands.prepare",
        "Let Spark start sooner on this machine.",
    ),
}


@click.group(
    cls=RootGroup,
    lazy=COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 99},
)
@common_options
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
