"""`dbt-vcs branch`: list, create, rename and delete branches."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import TYPE_CHECKING

import click

from dbt.adapters.vcs.cli.command_session import CommandSession, with_session
from dbt.adapters.vcs.cli.failure import ShownFailure
from dbt.adapters.vcs.cli.groups import DefaultGroup
from dbt.adapters.vcs.cli.options import common_options, json_option
from dbt.adapters.vcs.core.errors import DamagedError
from dbt.adapters.vcs.core.repository import DEMANDS
from dbt.adapters.vcs.layout.styled import Grid, Span, age, line, short
from dbt.adapters.vcs.text.history_text import branch_undeleted_text
from dbt.adapters.vcs.verbs.refs.branch import (
    create_branch,
    delete_branch,
    iter_branches,
    protect_branch,
    undelete_branch,
    unprotect_branch,
)
from dbt.adapters.vcs.verbs.refs.rename import rename_branch

if TYPE_CHECKING:
    from dbt.adapters.vcs.core.ids import CommitId
    from dbt.adapters.vcs.layout.styled import Block
    from dbt.adapters.vcs.verbs.refs.branch import BranchSummary


@click.group(cls=DefaultGroup)
@click.option("--all", "-a", "with_runs", is_flag=True, help="Include the branches of dbt runs.")
@json_option
@common_options
@click.pass_context
def branch(ctx: click.Context, with_runs: bool) -> None:
    """List, create, rename and delete branches.

    Without a command: list them.
    """
    if ctx.invoked_subcommand is None:
        ctx.invoke(list_, with_runs=with_runs)


@branch.command("list")
@click.option("--all", "-a", "with_runs", is_flag=True, help="Include the branches of dbt runs.")
@json_option
@with_session
def list_(session: CommandSession, with_runs: bool) -> None:
    """List branches by name.

    AHEAD counts the commits that the branch has and the default branch lacks, BEHIND the reverse.
    """
    damaged: list[str] = []
    found = iter_branches(session.repository, damaged.append, with_runs=with_runs)
    session.show(found, _branches_text(found, session.now))
    session.warn(damaged)
    if damaged:
        raise ShownFailure(DamagedError)


@branch.command("create")
@click.argument("name")
@click.argument("at", required=False)
@click.option(
    "--force", is_flag=True, help="Also start from a run that failed or is still running."
)
@with_session
def create(session: CommandSession, name: str, at: str | None, force: bool) -> None:
    """Create the branch NAME.

    It starts at the revision AT, which defaults to the default branch. No data is copied, however
    large the tables are.
    """
    made = create_branch(session.repository, name, at, author=session.author, force=force)
    session.say(_branch_created_text(made))


@branch.command("rename")
@click.argument("name")
@click.argument("to", metavar="NEW")
@with_session
def rename(session: CommandSession, name: str, to: str) -> None:
    """Rename the branch NAME to NEW.

    Runs that are waiting to be published to it follow the new name. Update profiles that name the
    branch yourself.
    """
    made = rename_branch(session.repository, session.bound(name), to, author=session.author)
    session.say(_branch_renamed_text(name, made))


@branch.command("undelete")
@click.argument("name")
@with_session
def undelete(session: CommandSession, name: str) -> None:
    """Restore the deleted branch NAME.

    Its rows are kept for the retention period.
    """
    made = undelete_branch(session.repository, name, author=session.author)
    session.say(branch_undeleted_text(made.name, made.head))


@branch.command("delete")
@click.argument("name", nargs=-1, required=True, metavar="NAME...")
@click.option(
    "--force", is_flag=True, help="Also delete the branch of a run that is still running."
)
@with_session
def delete(session: CommandSession, name: tuple[str, ...], force: bool) -> None:
    """Delete branches.

    Their content stays in the repository for the retention period: `dbt-vcs branch undelete NAME`
    restores a branch.
    """
    for item in name:
        head = delete_branch(
            session.repository, session.bound(item), author=session.author, force=force
        )
        session.say(_branch_deleted_text(item, head))


@branch.command("protect")
@click.argument("name")
@click.option(
    "--require",
    multiple=True,
    type=click.Choice(DEMANDS),
    help="What every promotion needs; can be repeated.",
)
@with_session
def protect(session: CommandSession, name: str, require: tuple[str, ...]) -> None:
    """Protect the branch NAME, so that it accepts only promotions.

    With --require tests, tests must have passed on the versions that are promoted. `vcs.yml` can
    set the same for a project.
    """
    made = protect_branch(session.repository, name, require, author=session.author)
    session.say(_branch_protected_text(made))


@branch.command("unprotect")
@click.argument("name")
@with_session
def unprotect(session: CommandSession, name: str) -> None:
    """Let the branch NAME accept any change again."""
    made = unprotect_branch(session.repository, name, author=session.author)
    session.say(_branch_protected_text(made))


def _branches_text(branches: Iterable[BranchSummary], now: datetime) -> Iterator[Block]:
    """Yield a list of branches; `*` marks the default one, `!` a protected one."""
    yield Grid(
        heads=("", "BRANCH", "HEAD", "AGE", "AHEAD", "BEHIND", "LAST COMMIT"),
        rows=(
            (
                Span(("*" if branch.is_default else "") + ("!" if branch.is_protected else "")),
                Span(branch.name, "faint" if branch.is_run else "name"),
                short(branch.head),
                Span(age(branch.committed_at, now), "faint"),
                Span("many" if branch.ahead is None else str(branch.ahead)),
                Span("many" if branch.behind is None else str(branch.behind)),
                Span(branch.summary),
            )
            for branch in branches
        ),
        right=frozenset({"AHEAD", "BEHIND"}),
        whole=frozenset({"BRANCH", "HEAD"}),
        first=("", "BRANCH", "HEAD"),
    )


def _branch_created_text(branch: BranchSummary) -> Iterator[Block]:
    """Yield the line for a branch that was created."""
    yield line("Created branch ", Span(branch.name, "name"), " at ", short(branch.head), ".")


def _branch_protected_text(branch: BranchSummary) -> Iterator[Block]:
    """Yield the line that says which changes a branch accepts now."""
    name = Span(branch.name, "name")
    if not branch.is_protected:
        yield line(name, " accepts any change again.")
        return
    what = f" on which {' and '.join(branch.require)} passed" if branch.require else ""
    yield line(name, f" is protected: it accepts only promotions{what}.")


def _branch_deleted_text(name: str, head: CommitId) -> Iterator[Block]:
    """Yield the lines for a deleted branch, with the command that restores it."""
    yield line("Deleted branch ", Span(name, "name"), ", which was at ", short(head), ".")
    yield line(f"To restore it: dbt-vcs branch undelete {shlex.quote(name)}")


def _branch_renamed_text(old: str, branch: BranchSummary) -> Iterator[Block]:
    """Yield the line for a renamed branch."""
    new = Span(branch.name, "name")
    yield line("Renamed branch ", Span(old, "name"), " to ", new, ", at ", short(branch.head), ".")
