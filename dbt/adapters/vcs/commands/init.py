"""`dbt-vcs init` and `upgrade`: make a repository, or give one the newest format."""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

import click

from dbt.adapters.vcs import variables
from dbt.adapters.vcs.commands.layout import Block, Span, line
from dbt.adapters.vcs.commands.session import CommandSession
from dbt.adapters.vcs.commands.verb import Option, verb
from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.store.blobs import Blobs
from dbt.adapters.vcs.core.store.opening import (
    ADDED,
    FORMAT_VERSION,
    located,
    open_blobs,
    upgrade_header,
)
from dbt.include.vcs import STARTER_PROJECT

_WAREHOUSE: Final = "warehouse"
# What dbt writes. A repository has a `.gitignore` of its own.
_IGNORED: Final = "target/\ndbt_packages/\nlogs/\n.user.yml\n"
# As dbt wants it.
_PROJECT_NAME: Final = re.compile(r"[^\W\d]\w*", re.ASCII)


@verb(prints_json=False)
def init_command(
    session: CommandSession,
    location: str | None = None,
    *,
    default_branch: Annotated[
        str | None, Option("Branch that others start from.  [default: main]", metavar="NAME")
    ] = None,
    project: Annotated[
        str | None,
        Option(
            "Also write a small dbt project, whose first build passes, to this new folder.",
            metavar="FOLDER",
        ),
    ] = None,
) -> None:
    """Create an empty repository.

    It is created at LOCATION, else at --repository, DBT_VCS_REPOSITORY or the location in the dbt
    profile; for a new project else in its folder. dbt creates one by itself on its first run. If
    there already is one, nothing happens.
    """
    if location and session.settings.repository:
        raise click.UsageError("Give either LOCATION or --repository.")
    if project is None:
        options = dict(session.settings.storage_options)
        _create(
            session, open_blobs(location, options) if location else session.blobs(), default_branch
        )
        return
    folder = _vacant_folder(project, session)
    location = location or session.settings.repository or os.environ.get(variables.REPOSITORY)
    made = _create(session, open_blobs(location or str(folder / _WAREHOUSE)), default_branch)
    _write_project(
        folder,
        repository=located(location, Path.cwd()) if location else f"./{_WAREHOUSE}",
        default_branch=made.default_branch,
    )
    session.say(
        [
            line(f"Created the project {folder.name} in {folder}. Build it:"),
            line(f"  cd {shlex.quote(project)} && dbt build"),
        ]
    )


def _create(session: CommandSession, blobs: Blobs, default_branch: str | None) -> Repository:
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
    return repository


def _vacant_folder(project: str, session: CommandSession) -> Path:
    """Return the folder of a new project.

    Raises:
        click.UsageError: An option was given that doesn't go together with a new project.
        InputError: Something lies there besides hidden files, or dbt refuses its name.
    """
    if session.settings.storage_options:
        raise click.UsageError(
            "--project can't be used with --storage-option, since values may be secret. Set them "
            "in the environment, or create the project first and write its profiles.yml."
        )
    folder = Path(project).expanduser().resolve()
    if not _PROJECT_NAME.fullmatch(folder.name):
        raise InputError(
            f"A dbt project has the name of its folder: expected letters, digits and "
            f"underscores, and no digit first; found {folder.name!r}. Name another folder."
        )
    names = sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []
    # A repository that lies there is used.
    others = [name for name in names if name != _WAREHOUSE and not name.startswith(".")]
    if others or (folder.exists() and not folder.is_dir()):
        found = ", ".join(others[:3]) or "a file"
        raise InputError(
            f"{folder} is no place for a new project: expected an empty folder or none, found "
            f"{found}. Nothing was changed. Name another folder; a project that exists needs "
            "only a profile, which `dbt init` writes in its folder."
        )
    return folder


def _write_project(folder: Path, *, repository: str, default_branch: str) -> None:
    """Write the starter project, named as its folder is; a file that is there stays."""
    # JSON is YAML, and quotes whatever a location or a branch may have.
    values = {
        "PROJECT": folder.name,
        "REPOSITORY": json.dumps(repository),
        "DEFAULT_BRANCH": json.dumps(default_branch),
    }
    texts = {".gitignore": _IGNORED}
    for path in sorted(STARTER_PROJECT.rglob("*.*")):
        text = path.read_text(encoding="utf-8")
        name = path.relative_to(STARTER_PROJECT).as_posix()
        texts[name] = re.sub("|".join(values), lambda found: values[found[0]], text)
    for name, text in texts.items():
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        if not place.exists():
            place.write_text(text, encoding="utf-8")


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
