"""`dbt-vcs promote`: publish a branch to a protected branch."""

from __future__ import annotations

import click

from dbt.adapters.vcs.cli.command_session import CommandSession, with_session
from dbt.adapters.vcs.cli.conflict_mode import on_conflict_option
from dbt.adapters.vcs.cli.failure import ShownFailure
from dbt.adapters.vcs.cli.options import json_option
from dbt.adapters.vcs.cli.pairs import Pair
from dbt.adapters.vcs.core.errors import ConflictError
from dbt.adapters.vcs.merges.conflicts.terms import Terms
from dbt.adapters.vcs.text.merge_text import merge_text
from dbt.adapters.vcs.verbs.changing import promote as verb
from dbt.adapters.vcs.verbs.changing.merge import MergeRequest


@click.command()
@click.argument("source")
@click.argument("target", required=False)
@on_conflict_option
@click.option("--dry-run", is_flag=True, help="Show what would happen, and change nothing.")
@click.option("--message", "-m", metavar="TEXT", help="Message of the commit.")
@click.option(
    "--metadata",
    multiple=True,
    type=Pair("KEY=VALUE"),
    help="Extra metadata for the commit, such as ticket=SHOP-12; can be repeated.",
)
@json_option
@with_session
def promote(
    session: CommandSession,
    source: str,
    target: str | None,
    on_conflict: str | None,
    dry_run: bool,
    message: str | None,
    metadata: tuple[tuple[str, str], ...],
) -> None:
    """Publish a branch, all of its relations or none.

    SOURCE is a branch or the branch of a run that passed. TARGET defaults to the branch in the dbt
    profile, else the default branch; it can be protected. If it requires tests, they must have
    passed on exactly the versions that are published.
    """
    target = target or session.branch
    request = MergeRequest(
        terms=Terms(message=message, metadata=dict(metadata)),
        policy=session.policy(on_conflict),
        dry_run=dry_run,
        protection=session.protection_of(target),
        on_stale=session.rules.on_stale,
    )
    report = verb.promote(
        session.repository,
        source,
        target,
        request,
        author=session.author,
        engine=session.engine,
    )
    session.show(report, merge_text(report))
    if report.how == "conflict":
        raise ShownFailure(ConflictError)
