"""`dbt-vcs blame`: the commit that last changed a row."""

from __future__ import annotations

import click

from dbt.adapters.vcs.cli.command_session import CommandSession, with_session
from dbt.adapters.vcs.cli.options import json_option
from dbt.adapters.vcs.cli.pairs import Pair
from dbt.adapters.vcs.rows.exact_values import Given
from dbt.adapters.vcs.text.history_text import blame_text
from dbt.adapters.vcs.verbs.reading import blame as verb


@click.command()
@click.argument("relation")
@click.option(
    "--key",
    "-k",
    multiple=True,
    required=True,
    type=Pair("COLUMN=VALUE", is_exact=True),
    help="The row.",
)
@click.option("--at", metavar="REVISION", help="The revision to start from.")
@json_option
@with_session
def blame(
    session: CommandSession, relation: str, key: tuple[tuple[str, Given], ...], at: str | None
) -> None:
    """Show which commit last changed a row.

    The row is the one in the table RELATION with the values of --key. --at defaults to the branch
    in the dbt profile, else the default branch.
    """
    report = verb.blame(session.repository, relation, dict(key), at or session.branch)
    session.show(report, blame_text(report, session.now))
