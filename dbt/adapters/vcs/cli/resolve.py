"""`dbt-vcs resolve`: choose a side for conflicts of a merge."""

from __future__ import annotations

import click

from dbt.adapters.vcs.cli.pairs import read_pairs
from dbt.adapters.vcs.cli.session import Session, with_session
from dbt.adapters.vcs.cli.settings import json_option
from dbt.adapters.vcs.verbs.resolve import resolve as verb
from dbt.adapters.vcs.verbs.text import resolved_text
from dbt.adapters.vcs.workspace.openmerges import Choice


@click.command()
@click.argument("relation", required=False)
@click.option(
    "--with",
    "choice",
    required=True,
    type=click.Choice([choice.value for choice in Choice]),
    help="Keep ours, take theirs, go back to the base, or delete.",
)
@click.option(
    "--key",
    multiple=True,
    metavar="COLUMN=VALUE",
    help="Only rows with this value, as text; may be given several times.",
)
@click.option("--all", "everything", is_flag=True, help="Every conflict of every relation.")
@click.option("--into", "target", metavar="BRANCH", help="Which merge: the one into this branch.")
@json_option
@with_session
def resolve(
    session: Session,
    relation: str | None,
    choice: str,
    key: tuple[str, ...],
    everything: bool,
    target: str | None,
) -> None:
    """Choose a side for conflicts of RELATION.

    For all of them, or for those of a key. A schema's own conflict is resolved by the schema's
    name. When nothing is left, `dbt-vcs merge --continue` goes on.
    """
    if (relation is None) != everything:
        raise click.UsageError("Give the relation, or --all.")
    wanted = read_pairs(key, option="--key", shape="COLUMN=VALUE")
    done = verb(
        session.repository,
        target or session.branch,
        relation,
        choice,
        wanted,
        author=session.author,
    )
    session.show(done, resolved_text(done))
