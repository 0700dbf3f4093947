"""`dbt-vcs merge`: one branch into another one."""

from __future__ import annotations

import click

from dbt.adapters.vcs.cli.failure import NOT_DONE
from dbt.adapters.vcs.cli.session import Session, with_session
from dbt.adapters.vcs.cli.settings import json_option
from dbt.adapters.vcs.verbs import merge as verb
from dbt.adapters.vcs.verbs.text import merge_text


@click.command()
@click.argument("source")
@click.argument("target", required=False)
@click.option("--ff-only", is_flag=True, help="Refuse if the target has commits of its own.")
@click.option("--dry-run", is_flag=True, help="Say what would happen, and change nothing.")
@click.option("--message", "-m", metavar="TEXT", help="Message of the merge's commit.")
@click.option("--force", is_flag=True, help="Also from a run that failed or is at work.")
@json_option
@with_session
def merge(
    session: Session,
    source: str,
    target: str | None,
    ff_only: bool,
    dry_run: bool,
    message: str | None,
    force: bool,
) -> None:
    """Merge a branch, all its relations in one step.

    SOURCE is any revision. TARGET is the branch of the dbt profile unless given, else the default
    branch. The branch of a dbt run is published as one commit.
    """
    report = verb.merge(
        session.repository,
        source,
        target or session.branch,
        author=session.author,
        message=message,
        ff_only=ff_only,
        force=force,
        dry_run=dry_run,
    )
    session.show(report, merge_text(report))
    if report.how == "conflict":
        raise click.exceptions.Exit(NOT_DONE)
