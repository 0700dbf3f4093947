"""`dbt-vcs resolve`: resolve conflicts of a merge."""

from __future__ import annotations

from dataclasses import dataclass

import click
import pyarrow as pa

from dbt.adapters.vcs.cli.command_session import CommandSession, with_session
from dbt.adapters.vcs.cli.options import gathered, json_option
from dbt.adapters.vcs.cli.pairs import Pair
from dbt.adapters.vcs.merges.conflicts.decisions import RowChoice
from dbt.adapters.vcs.merges.rowwise.choice import Choice
from dbt.adapters.vcs.rows.exact_values import Given
from dbt.adapters.vcs.text.conflict_text import resolved_text
from dbt.adapters.vcs.verbs.changing.resolve import resolve as verb


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolveOptions:
    """The arguments and options of the command, by name."""

    relation: str | None
    choice: str | None
    key: tuple[tuple[str, Given], ...]
    set: tuple[tuple[str, Given], ...]
    nulls: tuple[str, ...]
    all: bool
    again: bool
    target: str | None

    @property
    def values(self) -> dict[str, Given]:
        """The values to set, by column.

        Raises:
            click.UsageError: A column is given both a value and NULL.
        """
        given = dict(self.set)
        if twice := given.keys() & {*self.nulls}:
            raise click.UsageError(f"{', '.join(sorted(twice))}: give a value or NULL, not both.")
        return {**given, **dict.fromkeys(self.nulls, pa.scalar(None))}


@click.command()
@click.argument("relation", required=False)
@click.option(
    "--with",
    "choice",
    type=click.Choice([choice.value for choice in Choice if choice is not Choice.CUSTOM]),
    help="Keep ours, take theirs, go back to the base, or delete.",
)
@click.option(
    "--key",
    multiple=True,
    type=Pair("COLUMN=VALUE", is_exact=True),
    help="Only rows with this value; can be repeated.",
)
@click.option(
    "--set",
    multiple=True,
    type=Pair("COLUMN=VALUE", is_exact=True),
    help="Value for a column of these rows; can be repeated.",
)
@click.option(
    "--set-null",
    "nulls",
    multiple=True,
    metavar="COLUMN",
    help="Set a column of these rows to NULL.",
)
@click.option("--all", is_flag=True, help="All unresolved conflicts of every relation.")
@click.option("--again", is_flag=True, help="Also change earlier choices.")
@click.option("--into", "target", metavar="BRANCH", help="The branch that is merged into.")
@json_option
@with_session
@gathered(ResolveOptions)
def resolve(session: CommandSession, given: ResolveOptions) -> None:
    """Resolve conflicts of RELATION with one side, or with values for a row.

    Applies to all unresolved conflicts, or with --key to those of the key, even if resolved
    before. With --set, the other columns come from the side given by --with, otherwise from the
    side that changed them. For the conflict of a schema itself, give the schema's name. When no
    conflict is left, finish with `dbt-vcs merge --continue`.
    """
    if (given.relation is None) != given.all:
        raise click.UsageError("Give a relation, or --all.")
    chosen = RowChoice(
        choice=None if given.choice is None else Choice.of(given.choice),
        key=dict(given.key),
        values=given.values,
        again=given.again,
    )
    done = verb(
        session.repository,
        given.target or session.branch,
        given.relation,
        chosen,
        author=session.author,
    )
    session.show(done, resolved_text(done))
