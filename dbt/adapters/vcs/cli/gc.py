"""`dbt-vcs gc`: delete what nothing needs."""

from __future__ import annotations

import click

from dbt.adapters.vcs.cli.session import Session, with_session
from dbt.adapters.vcs.cli.settings import json_option
from dbt.adapters.vcs.core.retention import DAY
from dbt.adapters.vcs.verbs.gc import collect, set_retention
from dbt.adapters.vcs.verbs.text.upkeep import gc_text, retention_text


@click.command()
@click.option("--dry-run", is_flag=True, help="Say what would be deleted, and delete nothing.")
@click.option(
    "--retention",
    type=float,
    metavar="DAYS",
    help="Keep history without a name so long from now on, and delete nothing yet.",
)
@json_option
@with_session
def gc(session: Session, dry_run: bool, retention: float | None) -> None:
    """Delete files that nothing needs any more.

    Rows stay of branches, tags, named snapshots, merge bases, and of all history that is younger
    than the retention; commits and manifests stay as long as anything has them in its history.
    """
    if retention is not None:
        if dry_run:
            raise click.UsageError("Give either --dry-run or --retention.")
        found = set_retention(session.repository, retention, author=session.author)
        session.show(found, retention_text(found.keep / DAY))
        return
    report = collect(session.repository, author=session.author, dry_run=dry_run)
    session.show(report, gc_text(report))
