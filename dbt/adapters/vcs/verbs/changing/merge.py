"""Merge: one branch's changes put on another branch, all relations or none."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

from dbt.adapters.vcs.core.errors import ConflictError, InputError
from dbt.adapters.vcs.core.ids import CommitId
from dbt.adapters.vcs.core.landing import TreeConflictError
from dbt.adapters.vcs.core.model import Run
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.retry import attempts
from dbt.adapters.vcs.diffs.summaries import ChangeSummary, list_changes
from dbt.adapters.vcs.engines.port import Engine
from dbt.adapters.vcs.merges.conflicts.open_merges import OpenMerge, open_merge_of
from dbt.adapters.vcs.merges.conflicts.policy import Policy
from dbt.adapters.vcs.merges.conflicts.stored_conflicts import keep
from dbt.adapters.vcs.merges.merge_plan import How, MergePlan, Work, plan_merge, planned_changes
from dbt.adapters.vcs.merges.trees import Merged
from dbt.adapters.vcs.runs.run_branch import RunBranch, Status, run_of, steps_of
from dbt.adapters.vcs.verbs.revision_names import named_branch
from dbt.adapters.vcs.verbs.sessions import sessions_of
from dbt.adapters.vcs.verbs.sources import resolve_source


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
        relations: How each relation was merged, if `how` is `merge`.
        conflicts: What could not be decided, a line each.
    """

    source: str
    target: str
    how: How
    dry_run: bool
    before: CommitId
    after: CommitId | None
    changes: tuple[ChangeSummary, ...]
    relations: tuple[Merged, ...] = ()
    conflicts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Manner:
    """How a merge is to be recorded.

    Attributes:
        author: Whom it is recorded for.
        message: Message of its commit; None for one that says what was merged.
        metadata: Further facts for the commit.
        promotes: True if a protected branch may take it.
    """

    author: str
    message: str | None = None
    metadata: Mapping[str, str] = field(default_factory=dict)
    promotes: bool = False


def merge(
    repository: Repository,
    source: str,
    target: str,
    *,
    author: str,
    message: str | None = None,
    policy: Policy | None = None,
    ff_only: bool = False,
    force: bool = False,
    dry_run: bool = False,
    engine: Callable[[], Engine] | None = None,
) -> MergeReport:
    """Merge a revision into a branch.

    As git does: nothing if the target has it all, a move of the target if the source goes on
    from its head, else a commit with both as parents. Tables that both sides changed are merged
    row by row. The branch of a dbt run is published instead: its steps become one commit, and
    once that is on the target that it was meant for, the run counts as published.

    Args:
        repository: The repository.
        source: A revision.
        target: A branch.
        author: Whom the merge is recorded for.
        message: Of its commit; None for one that says what was merged.
        policy: What to do about conflicts.
        ff_only: True to refuse if the target has commits that the source lacks.
        force: True to take a run that did not succeed, too.
        dry_run: True to change nothing.
        engine: Makes the engine, for tables of which both changed more rows than fit this
            process; Spark here if None.

    Raises:
        NotFoundError: The source means no commit, or there is no target.
        InputError: The target is the branch of a run or of a merge, or both have no common
            history.
        ProtectedError: The target takes promotions alone.
        ConflictError: Both sides changed one row in different ways, and the policy decides
            nothing: the conflicts are kept to be resolved; or `ff_only` is set and the target
            moved; or the source is of a run that did not succeed, and `force` is not set. The
            target was not changed.
        RetryError: Others moved the target every time; nothing was changed.
    """
    work = work_of(repository, source, policy or Policy(), force=force)
    check_target(repository, target)
    if dry_run:
        return foretold(repository, work, target, engine=engine)
    check = MergePlan.check_fast_forward if ff_only else _unchecked
    manner = Manner(author=author, message=message)
    return carry_out(repository, work, target, manner, check, engine=engine)


def work_of(repository: Repository, source: str, policy: Policy, *, force: bool) -> Work:
    """Return what a revision means as something to be merged.

    Raises:
        NotFoundError: The source means no commit.
        ConflictError: It is of a run that did not succeed, and `force` is not set.
    """
    commit = resolve_source(repository, source, force=force)
    branch = named_branch(repository, source)
    run = run_of(branch) if branch else None
    return Work(source=source, commit=commit, run=run, policy=policy)


def check_target(repository: Repository, target: str) -> None:
    """Raise unless a branch can be merged into.

    Raises:
        NotFoundError: It is not there.
        InputError: It is a tag, or the branch of a run or of a merge.
    """
    if repository.find_branch(target) is None and repository.find_tag(target) is not None:
        raise InputError(
            f"{target!r} is a tag, which stays where it is. Give a branch to merge into; make one "
            f"there first if that is meant: dbt-vcs branch create <name> {target}"
        )
    branch = repository.branch(target)
    what = "dbt run" if run_of(branch) else "merge" if open_merge_of(branch) else None
    if what is not None:
        raise InputError(
            f"{target!r} is the branch of a {what}, which nothing is merged into. "
            "Give another target."
        )


def _unchecked(plan: MergePlan) -> None:
    """Take any plan."""


def carry_out(
    repository: Repository,
    work: Work,
    target: str,
    manner: Manner,
    check: Callable[[MergePlan], None] = _unchecked,
    *,
    engine: Callable[[], Engine] | None = None,
) -> MergeReport:
    """Merge, planning again after every lost race; `check` may refuse a plan.

    `merge` has the contract.
    """
    with sessions_of(engine, repository.blobs, "merge") as sessions:
        for _ in attempts(f"merge {work.source!r} into {target!r}"):
            branch = repository.branch(target)
            branch.check_open(promotes=manner.promotes)
            plan = plan_merge(repository, work, branch, sessions)
            check(plan)
            if plan.how == "conflict":
                raise _kept(repository, plan, manner)
            moved = _carry_out(repository, plan, manner)
            if moved is not None:
                _close(repository, work, target, manner.author)
                return _told(repository, plan, *moved)
    raise AssertionError("attempts raises when it ends")


def _kept(repository: Repository, plan: MergePlan, manner: Manner) -> ConflictError:
    """Keep the conflicts of a plan, and return the error that says so."""
    assert plan.combination is not None
    source, target = plan.work.source, plan.target.name
    keep(
        repository,
        OpenMerge(
            source=source,
            theirs=plan.work.commit,
            target=target,
            mode=plan.work.policy.override,
            promotes=manner.promotes,
            message=manner.message,
            head=plan.target.head,
        ),
        plan.combination.clashes,
        author=manner.author,
        decided=bool(plan.work.decisions),
    )
    return ConflictError(
        f"{source!r} and {target!r} changed the same in different ways since {plan.base[:12]}: "
        f"{plan.combination.told()}. Nothing was changed on {target!r}; the conflicts are kept. "
        f"Look at them: dbt-vcs conflicts {target}. Choose: dbt-vcs resolve <relation> --with "
        f"ours|theirs|base|delete. Then: dbt-vcs merge --continue {target}, or --abort {target}"
    )


def _carry_out(
    repository: Repository, plan: MergePlan, manner: Manner
) -> tuple[CommitId, CommitId] | None:
    """Return the target's head before and after; None if the plan has to be made again."""
    work, target = plan.work, plan.target
    if plan.how == "up_to_date":
        return target.head, target.head
    if plan.how == "fast_forward" and work.run is None and not manner.metadata:
        note = manner.message or f"{work.source}: fast-forward"
        moved = repository.move_branch(
            target,
            work.commit,
            author=manner.author,
            action="merge",
            note=note,
            promotes=manner.promotes,
        )
        return None if moved is None else (target.head, moved.head)
    tree = repository.objects.commit(work.commit).tree
    if plan.combination is not None:
        tree = repository.edit(repository.tree(target.head).id, plan.combination.changes)
    try:
        landed = repository.land(
            target.name,
            base=target.head,
            tree=tree,
            author=manner.author,
            message=manner.message or _message(work, target.name),
            run=_record(repository, work.run) if work.run else None,
            metadata=manner.metadata,
            parents=() if work.run else (work.commit,),
            action="publish" if work.run else "merge",
            promotes=manner.promotes,
        )
    except TreeConflictError:
        # The target moved after the plan was made: the next plan merges again.
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
    """Let a run that waited to be published count as published, now that it is.

    So does one whose conflicts were resolved by hand.
    """
    run = work.run
    waits = (Status.PASSED, Status.FAILED) if work.decisions else (Status.PASSED,)
    if run is not None and run.target == target and run.status in waits:
        published = replace(run, status=Status.PUBLISHED, note="")
        repository.set_state(run.name, published.state, author=author)


def foretold(
    repository: Repository,
    work: Work,
    target: str,
    check: Callable[[MergePlan], None] = _unchecked,
    *,
    engine: Callable[[], Engine] | None = None,
) -> MergeReport:
    """Return what `carry_out` would do."""
    with sessions_of(engine, repository.blobs, "merge") as sessions:
        plan = plan_merge(repository, work, repository.branch(target), sessions)
    check(plan)
    changes = planned_changes(repository, plan)
    after = {"up_to_date": plan.target.head, "fast_forward": plan.work.commit}.get(plan.how)
    return MergeReport(
        source=plan.work.source,
        target=plan.target.name,
        how=plan.how,
        dry_run=True,
        before=plan.target.head,
        after=None if plan.work.run and plan.how == "fast_forward" else after,
        changes=changes,
        relations=_relations(plan, changes),
        conflicts=plan.conflicts,
    )


def _relations(plan: MergePlan, changes: Iterable[ChangeSummary]) -> tuple[Merged, ...]:
    """Return how each relation was merged, with the rows of those that were taken as they are."""
    if plan.combination is None:
        return ()
    told = {change.name: change for change in changes}

    def completed(item: Merged) -> Merged:
        change = told.get(str(item.name))
        if item.how != "fast_forward" or change is None:
            return item
        return replace(
            item,
            added=change.rows_added,
            removed=change.rows_removed,
            modified=change.rows_modified,
            is_exact=change.is_exact,
        )

    return tuple(map(completed, plan.combination.merged))


def _told(
    repository: Repository, plan: MergePlan, before: CommitId, after: CommitId
) -> MergeReport:
    how: How = plan.how if before == plan.target.head else "merge"
    changes = list_changes(repository, before, after)
    return MergeReport(
        source=plan.work.source,
        target=plan.target.name,
        how="up_to_date" if before == after else how,
        dry_run=False,
        before=before,
        after=after,
        changes=changes,
        relations=_relations(plan, changes),
    )
