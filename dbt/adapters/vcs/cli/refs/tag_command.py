"""`dbt-vcs tag`: list, create, rename, delete and protect tags."""

from __future__ import annotations

import click

from dbt.adapters.vcs.cli.command_session import CommandSession, with_session
from dbt.adapters.vcs.cli.groups import DefaultGroup
from dbt.adapters.vcs.cli.options import common_options, json_option
from dbt.adapters.vcs.text.tag_text import (
    tag_created_text,
    tag_deleted_text,
    tag_protected_text,
    tag_renamed_text,
    tags_text,
)
from dbt.adapters.vcs.verbs.refs.rename import rename_tag
from dbt.adapters.vcs.verbs.refs.tag import create_tag, delete_tag, list_tags, protect_tag


@click.group(cls=DefaultGroup, fallback="create")
@json_option
@common_options
@click.pass_context
def tag(ctx: click.Context) -> None:
    """List, create, rename and delete tags.

    Without a command: list them; `dbt-vcs tag NAME [AT]` creates one.
    """
    if ctx.invoked_subcommand is None:
        ctx.invoke(list_)


@tag.command("list")
@json_option
@with_session
def list_(session: CommandSession) -> None:
    """List tags."""
    found = list_tags(session.repository)
    session.show(found, tags_text(found, session.now))


@tag.command("create")
@click.argument("name")
@click.argument("at", required=False)
@click.option("--message", "-m", "note", default="", metavar="TEXT", help="A note about it.")
@with_session
def create(session: CommandSession, name: str, at: str | None, note: str) -> None:
    """Create a tag for the commit of the revision AT.

    AT defaults to the branch in the dbt profile, else the default branch.
    """
    made = create_tag(
        session.repository, name, at or session.branch, author=session.author, note=note
    )
    session.say(tag_created_text(made))


@tag.command("rename")
@click.argument("name")
@click.argument("to", metavar="NEW")
@with_session
def rename(session: CommandSession, name: str, to: str) -> None:
    """Rename the tag NAME to NEW."""
    session.say(
        tag_renamed_text(name, rename_tag(session.repository, name, to, author=session.author))
    )


@tag.command("delete")
@click.argument("name", nargs=-1, required=True, metavar="NAME...")
@with_session
def delete(session: CommandSession, name: tuple[str, ...]) -> None:
    """Delete tags, but not their commits."""
    for item in name:
        commit = delete_tag(session.repository, item, author=session.author)
        session.say(tag_deleted_text(item, commit))


@tag.command("protect")
@click.argument("name")
@with_session
def protect(session: CommandSession, name: str) -> None:
    """Protect the tag NAME, so that it can't be deleted or renamed."""
    kept = protect_tag(session.repository, name, True, author=session.author)
    session.say(tag_protected_text(kept))


@tag.command("unprotect")
@click.argument("name")
@with_session
def unprotect(session: CommandSession, name: str) -> None:
    """Let the tag NAME be deleted and renamed again."""
    freed = protect_tag(session.repository, name, False, author=session.author)
    session.say(tag_protected_text(freed))
