"""`dbt-vcs merge`: one branch into another."""

from __future__ import annotations

from dataclasses import dataclass

import click

from dbt.adapters.vcs.cli.command_session import CommandSession, with_session
from dbt.adapters.vcs.cli.conflict_mode import on_conflict_option
from dbt.adapters.vcs.cli.failure import ShownFailure
from dbt.adapters.vcs.cli.forms import check_only
from dbt.adapters.vcs.cli.options import gathered, json_option
from dbt.adapters.vcs.core.errors import ConflictError
from dbt.adapters.vcs.merges.conflicts.terms import Terms
from dbt.adapters.vcs.text.conflict_text import aborted_text
from dbt.adapters.vcs.text.merge_text import merge_text
from dbt.adapters.vcs.verbs.changing import merge as verb
from dbt.adapters.vcs.verbs.changing.resolve import abort_merge, continue_merge


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeOptions:
    """The arguments and options of the command, by name."""

    source: str | None
    target: str | None
    on_conflict: str | None
    go_on: bool
    abort: bool
    ff_only: bool
    dry_run: bool
    message: str | None
    force: bool


@click.command()
@click.argument("source", required=False)
@click.argument("target", required=False)
@on_conflict_option
@click.option(
    "--continue", "go_on", is_flag=True, help="Finish a merge whose conflicts are resolved."
)
@click.option("--abort", is_flag=True, help="Abort a merge that is waiting for its conflicts.")
@click.option("--ff-only", is_flag=True, help="Refuse unless the merge is a fast-forward.")
@click.option("--dry-run", is_flag=True, help="Show what would happen, and change nothing.")
@click.option("--message", "-m", metavar="TEXT", help="Message of the merge commit.")
@click.option("--force", is_flag=True, help="Also merge a run that failed or is still running.")
@json_option
@with_session
@gathered(MergeOptions)
def merge(session: CommandSession, given: MergeOptions) -> None:
    """Merge a branch, with all its relations in one step.

    SOURCE is any revision. TARGET defaults to the branch in the dbt profile, else the default
    branch. Tables that both sides changed are merged row by row. The branch of a dbt run is
    published as one commit. With --continue or --abort, give only TARGET.
    """
    if given.go_on or given.abort:
        _end(session, given)
        return
    if given.source is None:
        raise click.UsageError("Missing argument 'SOURCE'.")
    target = given.target or session.branch
    request = verb.MergeRequest(
        terms=Terms(message=given.message, ff_only=given.ff_only),
        policy=session.policy(given.on_conflict),
        force=given.force,
        dry_run=given.dry_run,
        protection=session.protection_of(target),
        on_stale=session.rules.on_stale,
    )
    report = verb.merge(
        session.repository,
        given.source,
        target,
        request,
        author=session.author,
        engine=session.engine,
    )
    session.show(report, merge_text(report))
    if report.how == "conflict":
        raise ShownFailure(ConflictError)


def _end(session: CommandSession, given: MergeOptions) -> None:
    """Continue or abort a merge that is waiting."""
    form = "--abort" if given.abort else "--continue"
    hint = "To see what still waits for a decision: dbt-vcs conflicts [TARGET]"
    check_only(form, "source", "target", "abort" if given.abort else "go_on", hint=hint)
    if given.source and given.target:
        raise click.UsageError(f"{form} takes only the target.")
    into = given.source or given.target or session.branch
    if given.abort:
        gone = abort_merge(session.repository, into, author=session.author)
        session.show(gone, aborted_text(gone))
        return
    done = continue_merge(
        session.repository, session.bound(into), author=session.author, engine=session.engine
    )
    session.show(done, merge_text(done))
