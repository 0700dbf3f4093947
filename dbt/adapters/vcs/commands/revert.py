"""`dbt-vcs revert`: undo the changes of a commit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Annotated

import click

from dbt.adapters.vcs.changes.diffs.summaries import ChangeSummary, list_changes
from dbt.adapters.vcs.changes.merges.branch_landing import land_plan
from dbt.adapters.vcs.changes.merges.conflicts.open_merges import Clash, Terms
from dbt.adapters.vcs.changes.merges.conflicts.policy import Mode
from dbt.adapters.vcs.changes.merges.merge_plan import MergePlan, Work, whole_side
from dbt.adapters.vcs.changes.merges.table_merge import TableMerge, merge_tables
from dbt.adapters.vcs.changes.writes.versions import version_again
from dbt.adapters.vcs.commands.layout import Block, Span, line, short
from dbt.adapters.vcs.commands.output import changes_text
from dbt.adapters.vcs.commands.restore import entries_again, head_of
from dbt.adapters.vcs.commands.session import CommandSession, sessions_of
from dbt.adapters.vcs.commands.verb import Message, Option, ToChange, verb
from dbt.adapters.vcs.core.branches import Branch
from dbt.adapters.vcs.core.codec import is_same_table
from dbt.adapters.vcs.core.errors import ConflictError, InputError
from dbt.adapters.vcs.core.ids import CommitId
from dbt.adapters.vcs.core.model import Absent, Entry, RelationName, TableEntry
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.retention import hold
from dbt.adapters.vcs.core.tree_changes import Change, Sides, TreeChanges, merge_trees
from dbt.adapters.vcs.engines.port import Engine, Rewriters


@dataclass(frozen=True, slots=True, kw_only=True)
class RevertReport:
    """What a revert did.

    Attributes:
        branch: The branch.
        revision: The requested revision.
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
        TooLargeError: Too many of its rows changed again to check them one by one.
    """
    head = head_of(repository, branch)
    commit = repository.resolve(revision)
    parents = repository.objects.commit(commit).parents
    if not 1 <= mainline <= len(parents):
        raise InputError(
            f"The commit {commit[:12]} has {len(parents) or 'no'} parents; parent {mainline} was "
            "asked for. The first commit of a repository can't be reverted."
        )
    parent = parents[mainline - 1]
    versions = [
        entry.snapshot
        for change in repository.diff(commit, parent).relations
        for entry in (change.old, change.new)
        if isinstance(entry, TableEntry)
    ]
    # Before a plan reads them: a collection that is under way spares what is held.
    hold(repository, parent, versions, author=author, known=head)
    terms = Terms(message=message or _message(repository, commit), metadata={"reverts": commit})
    with sessions_of(engine, repository.blobs, "revert") as sessions:

        def plan(branch: Branch) -> MergePlan:
            return _plan(repository, branch, commit, parent, sessions)

        what = f"revert {commit[:12]} on {branch!r}"
        landed = land_plan(repository, branch, plan, terms, author=author, what=what)
    return RevertReport(
        branch=branch,
        revision=revision,
        commit=commit,
        parent=parent,
        before=landed.before,
        after=landed.after,
        changes=list_changes(repository, landed.before, landed.after),
    )


def _plan(
    repository: Repository, branch: Branch, commit: CommitId, parent: CommitId, sessions: Rewriters
) -> MergePlan:
    """Return the change that undoes a commit on the branch as it is now."""
    read = repository.objects
    # A merge with the commit as base and its parent as theirs: what the commit changed goes back,
    # and what came later stays.
    base, ours, theirs = (read.tree(read.commit(id).tree) for id in (commit, branch.head, parent))
    merged = merge_trees(base, ours, theirs, read.schema_tree)
    shown = repository.tree(branch.head)
    relations = entries_again(
        repository,
        [
            Change(name, shown.entry(name) or Absent, entry)
            for name, entry in merged.relations.items()
        ],
    )
    clashes = [f"{name} (its comment or properties)" for name in merged.schema_conflicts]
    for name, triple in merged.conflicts.items():
        found = _rows_undone(repository, name, triple, sessions)
        if isinstance(found, TableEntry):
            relations[name] = found
        else:
            clashes.append(found)
    if clashes:
        raise ConflictError(
            f"The commit {commit[:12]} can't be reverted on {branch.name!r}: what it changed has "
            f"changed again since in {'; '.join(clashes[:20])}. Nothing was changed. Revert the "
            "later commits first, or restore single relations: "
            f"dbt-vcs restore RELATION --to {commit[:12]}^"
        )
    changes = TreeChanges(relations=relations, schemas=merged.schemas)
    return MergePlan(
        work=Work(source=commit, commit=parent, run=None, undoes=True),
        target=branch,
        how="merge",
        base=commit,
        changes=changes,
    )


def _rows_undone(
    repository: Repository, name: RelationName, triple: Sides[Entry], sessions: Rewriters
) -> TableEntry | str:
    """Return the table without the commit's row changes, or the reason why that is impossible."""
    base, ours, theirs = triple.base, triple.ours, triple.theirs
    if not (
        isinstance(base, TableEntry)
        and isinstance(ours, TableEntry)
        and isinstance(theirs, TableEntry)
    ):
        return f"{name} (created, dropped, or not a table)"
    if whole_side(repository.objects, [base.snapshot], ours.snapshot, theirs.snapshot):
        # Decision 32: what a table that is built from changes accounts for is what its rows say,
        # and the next build reads what the revert changes in its inputs.
        return ours
    found = merge_tables(
        repository,
        TableMerge(
            name=name,
            ours=ours.snapshot,
            theirs=theirs.snapshot,
            # Ignores the table's conflict mode: a revert must not lose later changes silently.
            mode=Mode.FAIL,
            based_on=base.snapshot,
            joins=False,
            operation="revert",
        ),
        sessions,
    )
    if isinstance(found, Clash):
        return str(found)
    (version, merged), read = found, repository.objects.snapshot
    # Nothing of the commit is left in the table, so it gets no new version.
    if is_same_table(read(version), read(ours.snapshot)):
        return ours
    # Decision 38: a version made from ours. The old one would hide from merges that there was
    # another in between.
    if merged.how == "fast_forward":
        version = version_again(repository, name, ours.snapshot, theirs.snapshot)
    return TableEntry(snapshot=version)


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


@verb()
def revert_command(
    session: CommandSession,
    revision: str,
    *,
    branch: ToChange = None,
    message: Message = None,
    mainline: Annotated[
        int,
        Option(
            "For a merge commit: the number of the parent to keep.",
            type=click.IntRange(min=1),
            metavar="N",
        ),
    ] = 1,
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
