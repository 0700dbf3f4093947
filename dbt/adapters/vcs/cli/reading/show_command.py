"""`dbt-vcs show`: one commit, its run, and what it changed."""

from __future__ import annotations

import click

from dbt.adapters.vcs.cli.command_session import CommandSession, with_session
from dbt.adapters.vcs.cli.options import json_option
from dbt.adapters.vcs.text.commit_text import commit_text
from dbt.adapters.vcs.verbs.reading.show_commit import show_commit


@click.command()
@click.argument("revision", required=False)
@json_option
@with_session
def show(session: CommandSession, revision: str | None) -> None:
    """Show a commit: its run, and what it changed.

    REVISION defaults to the branch in the dbt profile, else the default branch. For the branch of
    a run, shows what the whole run changed.
    """
    found = show_commit(session.repository, revision or session.branch)
    session.show(found, commit_text(found, session.now))
