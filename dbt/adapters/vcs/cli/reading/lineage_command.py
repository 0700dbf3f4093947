"""`dbt-vcs lineage`: what a version was built from, or what was built from it."""

from __future__ import annotations

import click

from dbt.adapters.vcs.cli.command_session import CommandSession, with_session
from dbt.adapters.vcs.cli.options import json_option
from dbt.adapters.vcs.text.history_text import lineage_text
from dbt.adapters.vcs.verbs.reading.lineage_tree import read_lineage


@click.command()
@click.argument("relation", metavar="RELATION[@REVISION]")
@click.option("--forward", "-f", is_flag=True, help="Show what was built from it, on the branch.")
@click.option("--depth", type=click.IntRange(min=0), metavar="N", help="Number of levels.")
@click.option("--branch", "-b", metavar="NAME", help="The branch.")
@json_option
@with_session
def lineage(
    session: CommandSession, relation: str, forward: bool, depth: int | None, branch: str | None
) -> None:
    """Show what a version was built from.

    For each version: commit, run, node, SQL, git, inputs. RELATION is schema.table; REVISION is
    any revision or a named snapshot of the table. The branch defaults to the one in the dbt
    profile, else the default branch.
    """
    if branch and not forward and "@" in relation:
        raise click.UsageError(
            f"--branch can't be used with {relation}, which says the version. Leave out --branch, "
            "or the part from the @ on."
        )
    found = read_lineage(
        session.repository,
        relation,
        branch=branch or session.branch,
        forward=forward,
        depth=depth,
    )
    session.show(found, lineage_text(found, session.now, forward=forward))
