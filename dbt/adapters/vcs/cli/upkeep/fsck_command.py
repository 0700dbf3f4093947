"""`dbt-vcs fsck`: check for damage."""

from __future__ import annotations

import click

from dbt.adapters.vcs.cli.command_session import CommandSession, with_session
from dbt.adapters.vcs.cli.failure import ShownFailure
from dbt.adapters.vcs.cli.options import json_option
from dbt.adapters.vcs.core.errors import DamagedError
from dbt.adapters.vcs.text.upkeep_text import fsck_text, problem_text
from dbt.adapters.vcs.verbs.upkeep.fsck import check_repository


@click.command()
@json_option
@with_session
def fsck(session: CommandSession) -> None:
    """Check for missing or damaged files.

    Checks that everything that commits need exists and is undamaged: reads every manifest and
    checks that every data file exists. The exit code is 2 if anything is wrong.
    """

    def tell(problem: str) -> None:
        if not session.prints_json:
            session.say(problem_text(problem))

    report = check_repository(session.repository, tell)
    session.show(report, fsck_text(report, with_problems=False), report.problems)
    if report.problems:
        raise ShownFailure(DamagedError)
