"""`dbt-vcs export`: let other engines read a branch's tables without a server."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from dbt.adapters.vcs.commands.layout import Block, Span, counted, line
from dbt.adapters.vcs.commands.session import CommandSession
from dbt.adapters.vcs.commands.verb import Option, verb
from dbt.adapters.vcs.iceberg.branch_export import BranchExport, Registration
from dbt.adapters.vcs.iceberg.exports import export


@verb()
def export_command(
    session: CommandSession,
    *,
    branch: Annotated[
        str | None, Option("The branch.  [default: the profile's]", "-b", metavar="NAME")
    ] = None,
    all: Annotated[bool, "Write tables that did not change, too."] = False,
    format_version: Annotated[
        Literal["2", "3"] | None,
        "Version of Iceberg's format.  [default: that of vcs.yml, else 2]",
    ] = None,
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
    report = export(session.repository, branch, rule, everything=all, format_version=version)
    session.show(report, _export_text(report))


def _export_text(report: BranchExport) -> Iterator[Block]:
    for relation, why in report.refused.items():
        yield line("Not exported: ", Span(relation, "name"), f". {why}")
    for relation in report.removed:
        yield line("Removed ", Span(relation, "name"), " from the export.")
    tables = counted(len(report.written), "table") if report.written else "no tables"
    views = f" and {counted(len(report.views), 'view')}" if report.views else ""
    yield line(
        f"Exported {tables}{views} of ",
        Span(report.branch, "name"),
        f" @ {report.commit[:12]} to {report.location}",
    )
    if report.registration is not None:
        yield from _registration_text(report.registration)


def _registration_text(done: Registration) -> Iterator[Block]:
    for relation, why in done.refused.items():
        yield line("Not registered: ", Span(relation, "name"), f". {why}")
    for relation in done.dropped:
        yield line("Dropped ", Span(relation, "name"), f" from the catalog {done.catalog}.")
    if not done.has_views:
        yield line(f"The catalog {done.catalog} can't have views.")
    tables = counted(len(done.registered), "relation") if done.registered else "nothing"
    yield line(f"Registered {tables} in the catalog ", Span(done.catalog, "name"))
