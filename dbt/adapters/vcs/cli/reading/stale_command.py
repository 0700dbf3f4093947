"""`dbt-vcs stale`: tables that no longer follow from what a revision shows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click

from dbt.adapters.vcs.cli.command_session import CommandSession, with_session
from dbt.adapters.vcs.cli.options import json_option
from dbt.adapters.vcs.layout.styled import Span, entry, line
from dbt.adapters.vcs.verbs.reading.stale import list_stale, selection

if TYPE_CHECKING:
    from dbt.adapters.vcs.layout.styled import Block
    from dbt.adapters.vcs.verbs.reading.stale import StaleTable


@click.command()
@click.argument("revision", required=False)
@click.option("--select", is_flag=True, help="Print what dbt's --select takes to build them.")
@json_option
@with_session
def stale(session: CommandSession, revision: str | None, select: bool) -> None:
    """List tables that were made from other versions than REVISION shows.

    Each comes after those that it was made from. REVISION defaults to the branch in the dbt
    profile, else the default branch.
    """
    at = revision or session.branch
    damaged: dict[str, str] = {}
    found = list_stale(
        session.repository, at, lambda name, error: damaged.update({str(name): str(error)})
    )
    session.warn(f"Whether {name} is stale isn't known. {why}" for name, why in damaged.items())
    if not select:
        session.show(found, _stale_text(found, at))
        return
    names, others = selection(found)
    session.show(names, [line(names)])
    session.warn(f"{name} is stale, and no node of dbt made it." for name in others)


def _stale_text(stale: Sequence[StaleTable], revision: str) -> Iterator[Block]:
    """Yield stale tables, each with what made it so."""
    if not stale:
        yield line(f"Every table on {revision} was made from what {revision} shows.")
    for item in stale:
        node = Span(f"  {item.node}", "faint") if item.node else ""
        yield entry(Span(item.relation, "name"), node)
        for moved in item.moved:
            now = "is gone" if moved.shown is None else f"is {moved.shown[:12]} now"
            yield line(f"  was made from {moved.relation} {moved.read[:12]}, which {now}")
        for relation in item.through:
            yield line(f"  was made from {relation}, which is stale")
