"""`dbt-vcs clone`: a table from a version of another one."""

from __future__ import annotations

import click

from dbt.adapters.vcs.cli.command_session import Session, with_session
from dbt.adapters.vcs.cli.options import json_option
from dbt.adapters.vcs.text.history_text import clone_text
from dbt.adapters.vcs.verbs.changing.clone import clone_from_snapshot


@click.command()
@click.argument("source")
@click.argument("target")
@click.argument("at", required=False)
@click.option("--branch", "-b", metavar="NAME", help="The branch that gets the table.")
@click.option("--replace", is_flag=True, help="Also in the place of a table that is there.")
@json_option
@with_session
def clone(
    session: Session, source: str, target: str, at: str | None, branch: str | None, replace: bool
) -> None:
    """Make a table from a version of another one.

    TARGET is what SOURCE was at AT; no row is copied. AT is a named snapshot of SOURCE or any
    revision, the branch itself unless given. The branch is that of the dbt profile unless
    given, else the default branch.
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
