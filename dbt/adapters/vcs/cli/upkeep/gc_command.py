"""`dbt-vcs gc`: delete files that are no longer needed."""

from __future__ import annotations

import click

from dbt.adapters.vcs.cli.command_session import CommandSession, with_session
from dbt.adapters.vcs.cli.forms import check_only
from dbt.adapters.vcs.cli.options import json_option
from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.core.retention import DAY
from dbt.adapters.vcs.layout.styled import plain_lines
from dbt.adapters.vcs.text.upkeep_text import gc_text, losses_text, retention_text, unconfirmed
from dbt.adapters.vcs.verbs.upkeep.gc import collect, set_retention
from dbt.adapters.vcs.verbs.upkeep.losses import find_losses


@click.command()
@click.option("--dry-run", is_flag=True, help="Show what would be deleted, and delete nothing.")
@click.option(
    "--retention",
    type=float,
    metavar="DAYS",
    help="Set how long unnamed history is kept; deletes nothing yet.",
)
@click.option("--force", is_flag=True, help="Shorten the retention without confirmation.")
@json_option
@with_session
def gc(session: CommandSession, dry_run: bool, retention: float | None, force: bool) -> None:
    """Delete files that are no longer needed.

    Keeps the rows of branches, tags, named snapshots, merge bases, and all history younger than
    the retention period. Commits and manifests are kept for as long as they are in the history of
    anything. Before it shortens the retention, --retention lists what would be lost and asks.
    """
    if retention is not None:
        check_only("--retention", "retention", "force")
        _confirm(session, retention, force)
        found = set_retention(session.repository, retention, author=session.author)
        session.show(found, retention_text(found.keep / DAY))
        return
    if force:
        raise click.UsageError("--force can only be used with --retention.")
    report = collect(session.repository, author=session.author, dry_run=dry_run)
    session.show(report, gc_text(report))


def _confirm(session: CommandSession, days: float, force: bool) -> None:
    """Show what a shorter retention deletes, and ask for confirmation.

    Raises:
        InputError: It was not confirmed, or there is nobody to ask.
    """
    losses = find_losses(session.repository, days)
    if losses is None or not losses.is_any:
        return
    told = plain_lines(losses_text(losses))
    asks = session.can_ask
    if force or asks:
        session.warn(told)
    session.progress.end()
    if force or (asks and click.confirm("Shorten it?", err=True)):
        return
    raise InputError(unconfirmed(() if asks else told, session.spelled("--force")))
