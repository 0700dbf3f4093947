"""`dbt-vcs runs`: list, discard and publish the runs that left a branch behind."""

from __future__ import annotations

import click

from dbt.adapters.vcs.cli.command_session import CommandSession, with_session
from dbt.adapters.vcs.cli.forms import check_only
from dbt.adapters.vcs.cli.groups import DefaultGroup
from dbt.adapters.vcs.cli.options import common_options, json_option
from dbt.adapters.vcs.text.merge_text import merge_text
from dbt.adapters.vcs.text.run_text import discarded_text, runs_text
from dbt.adapters.vcs.verbs.left_runs import discard_expired, discard_run, find_run, list_runs


@click.group(cls=DefaultGroup)
@json_option
@common_options
@click.pass_context
def runs(ctx: click.Context) -> None:
    """List, discard and publish runs of dbt.

    Without a command: list them. RUN is a run's invocation id, its first digits, or its branch.
    """
    if ctx.invoked_subcommand is None:
        ctx.invoke(list_)


@runs.command("list")
@json_option
@with_session
def list_(session: CommandSession) -> None:
    """List runs, newest first."""
    found = list_runs(session.repository)
    session.show(found, runs_text(found, session.now))


@runs.command("discard")
@click.argument("id", nargs=-1, metavar="[RUN]...")
@click.option("--expired", is_flag=True, help="All runs older than the retention period.")
@click.option("--force", is_flag=True, help="Also a run that is still running.")
@with_session
def discard(session: CommandSession, id: tuple[str, ...], expired: bool, force: bool) -> None:
    """Delete the branches of runs.

    What they published is kept.
    """
    if bool(id) == expired:
        raise click.UsageError("Give the runs to discard, or --expired.")
    if expired:
        check_only("--expired", "expired")
        session.say(discarded_text(discard_expired(session.repository, author=session.author)))
    for item in id:
        gone = discard_run(session.repository, item, author=session.author, force=force)
        session.say(discarded_text([gone]))


@runs.command("publish")
@click.argument("id", metavar="RUN")
@click.option("--force", is_flag=True, help="Also publish a run that failed or is still running.")
@json_option
@with_session
def publish(session: CommandSession, id: str, force: bool) -> None:
    """Merge a run into its target.

    The target is the branch that the run was started for; it gets one commit.
    """
    # Imported here: listing runs, which is far more common, doesn't need the code that merges.
    from dbt.adapters.vcs.verbs.changing.merge import MergeRequest, merge

    run = find_run(session.repository, id)
    report = merge(
        session.repository,
        run.name,
        session.bound(run.target),
        MergeRequest(policy=session.policy(None), force=force, on_stale=session.rules.on_stale),
        author=session.author,
        engine=session.engine,
    )
    session.show(report, merge_text(report))
