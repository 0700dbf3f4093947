"""`dbt-vcs run`: one run of many dbt commands."""

from __future__ import annotations

from typing import Annotated

import click

from dbt.adapters.vcs import variables
from dbt.adapters.vcs.commands.layout import Span, line
from dbt.adapters.vcs.commands.runs import discard_run, find_run, publish_run, summarize_run
from dbt.adapters.vcs.commands.session import CommandSession
from dbt.adapters.vcs.commands.verb import Option, verb, verbs
from dbt.adapters.vcs.workspace.run_branch import RunBranch
from dbt.adapters.vcs.workspace.shared_run import begin_run


@verbs()
def run_command() -> None:
    """Make one run of many dbt commands, which are published together.

    `begin` prints the id of a new run. Each dbt command that finds this id in DBT_VCS_RUN is a
    part of it: it builds on what the commands before it did, and readers of the branch see none
    of it. Commands may run side by side, on any machine. `publish` publishes what they did in one
    step, if the last result of each node is a success.
    """


@verb(run_command)
def run_begin(
    session: CommandSession,
    *,
    branch: Annotated[
        str | None, Option("Branch that it is for.  [default: the profile's]", metavar="BRANCH")
    ] = None,
) -> None:
    """Begin a run, and print its id.

    For a shell: export DBT_VCS_RUN=$(dbt-vcs run begin)
    """
    target = branch or session.branch
    session.bound(target)
    run = begin_run(session.repository, target, author=session.author)
    summary = summarize_run(session.repository, run, session.repository.clock())
    session.show(summary, [line(run.invocation)])


@verb(run_command)
def run_publish(
    session: CommandSession,
    id: Annotated[str | None, Option(metavar="[RUN]")] = None,
    *,
    force: Annotated[bool, "Also publish a run in which something failed."] = False,
) -> None:
    """Publish a run: merge it into its branch, in one step.

    RUN is its id, the start of its id, or its branch; without one it is that of DBT_VCS_RUN. It
    is refused if the last result of some node is a failure, or a command is still running.
    """
    publish_run(session, _named(session, id), force=force)


@verb(run_command, prints_json=False)
def run_discard(
    session: CommandSession,
    id: Annotated[str | None, Option(metavar="[RUN]")] = None,
    *,
    force: Annotated[bool, "Also a run of which commands are still running."] = False,
) -> None:
    """Discard a run: delete its branch, and those of its commands.

    RUN is its id, the start of its id, or its branch; without one it is that of DBT_VCS_RUN.
    """
    run = _named(session, id)
    gone = discard_run(session.repository, run.name, author=session.author, force=force)
    session.say([line("Discarded ", Span(gone.branch, "name"), f" ({gone.status}).")])


def _named(session: CommandSession, id: str | None) -> RunBranch:
    wanted = id or variables.joined_run()
    if not wanted:
        raise click.UsageError(
            f"Which run? Give its id, or set {variables.RUN}. To list them: dbt-vcs runs list"
        )
    return find_run(session.repository, wanted)
