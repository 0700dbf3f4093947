"""`dbt-vcs init` and `upgrade`: make a repository, or give one the newest format."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

import click

from dbt.adapters.vcs.commands.layout import Block, Span, line
from dbt.adapters.vcs.commands.session import CommandSession
from dbt.adapters.vcs.commands.verb import Option, verb
from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.store.opening import ADDED, FORMAT_VERSION, open_blobs, upgrade_header


@verb(prints_json=False)
def init_command(
    session: CommandSession,
    location: str | None = None,
    *,
    default_branch: Annotated[
        str | None, Option("Branch that others start from.  [default: main]", metavar="NAME")
    ] = None,
) -> None:
    """Create an empty repository.

    It is created at LOCATION, else at --repository, DBT_VCS_REPOSITORY or the location in the dbt
    profile. dbt creates one by itself on its first run. If there already is one, nothing happens.
    """
    if location and session.settings.repository:
        raise click.UsageError("Give either LOCATION or --repository.")
    options = dict(session.settings.storage_options)
    blobs = open_blobs(location, options) if location else session.blobs()
    # Asked first, since `create` opens a repository that is there.
    there = blobs.exists("vcs.json")
    repository = Repository.create(
        blobs, default_branch=default_branch or "main", author=session.author
    )
    name = Span(repository.default_branch, "name")
    if there and default_branch not in (None, repository.default_branch):
        raise InputError(
            f"{repository.uri} is a repository already, with the default branch "
            f"{repository.default_branch!r}; expected {default_branch!r}. Nothing was changed."
        )
    word = "There is already a repository" if there else "Created an empty repository"
    session.say([line(f"{word} in {repository.uri}; its default branch is ", name, ".")])


@dataclass(frozen=True, slots=True, kw_only=True)
class Upgrade:
    """The upgrade of a repository.

    Attributes:
        before: The version of its format.
        after: The version that it gets.
        changes: What is new in the versions between.
        dry_run: True if nothing was changed.
    """

    before: int
    after: int
    changes: tuple[str, ...]
    dry_run: bool


@verb()
def upgrade_command(
    session: CommandSession,
    *,
    dry_run: Annotated[bool, "Show what would change, and change nothing."] = False,
) -> None:
    """Give a repository of an older version the newest format.

    Only vcs.json is written; all commits, rows and names stay as they are. Versions of dbt-vcs
    that don't know the format can't open the repository any more. First let all commands of such
    versions end: what runs already doesn't look at vcs.json again.
    """
    repository = session.repository
    before = repository.header.format
    numbers = range(before + 1, FORMAT_VERSION + 1)
    found = Upgrade(
        before=before,
        after=FORMAT_VERSION,
        changes=tuple(text for number in numbers for text in ADDED[number]),
        dry_run=dry_run,
    )
    if not dry_run:
        # Decision 41: older versions read the new number, and stop before they do harm.
        upgrade_header(repository.blobs, repository.header)
    session.show(found, _upgrade_text(repository.uri, found))


def _upgrade_text(uri: str, found: Upgrade) -> Iterator[Block]:
    if not found.changes:
        yield line(f"{uri} has the newest format, {found.after}.")
        return
    verb = "would get" if found.dry_run else "has got"
    yield line(f"{uri} {verb} format {found.after} in place of {found.before}:")
    for text in found.changes:
        yield line(f"  {text}")
    yield line("Versions of dbt-vcs that don't know it can't open the repository any more.")
