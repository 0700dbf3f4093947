"""`dbt-vcs reuse`: list, count, explain and drop remembered results."""

from __future__ import annotations

import click

from dbt.adapters.vcs.cli.command_session import CommandSession, with_session
from dbt.adapters.vcs.cli.groups import DefaultGroup
from dbt.adapters.vcs.cli.options import common_options, json_option
from dbt.adapters.vcs.text.causes.reuse_text import (
    dropped_text,
    figures_text,
    reasons_text,
    results_text,
)
from dbt.adapters.vcs.verbs.reusing.remembered import drop_remembered, list_remembered
from dbt.adapters.vcs.verbs.reusing.reuse_figures import reuse_figures
from dbt.adapters.vcs.verbs.reusing.reuse_reasons import reuse_reasons


@click.group(cls=DefaultGroup)
@json_option
@common_options
@click.pass_context
def reuse(ctx: click.Context) -> None:
    """Show what is remembered of computed results, and why one was computed.

    Without a command: list them. NODE is a node's name or unique id.
    """
    if ctx.invoked_subcommand is None:
        ctx.invoke(list_)


@reuse.command("list")
@click.option("--node", metavar="NODE", help="Only the results of this node.")
@json_option
@with_session
def list_(session: CommandSession, node: str | None = None) -> None:
    """List remembered results, newest first."""
    found = list_remembered(session.repository, node)
    session.show(found, results_text(found, session.now))


@reuse.command("stats")
@click.option(
    "--days",
    type=float,
    default=30,
    show_default=True,
    metavar="DAYS",
    help="How far back runs are counted.",
)
@json_option
@with_session
def stats(session: CommandSession, days: float) -> None:
    """Show how much is remembered, and what it saved.

    Runs are those of the branch in the dbt profile, else the default branch, and those that left a
    branch behind.
    """
    found = reuse_figures(session.repository, session.branch, days=days)
    session.show(found, figures_text(found, session.now))


@reuse.command("why")
@click.argument("node")
@json_option
@with_session
def why(session: CommandSession, node: str) -> None:
    """Show why results of NODE were computed when they last were."""
    found = reuse_reasons(session.repository, node, session.branch)
    session.show(found, reasons_text(found, session.now))


@reuse.command("drop")
@click.option("--node", metavar="NODE", help="The results of this node.")
@click.option("--key", metavar="KEY", help="The result with this key, or its first digits.")
@click.option("--all", is_flag=True, help="All results.")
@json_option
@with_session
def drop(session: CommandSession, node: str | None, key: str | None, all: bool) -> None:
    """Forget results, which are computed again when they are needed.

    No table, view or history loses anything.
    """
    if (node is not None) + (key is not None) + all != 1:
        raise click.UsageError(
            session.spelled("Say what to forget: one of --node NODE, --key KEY and --all.")
        )
    report = drop_remembered(session.repository, node=node, key=key)
    session.show(report, dropped_text(report))
