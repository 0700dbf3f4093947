"""`dbt-vcs repair`: show what is damaged, and repair it."""

from __future__ import annotations

import click

from dbt.adapters.vcs.cli.command_session import CommandSession, with_session
from dbt.adapters.vcs.cli.failure import ShownFailure
from dbt.adapters.vcs.cli.options import json_option
from dbt.adapters.vcs.core.errors import DamagedError
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.store.opening import open_blobs
from dbt.adapters.vcs.text.upkeep_text import repair_text
from dbt.adapters.vcs.verbs.upkeep.data_check import DataCheck
from dbt.adapters.vcs.verbs.upkeep.fetch import fetch
from dbt.adapters.vcs.verbs.upkeep.standing_up import go_back, survey


@click.command()
@click.option(
    "--from-copy", metavar="LOCATION", help="Take what is damaged from a copy of the repository."
)
@click.option(
    "--to-last-whole",
    metavar="NAME",
    help="Move a branch or a tag back to its last state that is whole.",
)
@click.option(
    "--data", is_flag=True, help="Also read data files, to list those that are damaged inside."
)
@click.option("--dry-run", is_flag=True, help="Show what would happen, and change nothing.")
@json_option
@with_session
def repair(
    session: CommandSession,
    from_copy: str | None,
    to_last_whole: str | None,
    data: bool,
    dry_run: bool,
) -> None:
    """Show what is damaged and what can be done about it, or do it.

    Without an option that says what to do, nothing is changed. Of data files only the sizes are
    looked at then, unless --data reads them; a repair reads those that it is about. Files that a
    repair replaces are kept in the repository's folder `damaged`. The exit code is 2 if anything
    is damaged, or still is after a repair.
    """
    given = [way for way in (from_copy, to_last_whole) if way is not None]
    if len(given) > 1:
        raise click.UsageError("Give one of --from-copy and --to-last-whole at a time.")
    if dry_run and not given:
        raise click.UsageError(
            "--dry-run can only be used with --from-copy or --to-last-whole; without these "
            "nothing is changed anyway."
        )
    if data and given:
        raise click.UsageError(
            "--data can only be used alone: a repair reads the data files that it is about anyway."
        )
    repository, who = session.repository, session.author
    if from_copy is not None:
        other = Repository.open(session.watched(open_blobs(from_copy, session.storage_options)))
        report = fetch(repository, other, author=who, dry_run=dry_run)
    elif to_last_whole is not None:
        report = go_back(repository, to_last_whole, author=who, dry_run=dry_run)
    else:
        report = survey(repository, DataCheck() if data else None)
    session.show(report, repair_text(report), report.damages)
    if report.damages:
        raise ShownFailure(DamagedError)
