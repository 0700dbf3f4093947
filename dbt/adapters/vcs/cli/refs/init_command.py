"""`dbt-vcs init`: create an empty repository."""

from __future__ import annotations

import click

from dbt.adapters.vcs.cli.command_session import CommandSession, with_session
from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.store.opening import open_blobs
from dbt.adapters.vcs.layout.styled import Span, line


@click.command()
@click.argument("location", required=False)
@click.option(
    "--default-branch", metavar="NAME", help="Branch that others start from.  [default: main]"
)
@with_session
def init(session: CommandSession, location: str | None, default_branch: str | None) -> None:
    """Create an empty repository.

    It is created at LOCATION, else at --repository, DBT_VCS_REPOSITORY or the location in the dbt
    profile. dbt creates one by itself on its first run. If there already is one, nothing happens.
    """
    if location and session.settings.repository:
        raise click.UsageError("Give either LOCATION or --repository.")
    options = dict(session.settings.storage_options)
    blobs = open_blobs(location, options) if location else session.blobs()
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
