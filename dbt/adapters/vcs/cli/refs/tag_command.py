"""`dbt-vcs tag`: list, create, rename, delete and protect tags."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

import click

from dbt.adapters.vcs.cli.command_session import CommandSession, with_session
from dbt.adapters.vcs.cli.groups import DefaultGroup
from dbt.adapters.vcs.cli.options import common_options, json_option
from dbt.adapters.vcs.layout.styled import Grid, Span, age, line, short
from dbt.adapters.vcs.verbs.refs.rename import rename_tag
from dbt.adapters.vcs.verbs.refs.tag import create_tag, delete_tag, list_tags, protect_tag

if TYPE_CHECKING:
    from dbt.adapters.vcs.core.ids import CommitId
    from dbt.adapters.vcs.layout.styled import Block
    from dbt.adapters.vcs.verbs.refs.tag import TagSummary


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
    session.show(found, _tags_text(found, session.now))


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
    session.say(_tag_created_text(made))


@tag.command("rename")
@click.argument("name")
@click.argument("to", metavar="NEW")
@with_session
def rename(session: CommandSession, name: str, to: str) -> None:
    """Rename the tag NAME to NEW."""
    session.say(
        _tag_renamed_text(name, rename_tag(session.repository, name, to, author=session.author))
    )


@tag.command("delete")
@click.argument("name", nargs=-1, required=True, metavar="NAME...")
@with_session
def delete(session: CommandSession, name: tuple[str, ...]) -> None:
    """Delete tags, but not their commits."""
    for item in name:
        commit = delete_tag(session.repository, item, author=session.author)
        session.say(_tag_deleted_text(item, commit))


@tag.command("protect")
@click.argument("name")
@with_session
def protect(session: CommandSession, name: str) -> None:
    """Protect the tag NAME, so that it can't be deleted or renamed."""
    kept = protect_tag(session.repository, name, True, author=session.author)
    session.say(_tag_protected_text(kept))


@tag.command("unprotect")
@click.argument("name")
@with_session
def unprotect(session: CommandSession, name: str) -> None:
    """Let the tag NAME be deleted and renamed again."""
    freed = protect_tag(session.repository, name, False, author=session.author)
    session.say(_tag_protected_text(freed))


def _tags_text(tags: Sequence[TagSummary], now: datetime) -> Iterator[Block]:
    """Yield a list of tags; `!` marks a protected one."""
    if not tags:
        yield line("There are no tags.")
        return
    yield Grid(
        heads=("", "TAG", "COMMIT", "AGE", "WHAT"),
        rows=tuple(
            (
                Span("!" if tag.is_protected else ""),
                Span(tag.name, "name"),
                short(tag.commit),
                Span(age(tag.tagged_at, now), "faint"),
                Span(tag.note or tag.summary),
            )
            for tag in tags
        ),
        whole=frozenset({"TAG", "COMMIT"}),
        first=("", "TAG", "COMMIT"),
    )


def _tag_created_text(tag: TagSummary) -> Iterator[Block]:
    """Yield the line for a tag that was created."""
    yield line("Created tag ", Span(tag.name, "name"), " at ", short(tag.commit), ".")


def _tag_deleted_text(name: str, commit: CommitId | None) -> Iterator[Block]:
    """Yield the line for a tag that was deleted."""
    where = f", which was at {commit[:12]}" if commit else ""
    yield line("Deleted tag ", Span(name, "name"), f"{where}.")


def _tag_renamed_text(old: str, tag: TagSummary) -> Iterator[Block]:
    """Yield the line for a renamed tag."""
    new = Span(tag.name, "name")
    yield line("Renamed tag ", Span(old, "name"), " to ", new, ", at ", short(tag.commit), ".")


def _tag_protected_text(tag: TagSummary) -> Iterator[Block]:
    """Yield the line that says whether a tag can be deleted now."""
    can = "can't" if tag.is_protected else "can"
    end = "." if tag.is_protected else " again."
    yield line("The tag ", Span(tag.name, "name"), f" {can} be deleted or renamed{end}")
