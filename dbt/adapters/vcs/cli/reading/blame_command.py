"""`dbt-vcs blame`: the commit that last changed a row."""

from __future__ import annotations

import click

from dbt.adapters.vcs.cli.command_session import Session, with_session
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
@click.option("--at", metavar="REVISION", help="Where to begin.")
@json_option
@with_session
def blame(
    session: Session, relation: str, key: tuple[tuple[str, Given], ...], at: str | None
) -> None:
    """Say which commit last changed a row.

    The row is that of the table RELATION that has the values of --key. The branch of the dbt
    profile is meant unless --at says otherwise, else the default branch.
    """
    report = verb.blame(session.repository, relation, dict(key), at or session.branch)
    session.show(report, blame_text(report, session.now))
