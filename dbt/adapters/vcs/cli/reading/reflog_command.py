"""`dbt-vcs reflog`: the moves of a branch or tag, newest first."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import click

from dbt.adapters.vcs.cli.command_session import CommandSession, with_session
from dbt.adapters.vcs.cli.options import json_option, limit_option
from dbt.adapters.vcs.layout.styled import Block, Span, line
from dbt.adapters.vcs.text.reflog_text import reflog_text
from dbt.adapters.vcs.verbs.reading.reflog import iter_reflog


@click.command()
@click.argument("name", required=False)
@limit_option(20, "Moves to list")
@json_option
@with_session
def reflog(session: CommandSession, name: str | None, limit: int) -> None:
    """List the moves of a branch or tag, newest first.

    Each with its author, and the machine and process that wrote it. NAME defaults to the branch in
    the dbt profile, else the default branch. Deleted branches and tags have a log, too.
    """
    found = iter_reflog(
        session.repository, name or session.branch, limit=limit + 1 if limit else None
    )
    shown = islice(found, limit or None)

    def blocks() -> Iterator[Block]:
        yield from reflog_text(shown, session.now)
        if next(found, None) is not None:
            option = session.spelled("--limit")
            more = f"There are earlier moves: use {option} to show more, or {option} 0 for all."
            yield line(Span(more, "faint"))

    session.show(shown, blocks())
