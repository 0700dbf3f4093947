"""`dbt-vcs log`: the commits of a revision, newest first."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import click

from dbt.adapters.vcs.cli.session import Session, with_session
from dbt.adapters.vcs.cli.settings import json_option, limit_option
from dbt.adapters.vcs.verbs.layout import Block, Span, line
from dbt.adapters.vcs.verbs.log import iter_log
from dbt.adapters.vcs.verbs.text import log_text


@click.command()
@click.argument("revision", required=False)
@limit_option(20, "Commits to list")
@click.option(
    "--relation", metavar="SCHEMA.TABLE", help="Only commits that changed this table or view."
)
@json_option
@with_session
def log(session: Session, revision: str | None, limit: int, relation: str | None) -> None:
    """List the commits of a revision, newest first.

    REVISION is the branch of the dbt profile unless given, else the default branch; a..b lists
    what b has and a lacks.
    """
    found = iter_log(
        session.repository,
        revision or session.branch,
        limit=limit + 1 if limit else None,
        relation=relation,
    )
    shown = islice(found, limit or None)

    def blocks() -> Iterator[Block]:
        yield from log_text(shown, session.now)
        if next(found, None) is not None:
            yield line(Span("There are older ones: give -n, with 0 for all.", "faint"))

    session.show(shown, blocks())
