"""`dbt-vcs branch`, `tag` and `snapshot`: the three kinds of names."""

from __future__ import annotations

import heapq
import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice
from typing import Annotated, Final, NamedTuple

import click

from dbt.adapters.vcs.changes.merges.conflicts.open_merges import open_merge_of, open_merges
from dbt.adapters.vcs.commands.failure import ShownFailure
from dbt.adapters.vcs.commands.layout import Block, Grid, Span, age, line, short
from dbt.adapters.vcs.commands.revisions import (
    check_free,
    check_unreserved,
    named_branch,
    parse_relation,
    resolve_source,
)
from dbt.adapters.vcs.commands.session import CommandSession
from dbt.adapters.vcs.commands.verb import Note, Option, verb, verbs
from dbt.adapters.vcs.core.branches import (
    DEMANDS,
    Branch,
    NamedSnapshot,
    Protection,
    Tag,
    is_protected,
)
from dbt.adapters.vcs.core.collection import EXPIRED
from dbt.adapters.vcs.core.errors import (
    ConflictError,
    DamagedError,
    InputError,
    NotFoundError,
    ProtectedError,
)
from dbt.adapters.vcs.core.ids import CommitId, SnapshotId, datetime_of
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.retention import hold, hold_commit
from dbt.adapters.vcs.core.store.each import each
from dbt.adapters.vcs.core.tableversions import find_version
from dbt.adapters.vcs.workspace.run_branch import RunBranch, Status, discard, run_of, runs

_AT_ONCE: Final = 64
"""Number of branches whose histories are read together."""


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
    repository: Repository, tell: Callable[[str], None] | None = None, *, with_runs: bool = False
) -> list[BranchSummary]:
    """Return the branches by name; those of runs and waiting merges only if requested.

    Raises:
        DamagedError: A branch is damaged. With `tell`, it is told instead and left out.
    """
    return list(iter_branches(repository, tell, with_runs=with_runs))


def iter_branches(
    repository: Repository, tell: Callable[[str], None] | None = None, *, with_runs: bool = False
) -> Iterator[BranchSummary]:
    """Yield what `list_branches` returns; reads few commits before it yields the first."""

    def damaged(error: DamagedError) -> None:
        if tell is None:
            raise error
        tell(str(error))

    branches = [
        branch
        for branch in repository.branches(damaged)
        if with_runs or (run_of(branch) is None and open_merge_of(branch) is None)
    ]
    trunk = repository.branch(repository.default_branch).head

    def summary(branch: Branch) -> BranchSummary | DamagedError:
        try:
            return _branch_summary(repository, branch, trunk)
        except DamagedError as error:
            # Returned, not raised: one damaged branch must not hide the others.
            return DamagedError(f"The branch {branch.name!r} is damaged. {error}")

    reader = iter(branches)
    # In lots: a remote store answers many reads at once, and the first lines are shown early.
    while some := list(islice(reader, _AT_ONCE)):
        for found in each(summary, some):
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
    commit = resolve_source(repository, start, force=force)
    # A commit without a name may be about to be collected.
    if named_branch(repository, start) is None and repository.find_tag(start) is None:
        hold_commit(repository, commit, author=author)
    made = repository.create_branch(name, commit, author=author, note=f"from {start}")
    return _branch_summary(repository, made, repository.branch(repository.default_branch).head)


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
    run = run_of(branch)
    if run is not None:
        discard(repository, run, author=author, force=force)
    else:
        repository.delete_branch(name, author=author)
    return branch.head


def protect_branch(
    repository: Repository, name: str, require: tuple[str, ...] = (), *, author: str
) -> BranchSummary:
    """Protect a branch, so that it accepts only promotions.

    Raises:
        NotFoundError: It is not there.
        InputError: It is the branch of a run, or a requirement is unknown.
    """
    unknown = [item for item in require if item not in DEMANDS]
    if unknown:
        raise InputError(
            f"Unknown requirement {unknown[0]!r}; expected one of {', '.join(DEMANDS)}."
        )
    if run_of(repository.branch(name)) is not None:
        raise InputError(f"{name!r} is the branch of a dbt run; it can't be protected.")
    repository.protect(name, Protection(require), author=author)
    return find_branch(repository, name)


def unprotect_branch(repository: Repository, name: str, *, author: str) -> BranchSummary:
    """Let a branch accept any change again.

    Raises:
        NotFoundError: It is not there.
    """
    repository.protect(name, None, author=author)
    return find_branch(repository, name)


def find_branch(repository: Repository, name: str) -> BranchSummary:
    """Return one branch.

    Raises:
        NotFoundError: It is not there.
    """
    trunk = repository.branch(repository.default_branch).head
    return _branch_summary(repository, repository.branch(name), trunk)


def _branch_summary(repository: Repository, branch: Branch, trunk: CommitId) -> BranchSummary:
    read = repository.objects.commit
    commit = read(branch.head)
    counts = divergence(
        branch.head, trunk, lambda id: read(id).parents, lambda id: read(id).committed_at
    )
    return BranchSummary(
        name=branch.name,
        head=branch.head,
        author=commit.author,
        committed_at=datetime_of(commit.committed_at),
        summary=commit.summary,
        is_default=branch.name == repository.default_branch,
        is_run=run_of(branch) is not None,
        ahead=counts.ahead if counts else None,
        behind=counts.behind if counts else None,
        is_protected=branch.protection is not None,
        require=branch.protection.require if branch.protection else (),
    )


def undelete_branch(repository: Repository, name: str, *, author: str) -> Branch:
    """Restore a deleted branch, with its last commit and its metadata.

    Raises:
        InputError: It exists.
        NotFoundError: It never existed, or its rows have been garbage-collected.
        RetryError: A garbage collection is running.
    """
    if repository.find_branch(name) is not None:
        raise InputError(f"The branch {name!r} exists. Only a deleted branch can be undeleted.")
    moves = repository.refs.log("heads", name)
    last = next((ref for ref in moves if ref.move.commit is not None), None)
    if last is None or last.move.commit is None:
        repository.branch(name)
        raise NotFoundError(f"There never was a branch {name!r}.")
    commit = last.move.commit
    if moves[0].move.note == EXPIRED:
        raise NotFoundError(
            f"The branch {name!r} of a dbt run was older than the retention period and was "
            "collected on expiry. Run the same command again."
        )
    hold_commit(repository, commit, author=author)
    return repository.create_branch(
        name, commit, author=author, note="undelete", state=last.move.state, check=False
    )


DIVERGENCE_LIMIT: Final = 1_000
"""Commits that are looked at before counting is given up."""

_LEFT, _RIGHT, _BOTH = 1, 2, 3


class Divergence(NamedTuple):
    """Numbers of commits that only the left and only the right head reaches."""

    ahead: int
    behind: int


def divergence(
    left: CommitId,
    right: CommitId,
    parents_of: Callable[[CommitId], Iterable[CommitId]],
    age_of: Callable[[CommitId], int],
) -> Divergence | None:
    """Count as `git rev-list --left-right --count` does; None beyond a limit.

    It gives up after DIVERGENCE_LIMIT commits, and relies on commits being later than their
    parents, which every landing ensures.
    """
    seen: dict[CommitId, int] = {}
    queue: list[tuple[int, CommitId]] = []

    def mark(node: CommitId, side: int) -> None:
        if node not in seen:
            heapq.heappush(queue, (-age_of(node), node))
        seen[node] = seen.get(node, 0) | side

    mark(left, _LEFT)
    mark(right, _RIGHT)
    counts = {_LEFT: 0, _RIGHT: 0}
    for _ in range(DIVERGENCE_LIMIT):
        # What is left is common history: it counts for neither side.
        if all(seen[node] == _BOTH for _, node in queue):
            return Divergence(counts[_LEFT], counts[_RIGHT])
        _, node = heapq.heappop(queue)
        side = seen[node]
        if side != _BOTH:
            counts[side] += 1
        for parent in parents_of(node):
            mark(parent, side)
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class TagSummary:
    """One tag.

    Attributes:
        name: Its name.
        commit: The commit that it names.
        summary: First line of that commit's message.
        tagged_by: Who created the tag.
        tagged_at: When.
        note: The note given when it was created.
        is_protected: True if it can't be deleted or renamed.
    """

    name: str
    commit: CommitId
    summary: str
    tagged_by: str
    tagged_at: datetime
    note: str
    is_protected: bool


def list_tags(repository: Repository) -> list[TagSummary]:
    """Return the tags by name."""
    return each(lambda tag: _tag_summary(repository, tag), repository.tags())


def create_tag(
    repository: Repository, name: str, at: str, *, author: str, note: str = ""
) -> TagSummary:
    """Create a tag for the commit of a revision.

    Raises:
        InputError: The name is taken by a tag or branch, or is invalid.
        NotFoundError: There is no such revision.
    """
    check_free(repository, "tag", name)
    commit = repository.resolve(at)
    if named_branch(repository, at) is None:
        hold_commit(repository, commit, author=author)
    made = repository.create_tag(name, commit, author=author, note=note)
    return _tag_summary(repository, made)


def delete_tag(repository: Repository, name: str, *, author: str) -> CommitId | None:
    """Delete a tag and return the commit that it named; None if another process was faster.

    Raises:
        NotFoundError: It is not there.
        ProtectedError: It is protected.
    """
    tag = repository.find_tag(name)
    repository.delete_tag(name, author=author)
    return tag.commit if tag else None


def protect_tag(
    repository: Repository, name: str, is_protected: bool, *, author: str
) -> TagSummary:
    """Protect a tag, so that it can't be deleted or renamed, or remove its protection.

    Raises:
        NotFoundError: It is not there.
    """
    return _tag_summary(repository, repository.protect_tag(name, is_protected, author=author))


def find_tag(repository: Repository, name: str) -> TagSummary:
    """Return one tag.

    Raises:
        NotFoundError: It is not there.
    """
    found = repository.find_tag(name)
    if found is None:
        raise NotFoundError(f"There is no tag {name!r}; see dbt-vcs tag list.")
    return _tag_summary(repository, found)


def _tag_summary(repository: Repository, tag: Tag) -> TagSummary:
    made = repository.refs.created("tags", tag.ref).move
    return TagSummary(
        name=tag.name,
        commit=tag.commit,
        summary=repository.objects.commit(tag.commit).summary,
        tagged_by=made.by,
        tagged_at=datetime_of(made.at),
        note=made.note,
        is_protected=is_protected(tag.ref),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotSummary:
    """One named snapshot.

    Attributes:
        relation: The table, `schema.identifier`.
        name: Name of the snapshot.
        snapshot: The version that it names.
        commit: The commit where it was created.
        rows: Row count of the version.
        made_at: When the snapshot was created.
        made_by: Who created it.
        note: The note given when it was created.
        is_protected: True if it can't be deleted.
    """

    relation: str
    name: str
    snapshot: SnapshotId
    commit: CommitId
    rows: int
    made_at: datetime
    made_by: str
    note: str
    is_protected: bool


def list_snapshots(repository: Repository, relation: str | None = None) -> list[SnapshotSummary]:
    """Return the named snapshots of one table or of all, by table and name.

    Raises:
        InputError: The relation's name is invalid.
    """
    names = repository.snapshots
    found = names.all() if relation is None else names.of(parse_relation(relation))
    return each(lambda item: _snapshot_summary(repository, item), found)


def create_snapshot(
    repository: Repository, relation: str, name: str, at: str, *, author: str, note: str = ""
) -> SnapshotSummary:
    """Name the version of a table that a revision shows.

    Raises:
        InputError: The table already has a snapshot of that name, or the name is invalid.
        NotFoundError: There is no such table or version, or its rows have been garbage-collected.
    """
    table = parse_relation(relation)
    version, commit = find_version(repository, table, at)
    known = repository.branch(repository.default_branch).head
    hold(repository, commit, [version], author=author, known=known)
    made = repository.snapshots.create(
        table, name, version, at=commit or known, author=author, note=note
    )
    return _snapshot_summary(repository, made)


def delete_snapshot(
    repository: Repository, relation: str, name: str, *, author: str
) -> SnapshotSummary:
    """Delete a named snapshot, and return it.

    Raises:
        NotFoundError: The table has no such snapshot.
        ProtectedError: It is protected.
    """
    gone = repository.snapshots.delete(parse_relation(relation), name, author=author)
    return _snapshot_summary(repository, gone)


def protect_snapshot(
    repository: Repository, relation: str, name: str, is_protected: bool, *, author: str
) -> SnapshotSummary:
    """Protect a named snapshot, so that it can't be deleted, or remove its protection.

    Raises:
        NotFoundError: The table has no such snapshot.
    """
    table = parse_relation(relation)
    kept = repository.snapshots.protect(table, name, is_protected, author=author)
    return _snapshot_summary(repository, kept)


def _snapshot_summary(repository: Repository, item: NamedSnapshot) -> SnapshotSummary:
    move = repository.snapshots.made(item)
    return SnapshotSummary(
        relation=str(item.relation),
        name=item.name,
        snapshot=item.snapshot,
        commit=item.commit,
        rows=repository.objects.snapshot(item.snapshot).rows,
        made_at=datetime_of(move.at),
        made_by=move.by,
        note=move.note,
        is_protected=is_protected(item.ref),
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
    waiting = _runs_to_follow(repository, name)
    repository.rename("heads", name, new, author=author)
    for run in waiting:
        repository.set_state(run.name, replace(run, target=new).state, author=author)
    return find_branch(repository, new)


def rename_tag(repository: Repository, name: str, new: str, *, author: str) -> TagSummary:
    """Rename a tag.

    Raises:
        NotFoundError: It is not there.
        InputError: The new name is taken or not allowed.
        ProtectedError: It is protected.
    """
    check_free(repository, "tag", new)
    repository.rename("tags", name, new, author=author)
    return find_tag(repository, new)


def _runs_to_follow(repository: Repository, name: str) -> list[RunBranch]:
    """Check that a branch can be renamed, and return the runs to be published to it."""
    branch = repository.branch(name)
    if name == repository.default_branch:
        raise InputError(
            f"The branch {name!r} is the repository's default branch and can't be renamed: other "
            "branches start from it. Create a branch with the new name there instead: "
            "dbt-vcs branch create <name>"
        )
    if branch.protection is not None:
        raise ProtectedError(
            f"The branch {name!r} is protected and can't be renamed. Lift the protection first: "
            f"dbt-vcs branch unprotect {name}"
        )
    if run_of(branch) is not None or open_merge_of(branch) is not None:
        check_unreserved("branch", name)
    if any(merge.target == name for merge in open_merges(repository)):
        raise ConflictError(
            f"A merge into {name!r} is waiting for its conflicts to be resolved. Finish it, or "
            f"abort it: dbt-vcs merge --abort {name}"
        )
    found = [run for run in runs(repository) if run.target == name]
    now = repository.clock()
    for run in found:
        if run.status is Status.OPEN and not run.is_abandoned(now):
            raise ConflictError(
                f"The run {run.invocation} for {name!r} is still running ({run.owner}). Wait for "
                "it, or stop it."
            )
    return found


@verbs()
def branch_command(
    *,
    with_runs: Annotated[bool, Option("Include the branches of dbt runs.", "--all", "-a")] = False,
) -> None:
    """List, create, rename and delete branches.

    Without a command: list them.
    """


@verb(branch_command)
def branch_list(
    session: CommandSession,
    *,
    with_runs: Annotated[bool, Option("Include the branches of dbt runs.", "--all", "-a")] = False,
) -> None:
    """List branches by name.

    AHEAD counts the commits that the branch has and the default branch lacks, BEHIND the reverse.
    """
    damaged: list[str] = []
    found = iter_branches(session.repository, damaged.append, with_runs=with_runs)
    session.show(found, _branches_text(found, session.now))
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
    session.say([_rename_line("branch", name, to, made.head)])


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
    force: Annotated[bool, "Also delete the branch of a run that is still running."] = False,
) -> None:
    """Delete branches.

    Their content stays in the repository for the retention period: `dbt-vcs branch undelete NAME`
    restores a branch.
    """
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
    made = protect_branch(session.repository, name, require, author=session.author)
    session.say(_branch_protected_text(made))


@verb(branch_command, prints_json=False)
def branch_unprotect(session: CommandSession, name: str) -> None:
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


def _branch_protected_text(branch: BranchSummary) -> Iterator[Block]:
    """Yield the line that says which changes a branch accepts now."""
    name = Span(branch.name, "name")
    if not branch.is_protected:
        yield line(name, " accepts any change again.")
        return
    what = f" on which {' and '.join(branch.require)} passed" if branch.require else ""
    yield line(name, f" is protected: it accepts only promotions{what}.")


@verbs("create")
def tag_command() -> None:
    """List, create, rename and delete tags.

    Without a command: list them; `dbt-vcs tag NAME [AT]` creates one.
    """


@verb(tag_command)
def tag_list(session: CommandSession) -> None:
    """List tags."""
    found = list_tags(session.repository)
    session.show(found, _tags_text(found, session.now))


@verb(tag_command, prints_json=False)
def tag_create(
    session: CommandSession, name: str, at: str | None = None, *, note: Note = ""
) -> None:
    """Create a tag for the commit of the revision AT.

    AT defaults to the branch in the dbt profile, else the default branch.
    """
    made = create_tag(
        session.repository, name, at or session.branch, author=session.author, note=note
    )
    session.say([line("Created tag ", Span(name, "name"), " at ", short(made.commit), ".")])


@verb(tag_command, prints_json=False)
def tag_rename(
    session: CommandSession, name: str, to: Annotated[str, Option(metavar="NEW")]
) -> None:
    """Rename the tag NAME to NEW."""
    made = rename_tag(session.repository, name, to, author=session.author)
    session.say([_rename_line("tag", name, to, made.commit)])


@verb(tag_command, prints_json=False)
def tag_delete(
    session: CommandSession, name: Annotated[tuple[str, ...], Option(metavar="NAME...")]
) -> None:
    """Delete tags, but not their commits."""
    for item in name:
        commit = delete_tag(session.repository, item, author=session.author)
        where = f", which was at {commit[:12]}." if commit else "."
        session.say([line("Deleted tag ", Span(item, "name"), where)])


@verb(tag_command, prints_json=False)
def tag_protect(session: CommandSession, name: str) -> None:
    """Protect the tag NAME, so that it can't be deleted or renamed."""
    kept = protect_tag(session.repository, name, True, author=session.author)
    session.say(_tag_protected_text(kept))


@verb(tag_command, prints_json=False)
def tag_unprotect(session: CommandSession, name: str) -> None:
    """Let the tag NAME be deleted and renamed again."""
    freed = protect_tag(session.repository, name, False, author=session.author)
    session.say(_tag_protected_text(freed))


def _tags_text(tags: Sequence[TagSummary], now: datetime) -> Iterator[Block]:
    """Yield a list of tags; `!` marks a protected one."""
    if not tags:
        yield line("There are no tags.")
        return
    yield Grid(
        heads=("", "TAG", "COMMIT", "AGE", "WHAT"),
        rows=tuple(
            (
                Span("!" if tag.is_protected else ""),
                Span(tag.name, "name"),
                short(tag.commit),
                Span(age(tag.tagged_at, now), "faint"),
                Span(tag.note or tag.summary),
            )
            for tag in tags
        ),
        whole=frozenset({"TAG", "COMMIT"}),
        first=("", "TAG", "COMMIT"),
    )


def _tag_protected_text(tag: TagSummary) -> Iterator[Block]:
    """Yield the line that says whether a tag can be deleted now."""
    can = "can't" if tag.is_protected else "can"
    end = "." if tag.is_protected else " again."
    yield line("The tag ", Span(tag.name, "name"), f" {can} be deleted or renamed{end}")


@verbs()
def snapshot_command() -> None:
    """List, create and delete named snapshots of tables.

    Each names a version of one table and keeps it until it is deleted. Without a command: list
    them.
    """


@verb(snapshot_command)
def snapshot_list(session: CommandSession, relation: str | None = None) -> None:
    """List named snapshots, or only those of the table RELATION."""
    found = list_snapshots(session.repository, relation)
    session.show(found, _snapshots_text(found, session.now))


@verb(snapshot_command)
def snapshot_create(
    session: CommandSession, relation: str, name: str, at: str | None = None, *, note: Note = ""
) -> None:
    """Name the version of the table RELATION that the revision AT shows.

    AT defaults to the branch in the dbt profile, else the default branch.
    """
    made = create_snapshot(
        session.repository, relation, name, at or session.branch, author=session.author, note=note
    )
    session.show(made, [_snapshot_line("Created", made, " at version ")])


@verb(snapshot_command, prints_json=False)
def snapshot_delete(
    session: CommandSession,
    relation: str,
    name: Annotated[tuple[str, ...], Option(metavar="NAME...")],
) -> None:
    """Delete named snapshots of the table RELATION."""
    for item in name:
        gone = delete_snapshot(session.repository, relation, item, author=session.author)
        session.say([_snapshot_line("Deleted", gone, ", which was version ")])


@verb(snapshot_command, prints_json=False)
def snapshot_protect(session: CommandSession, relation: str, name: str) -> None:
    """Protect the snapshot NAME of the table RELATION, so that it can't be deleted."""
    kept = protect_snapshot(session.repository, relation, name, True, author=session.author)
    session.say(_snapshot_protected_text(kept))


@verb(snapshot_command, prints_json=False)
def snapshot_unprotect(session: CommandSession, relation: str, name: str) -> None:
    """Let the snapshot NAME of the table RELATION be deleted again."""
    freed = protect_snapshot(session.repository, relation, name, False, author=session.author)
    session.say(_snapshot_protected_text(freed))


def _snapshots_text(found: Sequence[SnapshotSummary], now: datetime) -> Iterator[Block]:
    """Yield a list of named snapshots; `!` marks a protected one."""
    if not found:
        yield line("There are no named snapshots.")
        return
    yield Grid(
        heads=("", "TABLE", "SNAPSHOT", "VERSION", "ROWS", "AGE", "WHAT"),
        rows=tuple(
            (
                Span("!" if item.is_protected else ""),
                Span(item.relation),
                Span(item.name, "name"),
                Span(item.snapshot[:12], "commit"),
                Span(f"{item.rows:,}"),
                Span(age(item.made_at, now), "faint"),
                Span(item.note),
            )
            for item in found
        ),
        right=frozenset({"ROWS"}),
        whole=frozenset({"TABLE", "SNAPSHOT", "VERSION"}),
        first=("", "TABLE", "SNAPSHOT"),
    )


def _snapshot_protected_text(item: SnapshotSummary) -> Iterator[Block]:
    """Yield the line that says whether a snapshot can be deleted now."""
    can = "can't be deleted." if item.is_protected else "can be deleted again."
    yield line("The snapshot ", Span(item.name, "name"), f" of {item.relation} {can}")


def _rename_line(word: str, old: str, new: str, head: CommitId) -> Block:
    names = Span(old, "name"), " to ", Span(new, "name")
    return line(f"Renamed {word} ", *names, ", at ", short(head), ".")


def _snapshot_line(done: str, item: SnapshotSummary, at: str) -> Block:
    version = Span(item.snapshot[:12], "commit")
    return line(
        f"{done} snapshot ", Span(item.name, "name"), f" of {item.relation}{at}", version, "."
    )
