"""`dbt-vcs revert`: undo the changes of a commit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from shlex import quote

from dbt.adapters.vcs.changes.diffs.summaries import ChangeSummary, list_changes
from dbt.adapters.vcs.changes.merges.branch_landing import land_work
from dbt.adapters.vcs.changes.merges.conflicts.open_merges import Clash, Terms
from dbt.adapters.vcs.changes.merges.conflicts.policy import Mode, Policy
from dbt.adapters.vcs.changes.merges.merge_plan import MergePlan, Work
from dbt.adapters.vcs.commands.layout import Block, Span, line, short
from dbt.adapters.vcs.commands.output import changes_text
from dbt.adapters.vcs.commands.restore import head_of
from dbt.adapters.vcs.commands.session import CommandSession, sessions_of
from dbt.adapters.vcs.commands.verb import Mainline, Message, ToChange, check_message, verb
from dbt.adapters.vcs.core.errors import ConflictError, InputError
from dbt.adapters.vcs.core.ids import CommitId
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.engines.port import Engine


@dataclass(frozen=True, slots=True, kw_only=True)
class RevertReport:
    """What a revert did.

    Attributes:
        commit: The commit whose changes were undone.
        parent: The parent that the changes are relative to.
        before: The branch's head before.
        after: Its head now; unchanged if no change of the commit was left.
        changes: How the branch changed.
    """

    branch: str
    revision: str
    commit: CommitId
    parent: CommitId
    before: CommitId
    after: CommitId
    changes: tuple[ChangeSummary, ...]


def revert(
    repository: Repository,
    revision: str,
    *,
    branch: str,
    author: str,
    message: str | None = None,
    mainline: int = 1,
    engine: Callable[[], Engine] | None = None,
) -> RevertReport:
    """Undo the changes of a commit; for a merge, relative to its parent number `mainline`.

    The engine is created for tables with more changed rows than fit into this process; a local
    Spark if None.

    Raises:
        NotFoundError: There is no such revision, or rows from before it have been
            garbage-collected.
        InputError: The commit has no such parent, or the branch is that of a run.
        ConflictError: Rows that it changed have changed again since; nothing was changed.
    """
    head_of(repository, branch)
    commit = repository.resolve(revision)
    parent = parent_of(repository, commit, mainline)
    # A merge with the commit as base and its parent as theirs: what the commit changed goes back,
    # and what came later stays. A table's own mode would lose later changes without a word.
    work = Work(
        source=commit[:12],
        base=commit,
        commit=parent,
        run=None,
        policy=Policy(override=Mode.FAIL),
        applies="revert",
    )
    terms = Terms(message=message or _message(repository, commit), metadata={"reverts": commit})
    with sessions_of(engine, repository.blobs, "revert") as sessions:
        landed = land_work(
            repository,
            work,
            branch,
            terms,
            author=author,
            sessions=sessions,
            validator=_without_conflicts,
        )
    return RevertReport(
        branch=branch,
        revision=revision,
        commit=commit,
        parent=parent,
        before=landed.before,
        after=landed.after,
        changes=list_changes(repository, landed.before, landed.after),
    )


def parent_of(repository: Repository, commit: CommitId, mainline: int) -> CommitId:
    """Return the parent that a commit's change is relative to, by its number.

    Raises:
        InputError: The commit has no such parent.
    """
    parents = repository.objects.commit(commit).parents
    if not 1 <= mainline <= len(parents):
        raise InputError(
            f"The commit {commit[:12]} has {len(parents) or 'no'} parents; parent {mainline} was "
            "asked for. The first commit of a repository changes nothing."
        )
    return parents[mainline - 1]


def _without_conflicts(plan: MergePlan) -> MergePlan:
    """Return the plan of a revert.

    Raises:
        ConflictError: It has conflicts.
    """
    commit = plan.base[:12]
    clashes = "; ".join(map(_clash_text, plan.clashes[:20]))
    if clashes:
        raise ConflictError(
            f"The commit {commit} can't be reverted on {plan.target.name!r}: what it changed has "
            f"changed again since in {clashes}. Nothing was changed. Revert the later commits "
            f"first, or restore single relations: dbt-vcs restore RELATION --to {commit}^ "
            f"--branch {quote(plan.target.name)}"
        )
    return plan


def _clash_text(clash: Clash) -> str:
    if clash.kind != "relation":
        return str(clash)
    whole = "created, dropped, or not a table" if clash.name.identifier else "its properties"
    return f"{clash.subject} ({whole})"


def _message(repository: Repository, commit: CommitId) -> str:
    return f'Revert "{repository.objects.commit(commit).summary}"\n\nThis reverts {commit}.'


def _revert_text(report: RevertReport) -> Iterator[Block]:
    where = Span(report.branch, "name")
    if report.before == report.after:
        yield line(
            "Nothing to revert: ", where, " has none of the changes of ", short(report.commit), "."
        )
        return
    yield line(
        "Reverted ",
        short(report.commit),
        " on ",
        where,
        ": ",
        short(report.before),
        " -> ",
        short(report.after),
    )
    yield from changes_text(report.changes)


@verb(check=check_message)
def revert_command(
    session: CommandSession,
    revision: str,
    *,
    branch: ToChange = None,
    message: Message = None,
    mainline: Mainline = 1,
) -> None:
    """Undo the changes of a commit.

    REVISION is the commit. The revert is a new commit, and later changes are kept. The branch
    defaults to the one in the dbt profile, else the default branch.
    """
    report = revert(
        session.repository,
        revision,
        branch=session.bound(branch or session.branch),
        author=session.author,
        message=message,
        mainline=mainline,
        engine=session.engine,
    )
    session.note_landed(
        report.branch, report.before, report.after, source=report.commit, action="revert"
    )
    session.show(report, _revert_text(report))
