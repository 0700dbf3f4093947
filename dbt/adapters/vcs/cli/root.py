"""The command `dbt-vcs` itself: what it is called with, and its sub-commands."""

from __future__ import annotations

import io
import sys

import click

from dbt.adapters.vcs.__version__ import version
from dbt.adapters.vcs.cli.groups import Lazy, RootGroup
from dbt.adapters.vcs.cli.options import common_options

COMMANDS = {
    "init": Lazy("dbt.adapters.vcs.cli.refs.init_command", "Make an empty repository."),
    "status": Lazy(
        "dbt.adapters.vcs.cli.upkeep.status_command",
        "Say where the repository and a branch stand.",
    ),
    "branch": Lazy(
        "dbt.adapters.vcs.cli.refs.branch_command", "List, create, rename and delete branches."
    ),
    "tag": Lazy("dbt.adapters.vcs.cli.refs.tag_command", "List, create, rename and delete tags."),
    "snapshot": Lazy(
        "dbt.adapters.vcs.cli.refs.snapshot_command",
        "List, create and delete named snapshots of tables.",
    ),
    "clone": Lazy(
        "dbt.adapters.vcs.cli.changing.clone_command",
        "Make a table from a version of another one.",
    ),
    "restore": Lazy(
        "dbt.adapters.vcs.cli.changing.restore_command",
        "Let a relation or a branch be what it was.",
    ),
    "revert": Lazy("dbt.adapters.vcs.cli.changing.revert_command", "Undo what a commit changed."),
    "log": Lazy(
        "dbt.adapters.vcs.cli.reading.log_command", "List the commits of a revision, newest first."
    ),
    "show": Lazy(
        "dbt.adapters.vcs.cli.reading.show_command", "Show a commit: its run, and what it changed."
    ),
    "diff": Lazy("dbt.adapters.vcs.cli.reading.diff_command", "Say how two commits differ."),
    "merge": Lazy(
        "dbt.adapters.vcs.cli.changing.merge_command",
        "Merge a branch, all its relations in one step.",
    ),
    "conflicts": Lazy(
        "dbt.adapters.vcs.cli.reading.conflicts_command",
        "Show what a merge into TARGET could not decide.",
    ),
    "resolve": Lazy(
        "dbt.adapters.vcs.cli.changing.resolve_command",
        "Choose a side for conflicts of RELATION, or values for a row.",
    ),
    "promote": Lazy(
        "dbt.adapters.vcs.cli.changing.promote_command",
        "Publish a branch, all its relations or none.",
    ),
    "optimize": Lazy(
        "dbt.adapters.vcs.cli.upkeep.optimize_command", "Write small files of tables together."
    ),
    "lineage": Lazy(
        "dbt.adapters.vcs.cli.reading.lineage_command", "Show what a version was made from."
    ),
    "blame": Lazy(
        "dbt.adapters.vcs.cli.reading.blame_command", "Say which commit last changed a row."
    ),
    "sql": Lazy("dbt.adapters.vcs.cli.reading.sql_command", "Run SQL on a branch, with Spark."),
    "runs": Lazy(
        "dbt.adapters.vcs.cli.refs.runs_command", "List, discard and publish runs of dbt."
    ),
    "gc": Lazy(
        "dbt.adapters.vcs.cli.upkeep.gc_command", "Delete files that nothing needs any more."
    ),
    "fsck": Lazy(
        "dbt.adapters.vcs.cli.upkeep.fsck_command", "Look for what is missing or damaged."
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

    Revisions are branches, tags, commit ids or the start of one, and what follows from them:
    main~2, main^2, main@{1}, "main@{2026-11-20 12:00}", "main@{2 hours ago}".

    Exit codes: 0 done; 1 not there, or a conflict; 2 wrong usage, or an error.
    """
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A character that the terminal's encoding lacks is spelled, and ends nothing.
        sys.stdout.reconfigure(errors="backslashreplace")
