"""`dbt-vcs forecast`: which open branches will conflict, with their target and each other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from shlex import quote
from typing import Annotated

import click

from dbt.adapters.vcs.changes.merges.conflicts.open_merges import open_merge_of
from dbt.adapters.vcs.changes.merges.conflicts.policy import Policy
from dbt.adapters.vcs.changes.merges.merge_plan import Work, plan_merge
from dbt.adapters.vcs.changes.merges.table_merge import TableMerges
from dbt.adapters.vcs.commands.failure import ShownFailure
from dbt.adapters.vcs.commands.layout import Block, Span, counted, line
from dbt.adapters.vcs.commands.merge import check_target
from dbt.adapters.vcs.commands.session import CommandSession, sessions_of
from dbt.adapters.vcs.commands.verb import Option, verb
from dbt.adapters.vcs.core.branches import Branch
from dbt.adapters.vcs.core.errors import ConflictError, VcsError
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.engines.port import Engine, Rewriters
from dbt.adapters.vcs.workspace.run_branch import run_of


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeseenMerge:
    """What would come of merging two branches as they are now.

    Attributes:
        target: The branch that it would be merged into.
        conflicts: What would be left to decide, a line each; empty if it would merge.
        unknown: Why that isn't known; empty if it is.
    """

    source: str
    target: str
    conflicts: tuple[str, ...] = ()
    unknown: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """What would come of merging open branches.

    Attributes:
        target: The branch that all are meant for.
        branches: The open branches, in order of their names, without the target.
        checked: Number of merges that were tried.
        merges: Those that would conflict, or that can't be foreseen.
        damaged: What is damaged of branches that were left out, a sentence each.
    """

    target: str
    branches: tuple[str, ...]
    checked: int
    merges: tuple[ForeseenMerge, ...]
    damaged: tuple[str, ...] = ()


def forecast(
    repository: Repository,
    target: str,
    branch: str | None = None,
    *,
    policy: Policy | None = None,
    engine: Callable[[], Engine] | None = None,
) -> Forecast:
    """Merge open branches with their target and with each other, and change nothing.

    Open are all branches but the target, those of runs and those of waiting merges. A merge costs
    what both sides changed. It takes the same decisions as `merge` would now, with the same modes.

    Args:
        target: The branch that the others are meant for.
        branch: The branch to merge with the target and with each other branch; None for all.
        policy: What merges do about conflicts; None for the defaults.
        engine: As for `merge`.

    Raises:
        NotFoundError: The target or the branch does not exist.
        InputError: One of the two is the branch of a run or of a merge.
    """
    check_target(repository, target)
    into = repository.branch(target)
    damaged: list[str] = []
    opened = [
        each
        for each in repository.branches(lambda error: damaged.append(str(error)))
        if each.name != target and run_of(each) is None and open_merge_of(each) is None
    ]
    pairs = _pairs(repository, opened, into, branch)
    with sessions_of(engine, repository.blobs, "merge") as sessions:
        tried = [_foreseen(repository, pair, policy or Policy(), sessions) for pair in pairs]
    return Forecast(
        target=target,
        branches=tuple(each.name for each in opened),
        checked=len(tried),
        merges=tuple(each for each in tried if each.conflicts or each.unknown),
        damaged=tuple(damaged),
    )


def _pairs(
    repository: Repository, opened: Sequence[Branch], into: Branch, branch: str | None
) -> list[tuple[Branch, Branch]]:
    if branch is None or branch == into.name:
        pairs = [(each, into) for each in opened]
        return [*pairs, *combinations(opened, 2)] if branch is None else pairs
    check_target(repository, branch)
    one = repository.branch(branch)
    return [(one, other) for other in (into, *opened) if other.name != branch]


def _foreseen(
    repository: Repository, pair: tuple[Branch, Branch], policy: Policy, sessions: Rewriters
) -> ForeseenMerge:
    source, target = pair
    work = Work(source=source.name, commit=source.head, run=None, policy=policy)
    tables = TableMerges(repository, sessions, dry_run=True)
    conflicts, unknown = tuple[str, ...](), ""
    try:
        conflicts = plan_merge(repository, work, target, tables).conflicts
    except VcsError as error:
        # One damaged or unrelated branch must not hide what will become of the others.
        unknown = str(error)
    return ForeseenMerge(
        source=source.name, target=target.name, conflicts=conflicts, unknown=unknown
    )


def _check_forecast(*, branch: str | None, all: bool, **_: object) -> None:
    if branch is not None and all:
        raise click.UsageError("Give either BRANCH, or --all for each of them.")


@verb(check=_check_forecast)
def forecast_command(
    session: CommandSession,
    branch: str | None = None,
    *,
    into: Annotated[
        str | None,
        Option(
            "The branch that the others are meant for.  [default: the default branch]",
            metavar="NAME",
        ),
    ] = None,
    all: Annotated[bool, "Also merge each open branch with each other one."] = False,
) -> None:
    """Merge open branches in memory, and list what will conflict.

    BRANCH, by default the one in the dbt profile, is merged with the target and with each other
    open branch. For the target itself, each open branch is merged with it. Nothing is changed.
    Ends with 1 if there will be conflicts.
    """
    target = into or session.repository.default_branch
    found = forecast(
        session.repository,
        target,
        None if all else branch or session.branch,
        policy=session.policy(None),
        engine=session.engine,
    )
    session.show(found, _forecast_text(found), found.merges)
    session.warn(found.damaged)
    if any(each.conflicts for each in found.merges):
        raise ShownFailure(ConflictError)


def _forecast_text(found: Forecast) -> Iterator[Block]:
    for each in found.merges:
        names = Span(each.source, "name"), " and ", Span(each.target, "name")
        if each.unknown:
            yield line(*names, f": not known. {each.unknown}")
            continue
        yield line(*names, " will conflict:")
        for conflict in each.conflicts:
            yield line(Span(f"  {conflict}", "bad"))
    if not found.branches:
        yield line("There is no open branch beside ", Span(found.target, "name"), ".")
        return
    clear = found.checked - len(found.merges)
    yield line(
        f"{counted(len(found.branches), 'open branch', 'open branches')}: "
        f"{clear} of {counted(found.checked, 'merge')} would succeed."
    )
    early = [each for each in found.merges if each.conflicts and each.target == found.target]
    if early:
        source = quote(early[0].source)
        yield line(f"To settle one early: dbt-vcs merge {quote(found.target)} {source}")
