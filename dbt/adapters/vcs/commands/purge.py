"""`dbt-vcs purge`: erase rows of a table from all versions."""

from __future__ import annotations

import click

from dbt.adapters.vcs.commands.options import json_option
from dbt.adapters.vcs.commands.session import CommandSession, with_session
from dbt.adapters.vcs.text.purge_text import purge_text
from dbt.adapters.vcs.verbs.erasing import purge as verb


@click.command("purge")
@click.argument("relation")
@click.option(
    "--where", required=True, metavar="CONDITION", help="Erase the rows for which this is true."
)
@click.option(
    "--redact",
    multiple=True,
    metavar="TEXT",
    help="Take a text out of commit messages; can be repeated.",
)
@click.option("--dry-run", is_flag=True, help="Show what would be erased, and change nothing.")
@json_option
@with_session
def purge_command(
    session: CommandSession, relation: str, where: str, redact: tuple[str, ...], dry_run: bool
) -> None:
    """Erase rows of RELATION, schema.table, from all versions on all branches.

    Rewrites the history of all branches, tags and named snapshots that have such rows: their
    commits get other ids. Old files are deleted at once. Rows can't be brought back.
    """

    def guard(branch: str) -> None:
        # A purge that stored the rules on a branch would wait for itself: nobody lands beside it.
        session.bound(branch, dry_run=True)
        if not dry_run:
            session.watch(branch)

    report = verb.purge(
        session.repository,
        verb.PurgeRequest(relation=relation, where=where, redact=redact, dry_run=dry_run),
        author=session.author,
        engine=session.engine,
        guard=guard,
    )
    session.show(report, purge_text(report))
