"""`dbt-vcs log`: the commits of a revision, newest first."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import click

from dbt.adapters.vcs.cli.command_session import CommandSession, with_session
from dbt.adapters.vcs.cli.options import json_option, limit_option
from dbt.adapters.vcs.layout.styled import Block, Span, line
from dbt.adapters.vcs.text.commit_text import log_text
from dbt.adapters.vcs.verbs.reading.log import iter_log


@click.command()
@click.argument("revision", required=False)
@limit_option(20, "Commits to list")
@click.option(
    "--relation", metavar="SCHEMA.TABLE", help="Only commits that changed this table or view."
)
@json_option
@with_session
def log(session: CommandSession, revision: str | None, limit: int, relation: str | None) -> None:
    """List the commits of a revision, newest first.

    REVISION defaults to the branch in the dbt profile, else the default branch; a..b lists the
    commits that b has and a lacks.
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
            option = session.spelled("--limit")
            more = f"There are older commits: use {option} to show more, or {option} 0 for all."
            yield line(Span(more, "faint"))

    session.show(shown, blocks())
