"""`dbt-vcs status`: where the repository and a branch stand."""

from __future__ import annotations

import click

from dbt.adapters.vcs.cli.session import Session, with_session
from dbt.adapters.vcs.cli.settings import json_option
from dbt.adapters.vcs.verbs.status import read_status
from dbt.adapters.vcs.verbs.text import status_text


@click.command()
@click.argument("branch", required=False)
@json_option
@with_session
def status(session: Session, branch: str | None) -> None:
    """Say where the repository and a branch stand.

    BRANCH is the one of the dbt profile unless given, else the default one. Rows and bytes are
    counted from manifests.
    """
    found = read_status(session.repository, branch or session.branch)
    session.show(found, status_text(found, session.now))
