"""`dbt-vcs snapshot`: list, create, delete and protect named snapshots of tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

import click

from dbt.adapters.vcs.cli.command_session import CommandSession, with_session
from dbt.adapters.vcs.cli.groups import DefaultGroup
from dbt.adapters.vcs.cli.options import common_options, json_option
from dbt.adapters.vcs.layout.styled import Grid, Span, age, line
from dbt.adapters.vcs.verbs.refs.named_snapshots import (
    create_snapshot,
    delete_snapshot,
    list_snapshots,
    protect_snapshot,
)

if TYPE_CHECKING:
    from dbt.adapters.vcs.layout.styled import Block
    from dbt.adapters.vcs.verbs.refs.named_snapshots import SnapshotSummary


@click.group(cls=DefaultGroup)
@json_option
@common_options
@click.pass_context
def snapshot(ctx: click.Context) -> None:
    """List, create and delete named snapshots of tables.

    Each names a version of one table and keeps it until it is deleted. Without a command: list
    them.
    """
    if ctx.invoked_subcommand is None:
        ctx.invoke(list_)


@snapshot.command("list")
@click.argument("relation", required=False)
@json_option
@with_session
def list_(session: CommandSession, relation: str | None = None) -> None:
    """List named snapshots, or only those of the table RELATION."""
    found = list_snapshots(session.repository, relation)
    session.show(found, _snapshots_text(found, session.now))


@snapshot.command("create")
@click.argument("relation")
@click.argument("name")
@click.argument("at", required=False)
@click.option("--message", "-m", "note", default="", metavar="TEXT", help="A note about it.")
@json_option
@with_session
def create(session: CommandSession, relation: str, name: str, at: str | None, note: str) -> None:
    """Name the version of the table RELATION that the revision AT shows.

    AT defaults to the branch in the dbt profile, else the default branch.
    """
    made = create_snapshot(
        session.repository,
        relation,
        name,
        at or session.branch,
        author=session.author,
        note=note,
    )
    session.show(made, _snapshot_created_text(made))


@snapshot.command("delete")
@click.argument("relation")
@click.argument("name", nargs=-1, required=True, metavar="NAME...")
@with_session
def delete(session: CommandSession, relation: str, name: tuple[str, ...]) -> None:
    """Delete named snapshots of the table RELATION."""
    for item in name:
        gone = delete_snapshot(session.repository, relation, item, author=session.author)
        session.say(_snapshot_deleted_text(gone))


@snapshot.command("protect")
@click.argument("relation")
@click.argument("name")
@with_session
def protect(session: CommandSession, relation: str, name: str) -> None:
    """Protect the snapshot NAME of the table RELATION, so that it can't be deleted."""
    kept = protect_snapshot(session.repository, relation, name, True, author=session.author)
    session.say(_snapshot_protected_text(kept))


@snapshot.command("unprotect")
@click.argument("relation")
@click.argument("name")
@with_session
def unprotect(session: CommandSession, relation: str, name: str) -> None:
    """Let the snapshot NAME of the table RELATION be deleted again."""
    freed = protect_snapshot(session.repository, relation, name, False, author=session.author)
    session.say(_snapshot_protected_text(freed))


def _snapshots_text(found: Sequence[SnapshotSummary], now: datetime) -> Iterator[Block]:
    """Yield a list of named snapshots; `!` marks a protected one."""
    if not found:
        yield line("There are no named snapshots.")
        return
    yield Grid(
        heads=("", "TABLE", "SNAPSHOT", "VERSION", "ROWS", "AGE", "WHAT"),
        rows=tuple(
            (
                Span("!" if item.is_protected else ""),
                Span(item.relation),
                Span(item.name, "name"),
                Span(item.snapshot[:12], "commit"),
                Span(f"{item.rows:,}"),
                Span(age(item.made_at, now), "faint"),
                Span(item.note),
            )
            for item in found
        ),
        right=frozenset({"ROWS"}),
        whole=frozenset({"TABLE", "SNAPSHOT", "VERSION"}),
        first=("", "TABLE", "SNAPSHOT"),
    )


def _snapshot_created_text(item: SnapshotSummary) -> Iterator[Block]:
    """Yield the line for a snapshot that was created."""
    yield line(
        "Created snapshot ",
        Span(item.name, "name"),
        f" of {item.relation} at version ",
        Span(item.snapshot[:12], "commit"),
        ".",
    )


def _snapshot_deleted_text(item: SnapshotSummary) -> Iterator[Block]:
    """Yield the line for a snapshot that was deleted."""
    yield line(
        "Deleted snapshot ",
        Span(item.name, "name"),
        f" of {item.relation}, which was version ",
        Span(item.snapshot[:12], "commit"),
        ".",
    )


def _snapshot_protected_text(item: SnapshotSummary) -> Iterator[Block]:
    """Yield the line that says whether a snapshot can be deleted now."""
    can = "can't be deleted." if item.is_protected else "can be deleted again."
    yield line("The snapshot ", Span(item.name, "name"), f" of {item.relation} {can}")
