"""The command `dbt-vcs` itself: its options and sub-commands."""

from __future__ import annotations

import io
import sys

import click

from dbt.adapters.vcs.__version__ import version
from dbt.adapters.vcs.cli.groups import Lazy, RootGroup
from dbt.adapters.vcs.cli.options import common_options

COMMANDS = {
    "init": Lazy("dbt.adapters.vcs.cli.refs.init_command", "Create an empty repository."),
    "status": Lazy(
        "dbt.adapters.vcs.cli.upkeep.status_command",
        "Show the status of the repository and a branch.",
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
        "Create a table from a version of another table.",
    ),
    "restore": Lazy(
        "dbt.adapters.vcs.cli.changing.restore_command",
        "Restore a relation or a branch to an earlier state.",
    ),
    "revert": Lazy(
        "dbt.adapters.vcs.cli.changing.revert_command", "Undo the changes of a commit."
    ),
    "log": Lazy(
        "dbt.adapters.vcs.cli.reading.log_command", "List the commits of a revision, newest first."
    ),
    "reflog": Lazy(
        "dbt.adapters.vcs.cli.reading.reflog_command",
        "List the moves of a branch or tag, newest first.",
    ),
    "show": Lazy(
        "dbt.adapters.vcs.cli.reading.show_command", "Show a commit: its run, and what it changed."
    ),
    "diff": Lazy("dbt.adapters.vcs.cli.reading.diff_command", "Show how two commits differ."),
    "merge": Lazy(
        "dbt.adapters.vcs.cli.changing.merge_command",
        "Merge a branch, with all its relations in one step.",
    ),
    "conflicts": Lazy(
        "dbt.adapters.vcs.cli.reading.conflicts_command",
        "Show the conflicts of a merge into TARGET.",
    ),
    "resolve": Lazy(
        "dbt.adapters.vcs.cli.changing.resolve_command",
        "Resolve conflicts of RELATION with one side, or with values for a row.",
    ),
    "promote": Lazy(
        "dbt.adapters.vcs.cli.changing.promote_command",
        "Publish a branch, all of its relations or none.",
    ),
    "optimize": Lazy(
        "dbt.adapters.vcs.cli.upkeep.optimize_command", "Combine small files of tables."
    ),
    "lineage": Lazy(
        "dbt.adapters.vcs.cli.reading.lineage_command", "Show what a version was built from."
    ),
    "stale": Lazy(
        "dbt.adapters.vcs.cli.reading.stale_command",
        "List tables that were made from other versions than REVISION shows.",
    ),
    "bisect": Lazy(
        "dbt.adapters.vcs.cli.reading.bisect_command",
        "Find the commit, run and model that broke a condition.",
    ),
    "blame": Lazy(
        "dbt.adapters.vcs.cli.reading.blame_command", "Show which commit last changed a row."
    ),
    "sql": Lazy("dbt.adapters.vcs.cli.reading.sql_command", "Run SQL on a branch, with Spark."),
    "cat": Lazy(
        "dbt.adapters.vcs.cli.reading.cat_command",
        "Write the rows of RELATION, a table, as they are read.",
    ),
    "runs": Lazy(
        "dbt.adapters.vcs.cli.refs.runs_command", "List, discard and publish runs of dbt."
    ),
    "gc": Lazy(
        "dbt.adapters.vcs.cli.upkeep.gc_command", "Delete files that are no longer needed."
    ),
    "reuse": Lazy(
        "dbt.adapters.vcs.cli.upkeep.reuse_command",
        "Show what is remembered of computed results, and why one was computed.",
    ),
    "purge": Lazy(
        "dbt.adapters.vcs.cli.upkeep.purge_command",
        "Erase rows of RELATION, schema.table, from all versions on all branches.",
    ),
    "copy": Lazy(
        "dbt.adapters.vcs.cli.upkeep.copy_command",
        "Copy a repository, or bring a copy up to date.",
    ),
    "serve": Lazy(
        "dbt.adapters.vcs.cli.upkeep.serve_command",
        "Serve the repository as an Iceberg REST catalog.",
    ),
    "export": Lazy(
        "dbt.adapters.vcs.cli.upkeep.export_command",
        "Let other engines read a branch's tables, without a server.",
    ),
    "fsck": Lazy(
        "dbt.adapters.vcs.cli.upkeep.fsck_command", "Check for missing or damaged files."
    ),
    "upgrade": Lazy(
        "dbt.adapters.vcs.cli.refs.init_command",
        "Give a repository of an older version the newest format.",
    ),
    "repair": Lazy(
        "dbt.adapters.vcs.cli.upkeep.repair_command",
        "Show what is damaged and what can be done about it, or do it.",
    ),
    "prepare": Lazy(
        "dbt.adapters.vcs.cli.machine.prepare_command",
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
