"""`dbt-vcs prepare`: let Spark start sooner on this machine."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass

import click

from dbt.adapters.vcs.cli.command_session import CommandSession, with_session
from dbt.adapters.vcs.cli.options import json_option
from dbt.adapters.vcs.engines.factory import archive_classes, archived_classes
from dbt.adapters.vcs.layout.styled import line, size

_WORK = ("-m", "dbt.adapters.vcs.cli.machine.typical_work")


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """The archive of Spark's classes.

    Attributes:
        archive: Its path.
        bytes: Its size.
        is_new: False if it was there.
    """

    archive: str
    bytes: int
    is_new: bool


@click.command()
@click.option("--force", is_flag=True, help="Make the archive again.")
@json_option
@with_session
def prepare(session: CommandSession, force: bool) -> None:
    """Let Spark start sooner on this machine.

    Half of what a command's first statement waits for is Java, which reads and checks the same
    classes each time. This archives them, once for each Java and Spark, in some 200 MB of the
    cache folder, where dbt and dbt-vcs find them. It takes half a minute, and needs no repository.
    """
    found = None if force else archived_classes(os.environ)
    session.progress.show("Archiving Spark's classes")
    archive = found or archive_classes([sys.executable, *_WORK], os.environ)
    done = Prepared(archive=str(archive), bytes=archive.stat().st_size, is_new=found is None)
    verb = "Archived" if done.is_new else "Found"
    session.show(done, [line(f"{verb} Spark's classes in {archive}, {size(done.bytes)}.")])
