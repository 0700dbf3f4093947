"""`dbt-vcs copy`: copy a repository, or bring a copy up to date."""

from __future__ import annotations

import click

from dbt.adapters.vcs.cli.command_session import CommandSession, with_session
from dbt.adapters.vcs.cli.options import json_option
from dbt.adapters.vcs.core.store.opening import open_blobs
from dbt.adapters.vcs.text.upkeep_text import copy_text
from dbt.adapters.vcs.verbs.upkeep.copy import copy_repository


@click.command()
@click.argument("source", metavar="FROM")
@click.argument("target", metavar="TO")
@json_option
@with_session
def copy(session: CommandSession, source: str, target: str) -> None:
    """Copy a repository, or bring a copy up to date.

    FROM and TO are folders or URIs; --storage-option applies to both if they are object stores.
    Others may write meanwhile. A copy that was stopped goes on when it is called again.
    """
    options = dict(session.settings.storage_options)
    stores = [
        session.watched(open_blobs(place, options if "://" in place else {}))
        for place in (source, target)
    ]
    report = copy_repository(*stores)
    session.show(report, copy_text(report))
