"""Merge: one branch's changes put on another branch, all relations or none."""

from __future__ import annotations

from dataclasses import dataclass, replace

from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.core.ids import CommitId
from dbt.adapters.vcs.core.landing import TreeConflictError
from dbt.adapters.vcs.core.model import Run
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.retry import attempts
from dbt.adapters.vcs.verbs.changes import ChangeSummary, list_changes
from dbt.adapters.vcs.verbs.mergeplan import How, MergePlan, Work, plan_merge, planned_changes
from dbt.adapters.vcs.verbs.names import named_branch
from dbt.adapters.vcs.verbs.sources import resolve_source
from dbt.adapters.vcs.workspace.runs import RunBranch, Status, run_of, steps_of


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeReport:
    """What a merge did, or would do.

    Attributes:
        source: The revision that was merged.
        target: The branch that it was merged into.
        how: `up_to_date`; `fast_forward`: the target had nothing that the source lacks; `merge`:
            it had, in other relations; `conflict`: in the same ones (only in a dry run).
        dry_run: True if nothing was changed.
        before: The target's head before.
        after: The target's head now; in a dry run None if a commit would be made for it.
        changes: How the target changes.
        conflicts: Relations, and schemas' comments or properties, that both sides changed.
    """

    source: str
    target: str
    how: How
    dry_run: bool
    before: CommitId
    after: CommitId | None
    changes: tuple[ChangeSummary, ...]
    conflicts: tuple[str, ...] = ()


def merge(
    repository: Repository,
    source: str,
    target: str,
    *,
    author: str,
    message: str | None = None,
    ff_only: bool = False,
    force: bool = False,
    dry_run: bool = False,
) -> MergeReport:
    """Merge a revision into a branch.

    As git does: nothing if the target has it all, a move of the target if the source goes on
    from its head, else a commit with both as parents. The branch of a dbt run is published
    instead: its steps become one commit, and once that is on the target that it was meant for,
    the run counts as published.

    Raises:
        NotFoundError: The source means no commit, or there is no target.
        InputError: The target is the branch of a run, or both have no common history.
        ConflictError: Both sides changed one relation; or `ff_only` is set and the target moved;
            or the source is of a run that did not succeed, and `force` is not set. Nothing was
            changed.
        RetryError: Others moved the target every time; nothing was changed.
    """
    if run_of(repository.branch(target)) is not None:
        raise InputError(
            f"{target!r} is the branch of a dbt run, which nothing is merged into. "
            "Give another target."
        )
    commit = resolve_source(repository, source, force=force)
    branch = named_branch(repository, source)
    work = Work(source=source, commit=commit, run=run_of(branch) if branch else None)
    if dry_run:
        return _foretold(repository, plan_merge(repository, work, repository.branch(target)))
    for _ in attempts(f"merge {source!r} into {target!r}"):
        plan = plan_merge(repository, work, repository.branch(target))
        plan.check(ff_only=ff_only)
        moved = _carry_out(repository, plan, author, message)
        if moved is not None:
            _close(repository, work, target, author)
            return _told(repository, plan, *moved)
    raise AssertionError("attempts raises when it ends")


def _carry_out(
    repository: Repository, plan: MergePlan, author: str, message: str | None
) -> tuple[CommitId, CommitId] | None:
    """Return the target's head before and after; None if the plan has to be made again."""
    work, target = plan.work, plan.target
    if plan.how == "up_to_date":
        return target.head, target.head
    if plan.how == "fast_forward" and work.run is None:
        note = message or f"{work.source}: fast-forward"
        moved = repository.move_branch(
            target, work.commit, author=author, action="merge", note=note
        )
        return None if moved is None else (target.head, moved.head)
    try:
        landed = repository.land(
            target.name,
            base=plan.base,
            tree=repository.objects.commit(work.commit).tree,
            author=author,
            message=message or _message(work, target.name),
            run=_record(repository, work.run) if work.run else None,
            parents=() if work.run else (work.commit,),
            action="publish" if work.run else "merge",
        )
    except TreeConflictError:
        # The target moved after the plan was made: the next plan names the conflict.
        return None
    return landed.before, landed.commit


def _message(work: Work, target: str) -> str:
    if work.run is not None:
        return f"dbt {work.run.command}, published from {work.run.name}"
    return f"Merge {work.source} into {target}"


def _record(repository: Repository, run: RunBranch) -> Run:
    nodes = {node.id: node for node in steps_of(repository, run)}
    return Run(
        nodes=tuple(nodes[id] for id in sorted(nodes)),
        invocation=run.invocation,
        command=run.command,
        started_at=run.started_at,
        head=run.head,
    )


def _close(repository: Repository, work: Work, target: str, author: str) -> None:
    """Let a run that waited to be published count as published, now that it is."""
    run = work.run
    if run is not None and run.target == target and run.status is Status.PASSED:
        published = replace(run, status=Status.PUBLISHED, note="")
        repository.set_state(run.name, published.state, author=author)


def _foretold(repository: Repository, plan: MergePlan) -> MergeReport:
    after = {"up_to_date": plan.target.head, "fast_forward": plan.work.commit}.get(plan.how)
    return MergeReport(
        source=plan.work.source,
        target=plan.target.name,
        how=plan.how,
        dry_run=True,
        before=plan.target.head,
        after=None if plan.work.run and plan.how == "fast_forward" else after,
        changes=planned_changes(repository, plan),
        conflicts=plan.conflicts,
    )


def _told(
    repository: Repository, plan: MergePlan, before: CommitId, after: CommitId
) -> MergeReport:
    how: How = plan.how if before == plan.target.head else "merge"
    return MergeReport(
        source=plan.work.source,
        target=plan.target.name,
        how="up_to_date" if before == after else how,
        dry_run=False,
        before=before,
        after=after,
        changes=list_changes(repository, before, after),
    )
