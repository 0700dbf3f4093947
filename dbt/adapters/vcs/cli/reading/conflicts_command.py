"""`dbt-vcs conflicts`: the conflicts of a merge."""

from __future__ import annotations

import click

from dbt.adapters.vcs.cli.command_session import CommandSession, with_session
from dbt.adapters.vcs.cli.forms import check_only
from dbt.adapters.vcs.cli.options import json_option, limit_option
from dbt.adapters.vcs.text.conflict_text import conflicts_text
from dbt.adapters.vcs.verbs.reading.waiting_merges import list_conflicts


@click.command()
@click.argument("target", required=False)
@click.option("--relation", metavar="SCHEMA.TABLE", help="Show the rows of this table.")
@limit_option(20)
@json_option
@with_session
def conflicts(
    session: CommandSession, target: str | None, relation: str | None, limit: int
) -> None:
    """Show the conflicts of a merge into TARGET.

    TARGET defaults to the branch in the dbt profile, else the default branch. The conflicts are
    also tables on the branch merges/TARGET.
    """
    if relation is None:
        check_only("conflicts without --relation", "target")
    report = list_conflicts(
        session.repository, target or session.branch, relation, limit=limit or None
    )
    items = report.rows if relation is not None else report.relations
    session.show(report, conflicts_text(report), items)
