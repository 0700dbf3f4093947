"""`dbt-vcs branch`: list, create, rename, delete and protect branches."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice
from typing import Annotated, Final, TypeAlias

import click

from dbt.adapters.vcs.changes.merges.conflicts.open_merges import open_merge_of, open_merges
from dbt.adapters.vcs.commands.failure import ShownFailure
from dbt.adapters.vcs.commands.layout import Block, Grid, Span, age, line, short
from dbt.adapters.vcs.commands.revisions import (
    MOST_NAMES,
    check_free,
    check_unreserved,
    renamed_line,
    resolve_source,
    unpublished_lines,
)
from dbt.adapters.vcs.commands.session import CommandSession
from dbt.adapters.vcs.commands.verb import Option, rows_limit, verb, verbs
from dbt.adapters.vcs.core.branches import DEMANDS, Branch, Protection
from dbt.adapters.vcs.core.errors import (
    ConflictError,
    DamagedError,
    InputError,
    NotFoundError,
    ProtectedError,
)
from dbt.adapters.vcs.core.graph import divergence
from dbt.adapters.vcs.core.ids import CommitId, datetime_of
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.retention import EXPIRED, hold_commit
from dbt.adapters.vcs.core.store.blobs import caught, each
from dbt.adapters.vcs.workspace.run_branch import RunBranch, Status, run_of, runs

_AT_ONCE: Final = 16
"""Number of branches whose histories are read together."""

_REQUESTS: Final = 3
"""What it takes to read a branch by itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchSummary:
    """One branch.

    Attributes:
        name: Its name.
        head: The commit that it points to.
        author: Who made that commit.
        committed_at: When.
        summary: First line of that commit's message.
        is_default: True for the branch that others start from.
        is_run: True for the branch of a dbt run.
        ahead: Number of commits that it has and the default branch lacks; None if too many to
            count.
        behind: Number of commits that the default branch has and it lacks; None if too many to
            count.
        is_protected: True if it accepts only promotions.
        require: What it requires of promotions.
    """

    name: str
    head: CommitId
    author: str
    committed_at: datetime
    summary: str
    is_default: bool
    is_run: bool
    ahead: int | None
    behind: int | None
    is_protected: bool = False
    require: tuple[str, ...] = ()


def list_branches(
    repository: Repository,
    tell: Callable[[str], None] | None = None,
    *,
    with_runs: bool = False,
    first: int = 0,
) -> Iterator[BranchSummary]:
    """Yield the branches by name; those of runs and waiting merges only if requested.

    Few commits are read before the first is yielded. `first` is how many are going to be taken, 0
    for all: few of many branches are read one by one.

    Raises:
        DamagedError: A branch is damaged. With `tell`, it is told instead and left out.
    """

    def damaged(error: DamagedError) -> None:
        if tell is None:
            raise error
        tell(str(error))

    # Read once for all branches.
    trunk = repository.branch(repository.default_branch).head

    def summary(branch: Branch) -> BranchSummary | DamagedError:
        try:
            return summary_of(repository, branch, trunk)
        except DamagedError as error:
            # Returned, not raised: one damaged branch must not hide the others.
            return DamagedError(f"The branch {branch.name!r} is damaged. {error}")

    names = repository.branch_names() if first else None
    takes_few = names is not None and len(names) > max(MOST_NAMES, _REQUESTS * first)
    reader = repository.each_branch(damaged, names, takes_few=takes_few)
    # In lots: a remote store answers many reads at once, and the first lines are shown early.
    while some := list(islice(reader, _AT_ONCE)):
        branches = [
            branch
            for branch in some
            if with_runs or (run_of(branch) is None and open_merge_of(branch) is None)
        ]
        # Each commit once, however many branches are there: threads would all ask for it.
        each(caught(repository.objects.commit), {trunk, *(branch.head for branch in branches)})
        for found in each(summary, branches):
            if isinstance(found, DamagedError):
                damaged(found)
            else:
                yield found


def create_branch(
    repository: Repository, name: str, at: str | None = None, *, author: str, force: bool = False
) -> BranchSummary:
    """Create a branch at a revision, by default at the default branch.

    Raises:
        InputError: The name is taken, invalid, or reserved for dbt runs or merges.
        NotFoundError: There is no such revision, or its rows have been garbage-collected.
        ConflictError: The revision belongs to a run that did not succeed, and `force` is not set.
    """
    check_free(repository, "branch", name)
    start = repository.default_branch if at is None else at
    source = resolve_source(repository, start, force=force)
    # A commit without a name may be about to be collected.
    if source.ref is None:
        hold_commit(repository, source.commit, author=author)
    made = repository.create_branch(name, source.commit, author=author, note=f"from {start}")
    return summary_of(repository, made)


def delete_branch(
    repository: Repository, name: str, *, author: str, force: bool = False
) -> CommitId:
    """Delete a branch and return the commit that it pointed to.

    Raises:
        NotFoundError: It is not there.
        InputError: It is the default branch.
        ProtectedError: It is protected.
        ConflictError: It is the branch of a run that is still running, and `force` is not set.
    """
    branch = repository.branch(name)
    # A run's branch goes as `runs discard` lets it go: not while its process is alive.
    if run_of(branch) is not None:
        # Imported here: most branches are no run's.
        from dbt.adapters.vcs.commands.runs import discard_run

        discard_run(repository, name, author=author, force=force)
    else:
        repository.delete_branch(name, author=author)
    return branch.head


def check_merged(repository: Repository, name: str, current: str) -> None:
    """Check that nothing is lost with a branch, as `git branch -d` does.

    Raises:
        NotFoundError: It is not there.
        ConflictError: It has commits that the default branch and the current one lack.
    """
    head, default = repository.branch(name).head, repository.default_branch
    if name == default:
        # It is never deleted, and `delete_branch` says why.
        return
    for other in {default, current} - {name}:
        found = repository.find_branch(other)
        if found is not None and repository.merge_base(head, found.head) == head:
            return
    quoted = shlex.quote(name)
    raise ConflictError(
        f"The branch {name!r} has commits that {default!r} lacks. Nothing was deleted. To merge "
        f"them: dbt-vcs merge {quoted} {shlex.quote(default)}. To delete it all the same: "
        f"dbt-vcs branch delete {quoted}"
    )


def protect_branch(
    repository: Repository, name: str, protection: Protection | None, *, author: str
) -> BranchSummary:
    """Let a branch accept only promotions; any change again if `protection` is None.

    Raises:
        NotFoundError: It is not there.
        InputError: It is the branch of a run.
    """
    if protection is not None and run_of(repository.branch(name)) is not None:
        raise InputError(f"{name!r} is the branch of a dbt run; it can't be protected.")
    return summary_of(repository, repository.protect(name, protection, author=author))


def summary_of(
    repository: Repository, branch: Branch, trunk: CommitId | None = None
) -> BranchSummary:
    """Return the summary of a branch; the trunk is the default branch's head, read if None."""
    read = repository.objects.commit
    commit = read(branch.head)
    ahead, behind = divergence(
        branch.head,
        trunk or repository.branch(repository.default_branch).head,
        lambda id: read(id).parents,
        lambda id: read(id).committed_at,
    ) or (None, None)
    return BranchSummary(
        name=branch.name,
        head=branch.head,
        author=commit.author,
        committed_at=datetime_of(commit.committed_at),
        summary=commit.summary,
        is_default=branch.name == repository.default_branch,
        is_run=run_of(branch) is not None,
        ahead=ahead,
        behind=behind,
        is_protected=branch.protection is not None,
        require=branch.protection.require if branch.protection else (),
    )


def undelete_branch(repository: Repository, name: str, *, author: str) -> Branch:
    """Restore a deleted branch, with its last commit and its metadata.

    Raises:
        InputError: It exists, or a tag has its name by now.
        NotFoundError: It never existed, or its rows have been garbage-collected.
        RetryError: A garbage collection is running.
    """
    if repository.find_branch(name) is not None:
        raise InputError(f"The branch {name!r} exists. Only a deleted branch can be undeleted.")
    moves = repository.refs.log("heads", name)
    # A deletion is a move without a commit: the one before has what is to come back.
    last = next((ref for ref in moves if ref.move.commit is not None), None)
    if last is None or last.move.commit is None:
        # Raises, and names near matches.
        repository.branch(name)
        raise NotFoundError(f"There never was a branch {name!r}.")
    commit = last.move.commit
    if moves[0].move.note == EXPIRED:
        raise NotFoundError(
            f"The branch {name!r} of a dbt run was older than the retention period and was "
            "collected on expiry. Run the same command again."
        )
    if repository.find_tag(name) is not None:
        raise InputError(
            f"There is a tag {name!r}, which would hide a branch of the same name. Rename or "
            "delete the tag first."
        )
    hold_commit(repository, commit, author=author)
    # Unchecked, so that a name from an earlier version stays usable.
    return repository.create_branch(
        name, commit, author=author, note="undelete", state=last.move.state, check=False
    )


def rename_branch(repository: Repository, name: str, new: str, *, author: str) -> BranchSummary:
    """Rename a branch; runs that are waiting to be published to it follow.

    Nothing is copied. The reflog stays under the old name: `<old>@{1}` reads it if a branch of
    that name is created again, and times before the renaming are looked up there.

    Raises:
        NotFoundError: It is not there.
        InputError: It is the default branch, or the branch of a run or of a merge; or the new name
            is taken or not allowed.
        ProtectedError: It is protected.
        ConflictError: A run for it is still running, or a merge into it is waiting for its
            conflicts.
        RetryError: Others changed both names in the meantime.
    """
    check_free(repository, "branch", new)
    # Before the renaming, so that nothing is renamed if one of them is still running.
    waiting = _runs_to_follow(repository, name)
    repository.rename("heads", name, new, author=author)
    for run in waiting:
        repository.set_state(run.name, replace(run, target=new).state, author=author)
    return summary_of(repository, repository.branch(new))


def _runs_to_follow(repository: Repository, name: str) -> list[RunBranch]:
    """Check that a branch can be renamed, and return the runs to be published to it."""
    branch = repository.branch(name)
    if name == repository.default_branch:
        raise InputError(
            f"The branch {name!r} is the repository's default branch and can't be renamed: other "
            "branches start from it. Create a branch with the new name there instead: "
            "dbt-vcs branch create NAME"
        )
    if branch.protection is not None:
        raise ProtectedError(
            f"The branch {name!r} is protected and can't be renamed. Lift the protection first: "
            f"dbt-vcs branch unprotect {shlex.quote(name)}"
        )
    if run_of(branch) is not None or open_merge_of(branch) is not None:
        # Raises, since their names begin with a reserved prefix.
        check_unreserved("branch", name)
    # Its branch is `merges/<target>`, named after this one.
    if any(merge.target == name for merge in open_merges(repository)):
        raise ConflictError(
            f"A merge into {name!r} is waiting for its conflicts to be resolved. Finish it, or "
            f"abort it: dbt-vcs merge --abort {shlex.quote(name)}"
        )
    found = [run for run in runs(repository) if run.target == name]
    now = repository.clock()
    for run in found:
        # A run whose process is gone publishes nothing by itself, so it may follow.
        # Only the publication of a shared run reads where it goes, and that is yet to come.
        if run.status is Status.OPEN and not run.is_shared and not run.is_abandoned(now):
            raise ConflictError(
                f"The run {run.invocation} for {name!r} is still running ({run.owner}). Wait for "
                "it, or stop it."
            )
    return found


Limit: TypeAlias = Annotated[int, rows_limit("Branches to list")]
WithRuns: TypeAlias = Annotated[bool, Option("Include the branches of dbt runs.", "--all", "-a")]


_FLAGS: Final = {
    "-d": ("delete", "--merged"),
    "--delete": ("delete", "--merged"),
    "-D": ("delete",),
    "-m": ("rename",),
    "--move": ("rename",),
    **dict.fromkeys(("-l", "--list", "-v", "-vv"), ("list",)),
}
"""What git's flags stand for."""


@verbs(fallback="create", flags=_FLAGS)
def branch_command(
    *,
    limit: Limit = 0,
    with_runs: WithRuns = False,
) -> None:
    """List, create, rename and delete branches.

    Without a command: list them; `dbt-vcs branch NAME [AT]` creates one.
    """


@verb(branch_command)
def branch_list(
    session: CommandSession,
    *,
    limit: Limit = 0,
    with_runs: WithRuns = False,
) -> None:
    """List branches by name, with a star at that of the dbt profile, else the default branch.

    AHEAD counts the commits that the branch has and the default branch lacks, BEHIND the reverse.
    """
    damaged: list[str] = []
    found = list_branches(session.repository, damaged.append, with_runs=with_runs, first=limit)

    def text(items: Iterator[BranchSummary]) -> Iterator[Block]:
        return _branches_text(items, session.branch, session.now)

    session.show_first(found, limit, text, "There are more branches")
    # Known only now: branches are read while they are printed.
    session.warn(damaged)
    if damaged:
        raise ShownFailure(DamagedError)


@verb(branch_command, prints_json=False)
def branch_create(
    session: CommandSession,
    name: str,
    at: str | None = None,
    *,
    force: Annotated[bool, "Also start from a run that failed or is still running."] = False,
) -> None:
    """Create the branch NAME.

    It starts at the revision AT, which defaults to the default branch. No data is copied, however
    large the tables are.
    """
    made = create_branch(session.repository, name, at, author=session.author, force=force)
    session.say([line("Created branch ", Span(name, "name"), " at ", short(made.head), ".")])


@verb(branch_command, prints_json=False)
def branch_rename(
    session: CommandSession, name: str, to: Annotated[str, Option(metavar="NEW")]
) -> None:
    """Rename the branch NAME to NEW.

    Runs that are waiting to be published to it follow the new name. Update profiles that name the
    branch yourself.
    """
    made = rename_branch(session.repository, session.bound(name), to, author=session.author)
    session.say([renamed_line("branch", name, to, made.head)])


@verb(branch_command, prints_json=False)
def branch_undelete(session: CommandSession, name: str) -> None:
    """Restore the deleted branch NAME.

    Its rows are kept for the retention period.
    """
    made = undelete_branch(session.repository, name, author=session.author)
    session.say([line("Restored branch ", Span(name, "name"), " at ", short(made.head), ".")])


@verb(branch_command, prints_json=False)
def branch_delete(
    session: CommandSession,
    name: Annotated[tuple[str, ...], Option(metavar="NAME...")],
    *,
    merged: Annotated[
        bool, "Refuse if the branch has commits that the profile's and the default branch lack."
    ] = False,
    force: Annotated[bool, "Also delete the branch of a run that is still running."] = False,
) -> None:
    """Delete branches.

    Their content stays in the repository for the retention period: `dbt-vcs branch undelete NAME`
    restores a branch. As in git, -d NAME stands for delete --merged, and -D NAME for delete.
    """
    for item in name if merged else ():
        check_merged(session.repository, item, session.branch)
    for item in name:
        head = delete_branch(
            session.repository, session.bound(item), author=session.author, force=force
        )
        session.say(
            [
                line("Deleted branch ", Span(item, "name"), ", which was at ", short(head), "."),
                line(f"To restore it: dbt-vcs branch undelete {shlex.quote(item)}"),
            ]
        )
        session.warn(unpublished_lines(session.repository, item))


@verb(branch_command, prints_json=False)
def branch_protect(
    session: CommandSession,
    name: str,
    *,
    require: Annotated[
        tuple[str, ...],
        Option("What every promotion needs; can be repeated.", type=click.Choice(DEMANDS)),
    ] = (),
) -> None:
    """Protect the branch NAME, so that it accepts only promotions.

    With --require tests, tests must have passed on the versions that are promoted. `vcs.yml` can
    set the same for a project.
    """
    made = protect_branch(session.repository, name, Protection(require), author=session.author)
    what = f" on which {' and '.join(made.require)} passed" if made.require else ""
    session.say([line(Span(name, "name"), f" is protected: it accepts only promotions{what}.")])


@verb(branch_command, prints_json=False)
def branch_unprotect(session: CommandSession, name: str) -> None:
    """Let the branch NAME accept any change again."""
    protect_branch(session.repository, name, None, author=session.author)
    session.say([line(Span(name, "name"), " accepts any change again.")])


def _branches_text(
    branches: Iterable[BranchSummary], current: str, now: datetime
) -> Iterator[Block]:
    """Yield a list of branches; `*` marks the current one, `!` a protected one."""
    yield Grid(
        heads=("", "BRANCH", "HEAD", "AGE", "AHEAD", "BEHIND", "LAST COMMIT"),
        rows=(
            (
                Span(
                    ("*" if branch.name == current else "") + ("!" if branch.is_protected else "")
                ),
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
