"""`dbt-vcs revert`: undo the changes of a commit."""

from __future__ import annotations

import click

from dbt.adapters.vcs.cli.command_session import CommandSession, with_session
from dbt.adapters.vcs.cli.options import json_option
from dbt.adapters.vcs.text.history_text import revert_text
from dbt.adapters.vcs.verbs.changing import revert as verb


@click.command()
@click.argument("revision")
@click.option("--branch", "-b", metavar="NAME", help="The branch to change.")
@click.option("--message", "-m", metavar="TEXT", help="Message of the commit.")
@click.option(
    "--mainline",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    metavar="N",
    help="For a merge commit: the number of the parent to keep.",
)
@json_option
@with_session
def revert(
    session: CommandSession, revision: str, branch: str | None, message: str | None, mainline: int
) -> None:
    """Undo the changes of a commit.

    REVISION is the commit. The revert is a new commit, and later changes are kept. The branch
    defaults to the one in the dbt profile, else the default branch.
    """
    report = verb.revert(
        session.repository,
        revision,
        branch=session.bound(branch or session.branch),
        author=session.author,
        message=message,
        mainline=mainline,
        engine=session.engine,
    )
    session.show(report, revert_text(report))
