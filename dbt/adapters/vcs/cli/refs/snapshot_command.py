"""`dbt-vcs snapshot`: list, create, delete and protect named snapshots of tables."""

from __future__ import annotations

import click

from dbt.adapters.vcs.cli.command_session import CommandSession, with_session
from dbt.adapters.vcs.cli.groups import DefaultGroup
from dbt.adapters.vcs.cli.options import common_options, json_option
from dbt.adapters.vcs.text.snapshot_text import (
    snapshot_created_text,
    snapshot_deleted_text,
    snapshot_protected_text,
    snapshots_text,
)
from dbt.adapters.vcs.verbs.refs.named_snapshots import (
    create_snapshot,
    delete_snapshot,
    list_snapshots,
    protect_snapshot,
)


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
    session.show(found, snapshots_text(found, session.now))


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
    session.show(made, snapshot_created_text(made))


@snapshot.command("delete")
@click.argument("relation")
@click.argument("name", nargs=-1, required=True, metavar="NAME...")
@with_session
def delete(session: CommandSession, relation: str, name: tuple[str, ...]) -> None:
    """Delete named snapshots of the table RELATION."""
    for item in name:
        gone = delete_snapshot(session.repository, relation, item, author=session.author)
        session.say(snapshot_deleted_text(gone))


@snapshot.command("protect")
@click.argument("relation")
@click.argument("name")
@with_session
def protect(session: CommandSession, relation: str, name: str) -> None:
    """Protect the snapshot NAME of the table RELATION, so that it can't be deleted."""
    kept = protect_snapshot(session.repository, relation, name, True, author=session.author)
    session.say(snapshot_protected_text(kept))


@snapshot.command("unprotect")
@click.argument("relation")
@click.argument("name")
@with_session
def unprotect(session: CommandSession, relation: str, name: str) -> None:
    """Let the snapshot NAME of the table RELATION be deleted again."""
    freed = protect_snapshot(session.repository, relation, name, False, author=session.author)
    session.say(snapshot_protected_text(freed))
