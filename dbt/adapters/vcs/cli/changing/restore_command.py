"""`dbt-vcs restore`: a relation, or all of a branch, as it was."""

from __future__ import annotations

import click

from dbt.adapters.vcs.cli.command_session import Session, with_session
from dbt.adapters.vcs.cli.options import json_option
from dbt.adapters.vcs.text.history_text import restore_text
from dbt.adapters.vcs.verbs.changing.restore import restore_branch, restore_relation


@click.command()
@click.argument("relation", required=False)
@click.option("--all", "-a", is_flag=True, help="All of the branch.")
@click.option("--to", metavar="REVISION", help="What it becomes again; a named snapshot too.")
@click.option("--branch", "-b", metavar="NAME", help="The branch to change.")
@click.option("--message", "-m", metavar="TEXT", help="Message of the commit.")
@click.option("--dry-run", is_flag=True, help="Say what would happen, and change nothing.")
@json_option
@with_session
def restore(
    session: Session,
    relation: str | None,
    all: bool,
    to: str | None,
    branch: str | None,
    message: str | None,
    dry_run: bool,
) -> None:
    """Let a relation or a branch be what it was.

    RELATION is a table or view. What is restored is a new commit. Without --to a relation that
    was dropped becomes what it was last. The branch is that of the dbt profile unless given,
    else the default branch.
    """
    if all == (relation is not None):
        raise click.UsageError("Give either a relation, as schema.table, or --all.")
    where, who = session.bound(branch or session.branch), session.author
    if relation is not None:
        report = restore_relation(
            session.repository,
            relation,
            to,
            branch=where,
            author=who,
            message=message,
            dry_run=dry_run,
        )
    elif to is None:
        raise click.UsageError("Say what the branch shall be again: --all --to <revision>.")
    else:
        report = restore_branch(
            session.repository, to, branch=where, author=who, message=message, dry_run=dry_run
        )
    session.show(report, restore_text(report))
