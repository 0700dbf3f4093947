"""`dbt-vcs diff`: how two commits differ, or two versions of a table."""

from __future__ import annotations

from typing import get_args

import click

from dbt.adapters.vcs.cli.command_session import Session, with_session
from dbt.adapters.vcs.cli.failure import Failure
from dbt.adapters.vcs.cli.forms import check_only
from dbt.adapters.vcs.cli.options import json_option, limit_option
from dbt.adapters.vcs.cli.pairs import Names
from dbt.adapters.vcs.core.errors import VcsError
from dbt.adapters.vcs.statements.syntax.diff_call import DiffShape
from dbt.adapters.vcs.text.diff_text import diff_schema_text, diff_summary_text, diff_text
from dbt.adapters.vcs.verbs.reading.diff import DiffReport, read_diff

DIFFERENT = 1


@click.command()
@click.argument("points", nargs=-1, metavar="[A..B | A...B | A B] [SCHEMA.TABLE]")
@click.option("--stat", is_flag=True, help="Numbers of rows alone.")
@click.option("--summary", is_flag=True, help="One line for everything.")
@click.option("--schema", is_flag=True, help="Differences of columns alone.")
@click.option("--columns", type=Names(), metavar="A,B", help="Compare these and the key alone.")
@click.option(
    "--shape",
    type=click.Choice(get_args(DiffShape)),
    default="changes",
    show_default=True,
    help="How the rows of a table are shown.",
)
@limit_option(50)
@json_option
@with_session
def diff(
    session: Session,
    points: tuple[str, ...],
    stat: bool,
    summary: bool,
    schema: bool,
    columns: tuple[str, ...] | None,
    shape: DiffShape,
    limit: int,
) -> None:
    """Say how two commits differ.

    Each relation that does is listed, with rows added, removed and modified. A..B compares B
    with A, A...B with where B left A; A alone is compared with the branch of the dbt profile, and
    nothing at all means that branch since it left the default one. A table's name shows its rows;
    A and B may be snapshots of it. Versions of two tables: SCHEMA.TABLE@A SCHEMA.OTHER@B.

    Exit codes: 0 equal, 1 different, 2 an error.
    """
    forms = {"--stat": stat, "--summary": summary, "--schema": schema}
    output = next((form for form, is_meant in forms.items() if is_meant), None)
    if output is not None:
        check_only(output, "points", "columns", output.strip("-"))
    try:
        report = read_diff(
            session.repository,
            points,
            branch=session.branch,
            columns=columns or (),
            shape=shape,
            limit=limit or None,
            with_rows=output is None,
        )
    except VcsError as error:
        raise Failure(str(error)) from error
    if output is None and not report.heads:
        check_only("a diff that shows no rows", "points", "columns")
    texts = {"--summary": diff_summary_text, "--schema": diff_schema_text}
    items = report.rows if report.heads else report.relations
    session.show(report, texts.get(output or "", diff_text)(report), items)
    if is_different(report, output):
        raise click.exceptions.Exit(DIFFERENT)


def is_different(report: DiffReport, output: str | None) -> bool:
    """Tell whether what was asked for differs."""
    if output == "--schema":
        return any(relation.columns for relation in report.relations)
    return not report.is_equal
