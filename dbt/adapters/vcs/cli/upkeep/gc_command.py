"""`dbt-vcs gc`: delete files that are no longer needed."""

from __future__ import annotations

import click

from dbt.adapters.vcs.cli.command_session import CommandSession, with_session
from dbt.adapters.vcs.cli.forms import check_only
from dbt.adapters.vcs.cli.options import json_option
from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.core.retention import DAY, read_retention
from dbt.adapters.vcs.text.upkeep_text import gc_text, retention_text, shorter_text
from dbt.adapters.vcs.verbs.upkeep.gc import collect, set_retention


@click.command()
@click.option("--dry-run", is_flag=True, help="Show what would be deleted, and delete nothing.")
@click.option(
    "--retention",
    type=float,
    metavar="DAYS",
    help="Set how long unnamed history is kept, and delete nothing yet.",
)
@click.option("--force", is_flag=True, help="Shorten the retention without confirmation.")
@json_option
@with_session
def gc(session: CommandSession, dry_run: bool, retention: float | None, force: bool) -> None:
    """Delete files that are no longer needed.

    Keeps the rows of branches, tags, named snapshots, merge bases, and all history younger than
    the retention period. Commits and manifests are kept for as long as they are in the history of
    anything. --retention asks before it shortens the retention; with --dry-run, it shows what
    that would delete, and sets nothing.
    """
    if retention is not None and not dry_run:
        check_only("--retention", "retention", "force")
        _confirm(session, retention, force)
        found = set_retention(session.repository, retention, author=session.author)
        session.show(found, retention_text(found.keep / DAY))
        return
    if force:
        raise click.UsageError("--force can only be used with --retention, without --dry-run.")
    report = collect(session.repository, author=session.author, dry_run=dry_run, days=retention)
    session.show(report, gc_text(report))


def _confirm(session: CommandSession, days: float, force: bool) -> None:
    """Ask before the retention is shortened.

    Raises:
        InputError: It was not confirmed, or there is nobody to ask.
    """
    before = read_retention(session.repository).keep / DAY
    if force or days >= before:
        return
    told = shorter_text(before, days)
    session.progress.end()
    if session.can_ask:
        session.warn([told])
        if click.confirm("Shorten it?", err=True):
            return
        told = ""
    raise InputError(
        f"{told} Nothing was changed. To do it anyway: {session.spelled('--force')}".lstrip()
    )
