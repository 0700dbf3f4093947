"""`dbt-vcs resolve`: choose a side for conflicts of a merge."""

from __future__ import annotations

import click
import pyarrow as pa

from dbt.adapters.vcs.cli.command_session import Session, with_session
from dbt.adapters.vcs.cli.options import json_option
from dbt.adapters.vcs.cli.pairs import Pair
from dbt.adapters.vcs.merges.conflicts.open_merges import Choice
from dbt.adapters.vcs.rows.exact_values import Given
from dbt.adapters.vcs.text.conflict_text import resolved_text
from dbt.adapters.vcs.verbs.changing.resolve import resolve as verb


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
    help="Only rows with this value, as text; may be given several times.",
)
@click.option(
    "--set",
    multiple=True,
    type=Pair("COLUMN=VALUE", is_exact=True),
    help="A value by hand for a column of these rows; may be given several times.",
)
@click.option("--set-null", "nulls", multiple=True, metavar="COLUMN", help="The same with NULL.")
@click.option("--all", is_flag=True, help="What is left of every relation.")
@click.option("--again", is_flag=True, help="Choose again for what was chosen before, too.")
@click.option("--into", "target", metavar="BRANCH", help="Which merge: the one into this branch.")
@json_option
@with_session
def resolve(
    session: Session,
    relation: str | None,
    choice: str | None,
    key: tuple[tuple[str, Given], ...],
    set: tuple[tuple[str, Given], ...],
    nulls: tuple[str, ...],
    all: bool,
    again: bool,
    target: str | None,
) -> None:
    """Choose a side for conflicts of RELATION, or values for a row.

    For all that are left, or for those of a key, whatever was chosen for them before. With --set
    the other columns are of the side that --with says, else what one side changed alone. A
    schema's own conflict is resolved by the schema's name. When nothing is left, `dbt-vcs merge
    --continue` goes on.
    """
    if (relation is None) != all:
        raise click.UsageError("Give the relation, or --all.")
    given = dict(set)
    if twice := given.keys() & {*nulls}:
        raise click.UsageError(f"{', '.join(sorted(twice))}: give a value or NULL, not both.")
    given.update(dict.fromkeys(nulls, pa.scalar(None)))
    done = verb(
        session.repository,
        target or session.branch,
        relation,
        choice,
        dict(key),
        given,
        again=again,
        author=session.author,
    )
    session.show(done, resolved_text(done))
