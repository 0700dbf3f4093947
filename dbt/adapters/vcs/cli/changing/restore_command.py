"""`dbt-vcs restore`: restore a relation, or a whole branch, to an earlier state."""

from __future__ import annotations

import click

from dbt.adapters.vcs.cli.command_session import CommandSession, with_session
from dbt.adapters.vcs.cli.options import json_option
from dbt.adapters.vcs.text.history_text import restore_text
from dbt.adapters.vcs.verbs.changing.restore import restore_branch, restore_relation


@click.command()
@click.argument("relation", required=False)
@click.option("--all", "-a", is_flag=True, help="Restore the whole branch.")
@click.option("--to", metavar="REVISION", help="The state to restore; also a named snapshot.")
@click.option("--branch", "-b", metavar="NAME", help="The branch to change.")
@click.option("--message", "-m", metavar="TEXT", help="Message of the commit.")
@click.option("--dry-run", is_flag=True, help="Show what would happen, and change nothing.")
@json_option
@with_session
def restore(
    session: CommandSession,
    relation: str | None,
    all: bool,
    to: str | None,
    branch: str | None,
    message: str | None,
    dry_run: bool,
) -> None:
    """Restore a relation or a branch to an earlier state.

    RELATION is a table or view. The restored state is a new commit. Without --to, a dropped
    relation is restored to its last version. The branch defaults to the one in the dbt profile,
    else the default branch.
    """
    if all == (relation is not None):
        raise click.UsageError("Give either a relation, as schema.table, or --all.")
    where = session.bound(branch or session.branch, dry_run=dry_run)
    who = session.author
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
        raise click.UsageError("--all needs the revision to restore: --all --to <revision>.")
    else:
        report = restore_branch(
            session.repository, to, branch=where, author=who, message=message, dry_run=dry_run
        )
    session.show(report, restore_text(report))
