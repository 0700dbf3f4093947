"""Merge: apply one branch's changes to another branch, for all relations or none."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.core.ids import CommitId
from dbt.adapters.vcs.core.origins.staleness import entries_of
from dbt.adapters.vcs.core.repository import Protection, Repository
from dbt.adapters.vcs.diffs.change_summary import ChangeSummary, differing
from dbt.adapters.vcs.diffs.summaries import list_changes
from dbt.adapters.vcs.engines.port import Engine, Rewriters
from dbt.adapters.vcs.merges.branch_landing import Arrival, check_terms, land_work
from dbt.adapters.vcs.merges.conflicts.open_merges import open_merge_of
from dbt.adapters.vcs.merges.conflicts.policy import OnStale, Policy
from dbt.adapters.vcs.merges.conflicts.terms import Terms
from dbt.adapters.vcs.merges.merge_plan import How, MergePlan, Work, plan_merge, planned_changes
from dbt.adapters.vcs.merges.protection import protect_first
from dbt.adapters.vcs.merges.read_set_check import Judge, ReadSetCheck
from dbt.adapters.vcs.merges.stale_by_merge import (
    NewlyStale,
    changed_by_target,
    newly_stale,
    stale_after,
)
from dbt.adapters.vcs.merges.table_merges import TableMerges
from dbt.adapters.vcs.merges.trees import Merged
from dbt.adapters.vcs.runs.run_branch import run_of
from dbt.adapters.vcs.verbs.revision_names import named_branch
from dbt.adapters.vcs.verbs.sessions import sessions_of
from dbt.adapters.vcs.verbs.sources import resolve_source


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeRequest:
    """How to merge.

    Attributes:
        terms: The conditions for landing, and how it is recorded; `promotes` makes the merge a
            promotion.
        policy: What to do about conflicts.
        force: True to also merge a run that did not succeed.
        dry_run: True to change nothing.
        protection: The requirements of the target in the project's rules, stored on it first; a
            dry run is only held to them. None for no rule.
        on_stale: What becomes of a run whose target moved away from what it read. `heal` refuses
            what `fail` does, since only the run itself can compute its tables again.
    """

    terms: Terms = field(default_factory=Terms)
    policy: Policy = field(default_factory=Policy)
    force: bool = False
    dry_run: bool = False
    protection: Protection | None = None
    on_stale: OnStale = OnStale.HEAL

    def check_of(self, repository: Repository, work: Work) -> ReadSetCheck | None:
        """Return what judges the plans of a merge; None if it brings no run."""
        if work.run is None:
            return None
        return ReadSetCheck(repository, OnStale.WARN if self.force else self.on_stale)


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeReport:
    """What a merge did, or would do.

    Attributes:
        source: The revision that was merged.
        target: The branch that it was merged into.
        how: `up_to_date`; `fast_forward`: the target had no changes of its own; `merge`: it had
            some; `conflict`: some of these conflict (only in a dry run).
        dry_run: True if nothing was changed.
        before: The target's head before.
        after: The target's head now; None in a dry run that would create a commit.
        changes: How the target changes.
        relations: How each relation was merged, if `how` is `merge`.
        conflicts: The conflicts, one line each.
        stale: Tables, `schema.identifier`, that become stale on the target, each after those that
            it was made from.
        stale_unknown: How many tables this is not known of: unchanged ones, where there are too
            many to look at, and those that can't be read.
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
    stale: tuple[str, ...] = ()
    stale_unknown: int = 0


def merge(
    repository: Repository,
    source: str,
    target: str,
    request: MergeRequest | None = None,
    *,
    author: str,
    engine: Callable[[], Engine] | None = None,
) -> MergeReport:
    """Merge a revision into a branch.

    This works as in git: nothing happens if the target already contains the source, the target is
    fast-forwarded if it has no commits of its own, and otherwise there is a commit with both as
    parents. Tables that both sides changed are merged row by row. The branch of a dbt run is
    published instead: its steps become one commit, and once that is on the run's target branch,
    the run counts as published.

    Args:
        repository: The repository.
        source: A revision.
        target: A branch.
        request: How to merge; None for the defaults.
        author: The author of the merge.
        engine: Creates the engine, for tables with more rows changed on both sides than fit into
            this process; a local Spark if None.

    Raises:
        NotFoundError: The source or the target does not exist.
        InputError: The target is the branch of a run or of a merge, or the two have no common
            history; or a promotion is asked to take a run that did not succeed.
        ProtectedError: The target accepts only promotions, and this is not one.
        ConflictError: Both sides changed a row in different ways, and the policy doesn't decide:
            the conflicts are kept to be resolved; or the terms are not met; or the source belongs
            to a run that did not succeed, and `force` is not set. The target was not changed.
        RetryError: Others moved the target on every attempt; nothing was changed.
    """
    request = request or MergeRequest()
    if request.terms.promotes and request.force:
        raise InputError("A run that did not succeed can't be promoted, so force is not allowed.")
    if not request.dry_run:
        protect_first(repository, target, request.protection, author=author)
    work = _work_of(repository, source, request)
    if not request.dry_run:
        return merge_work(
            repository,
            work,
            target,
            request.terms,
            author=author,
            engine=engine,
            judge=request.check_of(repository, work),
        )
    check_target(repository, target)
    with sessions_of(engine, repository.blobs, "merge") as sessions:
        return _foretold(repository, work, target, request, sessions)


def _work_of(repository: Repository, source: str, request: MergeRequest) -> Work:
    """Return the source of a merge that a revision refers to."""
    commit = resolve_source(repository, source, force=request.force)
    branch = named_branch(repository, source)
    run = run_of(branch) if branch else None
    return Work(source=source, commit=commit, run=run, policy=request.policy)


def check_target(repository: Repository, target: str) -> None:
    """Raise unless a branch can be merged into.

    Raises:
        NotFoundError: It does not exist.
        InputError: It is a tag, or the branch of a run or of a merge.
    """
    if repository.find_branch(target) is None and repository.find_tag(target) is not None:
        raise InputError(
            f"{target!r} is a tag, which can't move. Give a branch to merge into, or create one "
            f"there first: dbt-vcs branch create <name> {target}"
        )
    branch = repository.branch(target)
    what = "dbt run" if run_of(branch) else "merge" if open_merge_of(branch) else None
    if what is not None:
        raise InputError(
            f"{target!r} is the branch of a {what} and can't be merged into. Give another target."
        )


def merge_work(
    repository: Repository,
    work: Work,
    target: str,
    terms: Terms,
    *,
    author: str,
    engine: Callable[[], Engine] | None = None,
    judge: Judge | None = None,
) -> MergeReport:
    """Merge work into a branch on the given terms; see `merge` for the contract."""
    check_target(repository, target)
    with sessions_of(engine, repository.blobs, "merge") as sessions:
        arrival = land_work(
            repository, work, target, terms, author=author, sessions=sessions, judge=judge
        )
    return _told(repository, arrival)


def _foretold(
    repository: Repository, work: Work, target: str, request: MergeRequest, sessions: Rewriters
) -> MergeReport:
    """Return what `land_work` would do."""
    branch, terms = repository.branch(target).assuming(request.protection), request.terms
    branch.check_open(promotes=terms.promotes)
    plan = plan_merge(repository, work, branch, TableMerges(repository, sessions))
    check_terms(repository, plan, terms.on(branch))
    check = request.check_of(repository, work)
    if check is not None:
        check(plan)
    changes = differing(planned_changes(repository, plan))
    stale = NewlyStale() if plan.conflicts else stale_after(repository, plan)
    how, after = _end_of(plan, terms)
    return MergeReport(
        source=plan.work.source,
        target=plan.target.name,
        how=how,
        dry_run=True,
        before=plan.target.head,
        after=after,
        changes=changes,
        relations=_relations(plan, changes),
        conflicts=plan.conflicts,
        stale=stale.tables,
        stale_unknown=stale.unknown,
    )


def _end_of(plan: MergePlan, terms: Terms) -> tuple[How, CommitId | None]:
    """Return how a plan would land, and the target's head then; None for a new commit."""
    if plan.how == "up_to_date":
        return plan.how, plan.target.head
    if plan.how != "fast_forward" or not plan.work.joins:
        return plan.how, None
    # Metadata needs a commit to be in.
    return ("merge", None) if terms.metadata else (plan.how, plan.work.commit)


def _relations(plan: MergePlan, changes: Iterable[ChangeSummary]) -> tuple[Merged, ...]:
    """Return how each relation was merged, with row counts for those taken from one side."""
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


def _told(repository: Repository, arrival: Arrival) -> MergeReport:
    plan, before, after = arrival
    is_moved = after == plan.work.commit or not plan.work.joins
    how: How = plan.how if before == plan.target.head and is_moved else "merge"
    changes = differing(list_changes(repository, before, after))
    stale = _stale_since(repository, plan, before, after)
    return MergeReport(
        source=plan.work.source,
        target=plan.target.name,
        how="up_to_date" if before == after else how,
        dry_run=False,
        before=before,
        after=after,
        changes=changes,
        relations=_relations(plan, changes),
        stale=stale.tables,
        stale_unknown=stale.unknown,
    )


def _stale_since(
    repository: Repository, plan: MergePlan, before: CommitId, after: CommitId
) -> NewlyStale:
    if before == after:
        return NewlyStale()
    old, new = (entries_of(repository.tree(commit)) for commit in (before, after))
    return newly_stale(repository, old, new, changed_by_target(repository, plan))
