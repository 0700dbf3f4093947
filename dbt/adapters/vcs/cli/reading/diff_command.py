"""`dbt-vcs diff`: how two commits differ, or two versions of a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import get_args

import click

from dbt.adapters.vcs.cli.command_session import CommandSession, with_session
from dbt.adapters.vcs.cli.failure import Failure
from dbt.adapters.vcs.cli.forms import check_only
from dbt.adapters.vcs.cli.options import gathered, json_option, limit_option
from dbt.adapters.vcs.cli.pairs import NameList
from dbt.adapters.vcs.core.errors import VcsError
from dbt.adapters.vcs.statements.syntax.diff_call import DiffShape
from dbt.adapters.vcs.text.diff_text import diff_schema_text, diff_summary_text, diff_text
from dbt.adapters.vcs.verbs.reading.diff import read_diff
from dbt.adapters.vcs.verbs.reading.diff_report import DiffReport

DIFFERENT = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffOptions:
    """The arguments and options of the command, by name."""

    points: tuple[str, ...]
    stat: bool
    summary: bool
    schema: bool
    columns: tuple[str, ...] | None
    shape: DiffShape
    limit: int

    @property
    def output(self) -> str | None:
        """The option that asks for another output than the rows; None for the rows."""
        forms = {"--stat": self.stat, "--summary": self.summary, "--schema": self.schema}
        return next((form for form, is_meant in forms.items() if is_meant), None)


@click.command()
@click.argument("points", nargs=-1, metavar="[A..B | A...B | A B] [SCHEMA.TABLE]")
@click.option("--stat", is_flag=True, help="Show only row counts.")
@click.option("--summary", is_flag=True, help="Show one line for everything.")
@click.option("--schema", is_flag=True, help="Show only differences in columns.")
@click.option(
    "--columns", type=NameList(), metavar="A,B", help="Compare only these columns and the key."
)
@click.option(
    "--shape",
    type=click.Choice(get_args(DiffShape)),
    default="changes",
    show_default=True,
    help="How to show the rows of a table.",
)
@limit_option(50)
@json_option
@with_session
@gathered(DiffOptions)
def diff(session: CommandSession, given: DiffOptions) -> None:
    """Show how two commits differ.

    Lists each relation that differs, with the number of rows added, removed and modified. A..B
    compares B with A; A...B compares B with the point where it forked from A. A single A is
    compared with the branch in the dbt profile; without any, that branch is compared with where it
    forked from the default branch. With a table's name, its rows are shown, and A and B can be
    snapshots of it. Versions of two tables: SCHEMA.TABLE@A SCHEMA.OTHER@B.

    Exit codes: 0 equal, 1 different, 2 an error.
    """
    output = given.output
    if output is not None:
        check_only(output, "points", "columns", output.strip("-"))
    try:
        report = read_diff(
            session.repository,
            given.points,
            branch=session.branch,
            columns=given.columns or (),
            shape=given.shape,
            limit=(given.limit or None) if output is None else 0,
        )
    except VcsError as error:
        raise Failure(str(error)) from error
    if output is None and not report.heads:
        check_only("a diff without rows", "points", "columns")
    texts = {"--summary": diff_summary_text, "--schema": diff_schema_text}
    items = report.rows if report.heads else report.relations
    session.show(report, texts.get(output or "", diff_text)(report), items)
    if is_different(report, output):
        raise click.exceptions.Exit(DIFFERENT)


def is_different(report: DiffReport, output: str | None) -> bool:
    """Return whether there are differences."""
    if output == "--schema":
        return any(relation.columns for relation in report.relations)
    return not report.is_equal
