"""`dbt-vcs clone`: a table from a version of another table."""

from __future__ import annotations

import click

from dbt.adapters.vcs.cli.command_session import CommandSession, with_session
from dbt.adapters.vcs.cli.options import json_option
from dbt.adapters.vcs.text.history_text import clone_text
from dbt.adapters.vcs.verbs.changing.clone import clone_from_snapshot


@click.command()
@click.argument("source")
@click.argument("target")
@click.argument("at", required=False)
@click.option("--branch", "-b", metavar="NAME", help="The branch for the new table.")
@click.option("--replace", is_flag=True, help="Replace an existing table.")
@json_option
@with_session
def clone(
    session: CommandSession,
    source: str,
    target: str,
    at: str | None,
    branch: str | None,
    replace: bool,
) -> None:
    """Create a table from a version of another table.

    TARGET gets the content of SOURCE at AT; no rows are copied. AT is a named snapshot of SOURCE
    or any revision; the default is the branch itself. The branch defaults to the one in the dbt
    profile, else the default branch.
    """
    report = clone_from_snapshot(
        session.repository,
        source,
        target,
        at,
        branch=session.bound(branch or session.branch),
        author=session.author,
        replace=replace,
    )
    session.show(report, clone_text(report))
