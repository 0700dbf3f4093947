"""`dbt-vcs revert`: the changes of a commit undone."""

from __future__ import annotations

import click

from dbt.adapters.vcs.cli.command_session import Session, with_session
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
    help="Of a merge: the parent that stays.",
)
@json_option
@with_session
def revert(
    session: Session, revision: str, branch: str | None, message: str | None, mainline: int
) -> None:
    """Undo what a commit changed.

    The commit is REVISION; undoing it is a new commit, and later changes stay. The branch is
    that of the dbt profile unless given, else the default branch.
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
