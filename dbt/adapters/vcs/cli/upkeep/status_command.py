"""`dbt-vcs status`: the status of the repository and a branch."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING

import click

from dbt.adapters.vcs.cli.command_session import CommandSession, with_session
from dbt.adapters.vcs.cli.options import json_option
from dbt.adapters.vcs.layout.styled import Span, age, counted, entry, line, short, size
from dbt.adapters.vcs.text.run_text import runs_text
from dbt.adapters.vcs.verbs.upkeep.status import read_status

if TYPE_CHECKING:
    from dbt.adapters.vcs.layout.styled import Block
    from dbt.adapters.vcs.verbs.upkeep.status import RepositoryStatus


@click.command()
@click.argument("branch", required=False)
@json_option
@with_session
def status(session: CommandSession, branch: str | None) -> None:
    """Show the status of the repository and a branch.

    BRANCH defaults to the one in the dbt profile, else the default branch. Rows and bytes are
    counted from manifests.
    """
    found = read_status(session.repository, branch or session.branch)
    session.show(found, _status_text(found, session.now))
    session.warn(found.damaged)


def _status_text(status: RepositoryStatus, now: datetime) -> Iterator[Block]:
    """Yield the status of a repository."""
    yield line(Span("Repository  ", "heading"), status.repository)
    yield line(
        Span("            ", "heading"),
        f"{counted(status.branches, 'branch', 'branches')}, "
        f"{counted(status.tags, 'tag')}, the default branch is {status.default_branch}",
    )
    if status.head is None or status.contents is None or status.committed_at is None:
        yield line(
            Span("Branch      ", "heading"),
            Span(status.branch, "name"),
            " does not exist yet: the first dbt run on it, or dbt-vcs branch create, creates it",
        )
    else:
        yield entry(
            Span("Branch      ", "heading"),
            Span(status.branch, "name"),
            " @ ",
            short(status.head),
            f" {status.summary or ''}",
            Span(f"  {status.author}, {age(status.committed_at, now)}", "faint"),
            gives=4,
        )
        held = status.contents
        yield entry(
            Span("            ", "heading"),
            f"{counted(held.schemas, 'schema')}, {counted(held.tables, 'table')}, "
            f"{counted(held.views, 'view')}, "
            + (f"{counted(held.functions, 'function')}, " if held.functions else "")
            + f"{counted(held.rows, 'row')}, {size(held.bytes)}",
        )
    if status.stale:
        what = "table was" if len(status.stale) == 1 else "tables were"
        yield line(
            Span("Stale       ", "heading"),
            f"{len(status.stale)} {what} made from other versions than are shown: dbt-vcs stale",
        )
    for merge in status.merges:
        left = f"{merge.left} of {counted(merge.conflicts, 'conflict')} not resolved"
        yield line(
            Span("Merge       ", "heading"),
            Span(str(merge.source), "name"),
            " into ",
            Span(merge.target, "name"),
            f" is waiting, {left}: dbt-vcs conflicts {merge.target}"
            if merge.left
            else f" is waiting, all resolved: dbt-vcs merge --continue {merge.target}",
        )
    if status.runs:
        yield line(Span("Runs", "heading"), " that are not finished")
        yield from runs_text(status.runs, now)
    else:
        yield line(Span("Runs        ", "heading"), "none is running, failed or waiting")
