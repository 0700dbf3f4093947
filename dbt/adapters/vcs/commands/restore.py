"""`dbt-vcs restore`: restore a relation, or a whole branch, to an earlier state."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from shlex import quote
from typing import Annotated

import click

from dbt.adapters.vcs.changes.diffs.summaries import ChangeSummary, changes_to
from dbt.adapters.vcs.changes.writes.past_versions import Split, last_of, past_of, put_back, splits
from dbt.adapters.vcs.changes.writes.versions import entries_again
from dbt.adapters.vcs.commands.layout import Block, Span, line, short
from dbt.adapters.vcs.commands.output import changes_text
from dbt.adapters.vcs.commands.revisions import parse_relation
from dbt.adapters.vcs.commands.session import CommandSession
from dbt.adapters.vcs.commands.verb import DryRun, Message, Option, ToChange, verb
from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.core.ids import CommitId
from dbt.adapters.vcs.core.model import TableEntry
from dbt.adapters.vcs.core.repository import Proposal, Repository
from dbt.adapters.vcs.core.retention import hold
from dbt.adapters.vcs.core.tree_changes import TreeChanges
from dbt.adapters.vcs.workspace.overlay import Overlay
from dbt.adapters.vcs.workspace.run_branch import run_of


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreReport:
    """What a restore did, or would do.

    Attributes:
        relation: What was restored; None for the whole branch.
        revision: The restored state; None for the last one before a drop.
        dry_run: True if nothing was changed.
        before: The branch's head before.
        after: Its head now; the same if there was nothing to do.
        changes: How the branch changed, or would change.
        apart: Commits that it undid only in part, newest first.
    """

    branch: str
    relation: str | None
    revision: str | None
    dry_run: bool
    before: CommitId
    after: CommitId
    changes: tuple[ChangeSummary, ...]
    apart: tuple[Split, ...] = ()


def restore_relation(
    repository: Repository,
    relation: str,
    to: str | None = None,
    *,
    branch: str,
    author: str,
    message: str | None = None,
    dry_run: bool = False,
) -> RestoreReport:
    """Restore a table or view to a revision, or to its last version before it was dropped.

    A table's named snapshots are also revisions of it. No data is copied.

    Raises:
        NotFoundError: There was no such relation, or its rows have been garbage-collected.
        InputError: The branch is that of a run; or no revision is given and the relation exists.
        ConflictError: Others changed the relation in the meantime.
    """
    name = parse_relation(relation)
    head = head_of(repository, branch)
    # Without a revision only what was dropped has a state that is meant.
    past = last_of(repository, head, name, branch) if to is None else past_of(repository, name, to)
    overlay = Overlay(repository=repository, base=head, tree=repository.tree(head))
    put_back(overlay, name, past, author=author, dry_run=dry_run)
    # A commit of several tables is undone in part: what belongs together may no longer fit.
    apart = () if overlay.is_empty else splits(repository, head, name, past)
    tree = repository.edit(overlay.tree.id, overlay.changes)
    said = message or f"Restore {name} to {to or (past.commit or '')[:12]}"
    proposal = Proposal(
        branch=branch, base=head, tree=tree, author=author, message=said, action="restore"
    )
    report = _landed(repository, proposal, to, dry_run=dry_run)
    return replace(report, relation=str(name), apart=apart)


def restore_branch(
    repository: Repository,
    to: str,
    *,
    branch: str,
    author: str,
    message: str | None = None,
    dry_run: bool = False,
) -> RestoreReport:
    """Restore a whole branch to a revision; this adds a commit and keeps the history.

    Raises:
        NotFoundError: There is no such revision, or its rows have been garbage-collected.
        InputError: The branch is that of a run.
        ConflictError: Others changed the branch in the meantime.
    """
    head = head_of(repository, branch)
    commit = repository.resolve(to)
    changes = repository.diff(head, commit).relations
    versions = [change.new.snapshot for change in changes if isinstance(change.new, TableEntry)]
    # Before the commit names them: a collection that is under way spares what is held.
    hold(repository, commit, versions, author=author, known=head, dry_run=dry_run)
    # From the revision's tree, so that schemas and all that is equal are taken as they are.
    tree = repository.edit(
        repository.tree(commit).id, TreeChanges(relations=entries_again(repository, changes))
    )
    said = message or f"Restore all to {to}"
    proposal = Proposal(
        branch=branch, base=head, tree=tree, author=author, message=said, action="restore"
    )
    return _landed(repository, proposal, to, dry_run=dry_run)


def head_of(repository: Repository, branch: str) -> CommitId:
    """Return the head of a branch to be changed by hand.

    Raises:
        NotFoundError: It does not exist.
        InputError: It is the branch of a run.
        ProtectedError: It accepts only promotions.
    """
    found = repository.branch(branch)
    if run_of(found) is not None:
        raise InputError(
            f"{branch!r} is the branch of a dbt run and can't be changed. Give another branch."
        )
    found.check_open(promotes=False)
    return found.head


def _landed(
    repository: Repository, proposal: Proposal, to: str | None, *, dry_run: bool
) -> RestoreReport:
    head = proposal.base
    return RestoreReport(
        branch=proposal.branch,
        relation=None,
        revision=to,
        dry_run=dry_run,
        before=head,
        after=head if dry_run else repository.land(proposal).commit,
        changes=changes_to(repository, head, proposal.tree),
    )


def _restore_text(report: RestoreReport) -> Iterator[Block]:
    what = Span(report.relation or "all", "name")
    where = Span(report.branch, "name")
    to = (
        f" to {report.revision}"
        if report.revision
        else " to its last version before it was dropped"
    )
    if not report.changes:
        yield line(
            "Nothing to restore: ", what, " on ", where, f" is the same as at {report.revision}."
        )
        return
    verb = "Would restore " if report.dry_run else "Restored "
    moved = () if report.dry_run else (": ", short(report.before), " -> ", short(report.after))
    yield line(verb, what, " on ", where, f"{to}", *moved)
    yield from changes_text(report.changes)
    for apart in report.apart:
        yield line(
            Span("Warning: ", "warn"),
            short(apart.commit),
            f" ({apart.summary}) changed {report.relation} together with "
            f"{', '.join(apart.others)}, which were not restored.",
        )
    if report.apart and report.revision:
        yield line(
            f"To restore all of them: dbt-vcs restore --all --to {quote(report.revision)} "
            f"--branch {quote(report.branch)}"
        )


def _check_restore(*, relation: str | None, all: bool, to: str | None, **_: object) -> None:
    if all == (relation is not None):
        raise click.UsageError("Give either a relation, as schema.table, or --all.")
    if all and to is None:
        raise click.UsageError("--all needs the revision to restore: --all --to <revision>.")


@verb(check=_check_restore)
def restore_command(
    session: CommandSession,
    relation: str | None = None,
    *,
    all: Annotated[bool, Option("Restore the whole branch.", "-a")] = False,
    to: Annotated[
        str | None,
        Option(
            "The state to restore; also a named snapshot.",
            *("--to", "--at", "--source", "-s"),
            metavar="REVISION",
        ),
    ] = None,
    branch: ToChange = None,
    message: Message = None,
    dry_run: DryRun = False,
) -> None:
    """Restore a relation or a branch to an earlier state.

    RELATION is a table or view. The restored state is a new commit. Without --to, a dropped
    relation is restored to its last version. The branch defaults to the one in the dbt profile,
    else the default branch.
    """
    where = session.bound(branch or session.branch, dry_run=dry_run)
    who = session.author
    if relation is not None:
        report = restore_relation(
            session.repository,
            relation,
            to,
            branch=where,
            author=who,
            message=message,
            dry_run=dry_run,
        )
    else:
        assert to is not None
        report = restore_branch(
            session.repository, to, branch=where, author=who, message=message, dry_run=dry_run
        )
    if not dry_run and report.before != report.after:
        # The head that it followed, in case that others were faster.
        before, *_ = session.repository.objects.commit(report.after).parents
        source = report.revision or report.relation or ""
        session.note_landed(where, before, report.after, source=source, action="restore")
    session.show(report, _restore_text(report))
