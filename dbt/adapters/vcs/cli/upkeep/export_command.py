"""`dbt-vcs export`: let other engines read a branch's tables from files."""

from __future__ import annotations

import click

from dbt.adapters.vcs.cli.command_session import CommandSession, with_session
from dbt.adapters.vcs.cli.options import json_option
from dbt.adapters.vcs.text.export_text import export_text
from dbt.adapters.vcs.verbs.upkeep import export as verb


@click.command()
@click.option("--branch", "-b", metavar="NAME", help="The branch.  [default: the profile's]")
@click.option("--all", is_flag=True, help="Write tables that did not change, too.")
@click.option(
    "--format-version",
    type=click.Choice(["2", "3"]),
    help="Version of Iceberg's format.  [default: that of vcs.yml, else 2]",
)
@json_option
@with_session
def export(
    session: CommandSession, branch: str | None, all: bool, format_version: str | None
) -> None:
    """Let other engines read a branch's tables, without a server.

    Writes Iceberg metadata of the tables that changed since the last export below iceberg/ in the
    repository. Data files are not touched. With --all, metadata of all tables is written, with the
    history and the tags of today. With `export: {main: iceberg}` in vcs.yml, this happens whenever
    the branch moves. If vcs.yml names a catalog there, the tables are registered in it.
    """
    branch = branch or session.branch
    rule = session.rules.export_of(branch)
    version = None if format_version is None else int(format_version)
    report = verb.export(session.repository, branch, rule, everything=all, format_version=version)
    session.show(report, export_text(report))
