"""`dbt-vcs reflog`: the moves of a branch or tag, newest first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import islice
from typing import TYPE_CHECKING, Final

import click

from dbt.adapters.vcs.cli.command_session import CommandSession, with_session
from dbt.adapters.vcs.cli.options import json_option, limit_option
from dbt.adapters.vcs.layout.styled import Block, Span, age, entry, line, short
from dbt.adapters.vcs.verbs.reading.reflog import iter_reflog

if TYPE_CHECKING:
    from dbt.adapters.vcs.verbs.reading.reflog import ReflogEntry


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


_NO_COMMIT: Final = Span("-" * 12, "faint")


def reflog_text(entries: Iterable[ReflogEntry], now: datetime) -> Iterator[Block]:
    """Yield one line per move."""
    for item in entries:
        note = f": {item.note}" if item.note else ""
        yield entry(
            short(item.commit) if item.commit else _NO_COMMIT,
            " ",
            Span(item.ref, "name"),
            f": {item.action}",
            note,
            Span(f"  {item.author}{_place(item)}, {age(item.at, now)}", "faint"),
            gives=4,
        )


def _place(item: ReflogEntry) -> str:
    """Return the process that made a move; empty in logs of earlier versions."""
    return f" on {item.host} (pid {item.pid}, dbt-vcs {item.version})" if item.version else ""
