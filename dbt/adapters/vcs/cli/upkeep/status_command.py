"""`dbt-vcs status`: the status of the repository and a branch."""

from __future__ import annotations

import click

from dbt.adapters.vcs.cli.command_session import CommandSession, with_session
from dbt.adapters.vcs.cli.options import json_option
from dbt.adapters.vcs.text.status_text import status_text
from dbt.adapters.vcs.verbs.upkeep.status import read_status


@click.command()
@click.argument("branch", required=False)
@json_option
@with_session
def status(session: CommandSession, branch: str | None) -> None:
    """Show the status of the repository and a branch.

    BRANCH defaults to the one in the dbt profile, else the default branch. Rows and bytes are
    counted from manifests.
    """
    found = read_status(session.repository, branch or session.branch)
    session.show(found, status_text(found, session.now))
    session.warn(found.damaged)
