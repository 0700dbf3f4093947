"""`dbt-vcs optimize`: compact tables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from dbt.adapters.vcs.cli.command_session import CommandSession, with_session
from dbt.adapters.vcs.cli.options import json_option
from dbt.adapters.vcs.cli.pairs import NameList
from dbt.adapters.vcs.layout.styled import Grid, Span, counted, line, short, size
from dbt.adapters.vcs.verbs.upkeep import optimize as verb

if TYPE_CHECKING:
    from dbt.adapters.vcs.layout.styled import Block
    from dbt.adapters.vcs.verbs.upkeep.optimize import OptimizeReport


@click.command()
@click.argument("relation", nargs=-1, type=NameList(), metavar="[RELATIONS]...")
@click.option("--schema", metavar="NAME", help="All tables of a schema.")
@click.option("--all", is_flag=True, help="All tables of the branch.")
@click.option("--branch", metavar="NAME", help="The branch.  [default: the profile's]")
@click.option(
    "--target-size",
    metavar="SIZE",
    default="128MB",
    show_default=True,
    help="Target size of files.",
)
@click.option(
    "--cluster-by",
    type=NameList(),
    metavar="COLUMNS",
    help="Sort all rows by these columns, separated by commas; needs Spark.",
)
@json_option
@with_session
def optimize(
    session: CommandSession,
    relation: tuple[tuple[str, ...], ...],
    schema: str | None,
    all: bool,
    branch: str | None,
    target_size: str,
    cluster_by: tuple[str, ...] | None,
) -> None:
    """Combine small files of tables.

    Also rewrites files with many deleted rows without these rows. RELATIONS are tables,
    schema.table each. No rows change, so diffs and merges don't either. Rewritten files are sorted
    by the columns that the table is clustered by.
    """
    request = verb.OptimizeRequest(
        relations=[name for names in relation for name in names],
        schema=schema,
        everything=all,
        target_bytes=verb.parse_size(target_size),
        cluster_by=cluster_by or (),
    )
    report = verb.optimize(
        session.repository,
        session.bound(branch or session.branch),
        request,
        author=session.author,
        engine=session.engine,
    )
    session.show(report, _optimize_text(report))


def _optimize_text(report: OptimizeReport) -> Iterator[Block]:
    """Yield what a compaction did."""
    if report.commit is None:
        what = counted(report.looked_at, "table")
        yield line(f"Nothing to do: {what} checked, and no block needs to be rewritten.")
        return
    yield Grid(
        heads=("TABLE", "BLOCKS", "SIZE", "DELETED ROWS DROPPED"),
        rows=tuple(
            (
                Span(table.relation, "name"),
                Span(f"{table.blocks_before:,} -> {table.blocks_after:,}"),
                Span(f"{size(table.bytes_before)} -> {size(table.bytes_after)}"),
                Span(f"{table.dropped_rows:,}"),
            )
            for table in report.tables
        ),
        right=frozenset({"BLOCKS", "SIZE", "DELETED ROWS DROPPED"}),
        whole=frozenset({"TABLE"}),
        first=("TABLE",),
    )
    yield line(
        f"Optimized {counted(len(report.tables), 'table')} on ",
        Span(report.branch, "name"),
        " at ",
        short(report.commit),
        ".",
    )
