"""The verdict of a review: what a merge would do, and what stands in its way."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from shlex import quote
from typing import Final

from dbt.adapters.vcs.changes.diffs.row_facts import ColumnPatterns
from dbt.adapters.vcs.changes.merges.approvals import approvals_of
from dbt.adapters.vcs.changes.merges.branch_landing import check_terms
from dbt.adapters.vcs.changes.merges.conflicts.open_merges import Terms
from dbt.adapters.vcs.changes.merges.contracts import ContractOutcome, contract_outcomes
from dbt.adapters.vcs.changes.merges.merge_plan import MergePlan, Work, plan_merge
from dbt.adapters.vcs.changes.merges.stale_by_merge import (
    NewlyStale,
    ReadSetCheck,
    joined,
    stale_after,
)
from dbt.adapters.vcs.changes.merges.table_merge import TableMerges
from dbt.adapters.vcs.commands.merge import MergeRequest, check_target
from dbt.adapters.vcs.commands.review_report import (
    BlockingRun,
    ForetoldConflict,
    ReviewVerdict,
    TestOutcome,
    TestState,
)
from dbt.adapters.vcs.commands.reviewed_relations import paired
from dbt.adapters.vcs.commands.revisions import named_branch, resolve_source
from dbt.adapters.vcs.commands.runs import RunSummary, list_runs
from dbt.adapters.vcs.commands.status import DONE_WITH
from dbt.adapters.vcs.core.branches import Branch
from dbt.adapters.vcs.core.errors import ConflictError, UnsupportedError, VcsError
from dbt.adapters.vcs.core.ids import CommitId
from dbt.adapters.vcs.core.model import RelationName, TableEntry
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.workspace.run_branch import RunBranch, evidence, run_of

_STATES: Final[dict[bool | None, TestState]] = {True: "passed", False: "failed", None: "not_run"}
_KEPT_OUT: Final = "both sides declared columns differently, some of which stay out of reviews"
_ORDER: Final[tuple[TestState, ...]] = ("failed", "not_run", "passed")


def verdict_of(
    repository: Repository,
    base: str,
    head: str,
    changed: Sequence[RelationName],
    rules: MergeRequest,
    options: str = "",
    patterns: ColumnPatterns | None = None,
) -> ReviewVerdict:
    """Return whether a revision can be merged into a branch as things are now.

    Nothing that a reader could see is written. What can't be planned is a reason not to merge.

    Args:
        base: The branch to merge into.
        head: The revision to merge.
        rules: What the project says of merges; its terms and the commit are not looked at.
        options: What commands take to find the repository, each option after a space.
        patterns: Columns whose values stay out of every text; None for none.
    """
    patterns = patterns or ColumnPatterns()
    runs = tuple(_blocking_runs(repository, head, options, patterns))
    branch = named_branch(repository, base)
    commit = repository.resolve(head)
    facts = ReviewVerdict(
        can_merge=False,
        how="unknown",
        warnings=tuple(_run_line(run) for run in runs),
        runs=runs,
    )
    if branch is None:
        reason = f"{base!r} is no branch, so nothing can be merged into it."
        return replace(facts, reasons=(reason,))
    branch = branch.assuming(rules.protection)
    facts = _with_tests(facts, repository, commit, branch, changed)
    facts = replace(facts, approvals=approvals_of(repository, head, commit))
    try:
        plan = _plan(repository, branch, head, rules)
    except VcsError as error:
        why = _why_not(error, head, base)
        return replace(facts, reasons=(_without_note(repository, head, why, patterns),))
    plan = _without_values(repository, plan, patterns)
    # What conflicts will become isn't known yet.
    found = contract_outcomes(repository, rules.contracts, plan) if not plan.clashes else []
    contracts = [
        _without_rows(repository, plan, item, patterns)
        for item in sorted(found, key=lambda item: item.is_met)
    ]
    broken = (item.text + "." for item in contracts if not item.is_met)
    reasons = (*_reasons(repository, plan, branch, rules), *broken)
    # A merge with conflicts doesn't land, so it makes nothing stale.
    stale = NewlyStale() if plan.clashes else stale_after(repository, plan)
    warnings = [*facts.warnings]
    if stale.tables:
        warnings.append(f"The merge makes these tables stale: {joined(stale.tables)}.")
    if plan.how == "up_to_date":
        warnings.append(f"{base!r} has everything of {head!r} already.")
    return replace(
        facts,
        can_merge=not reasons,
        how=plan.how,
        reasons=reasons,
        warnings=tuple(warnings),
        contracts=tuple(contracts),
        conflicts=tuple(
            ForetoldConflict(
                relation=item.subject,
                kind=item.kind,
                rows=item.count if item.kind == "rows" else None,
                text=str(item),
            )
            for item in plan.clashes
        ),
        stale=stale.tables,
        stale_unknown=stale.unknown,
    )


def _plan(repository: Repository, branch: Branch, head: str, rules: MergeRequest) -> MergePlan:
    check_target(repository, branch.name)
    source = resolve_source(repository, head)
    work = Work(source=head, commit=source.commit, run=source.run, policy=rules.policy)
    # Without sessions of Spark: whoever reads a review has perhaps no Java. Contracts ask what the
    # merged tables hold, so these are stored for them, although nothing will refer to them.
    tables = TableMerges(repository, None, dry_run=not rules.contracts)
    return plan_merge(repository, work, branch, tables)


def _without_values(
    repository: Repository, plan: MergePlan, patterns: ColumnPatterns
) -> MergePlan:
    """Return a plan whose conflicts of columns tell nothing of those that stay out."""
    return replace(
        plan,
        clashes=tuple(
            replace(item, message=_KEPT_OUT)
            if item.kind == "schema" and _names_kept_out(repository, plan, item.name, patterns)
            else item
            for item in plan.clashes
        ),
    )


def _without_rows(
    repository: Repository, plan: MergePlan, item: ContractOutcome, patterns: ColumnPatterns
) -> ContractOutcome:
    """Return an outcome that names no row by a key that stays out."""
    name = RelationName.of(item.relation)
    if item.is_met or not _names_kept_out(repository, plan, name, patterns):
        return item
    text = f"{item.relation} breaks {item.contract}: {item.found}, and the limit is {item.limit}"
    return replace(item, text=text)


def _names_kept_out(
    repository: Repository, plan: MergePlan, name: RelationName, patterns: ColumnPatterns
) -> bool:
    """Return whether a column of some version of a relation stays out of reviews.

    What a pattern says of one name of a table that a side renamed holds for the other, too.
    """
    commits = (plan.base, plan.target.head, plan.work.commit)
    names = {name}.union(
        *(
            {item.old_name, item.name}
            for side in commits[1:]
            for item in paired(repository, repository.diff(plan.base, side).relations)
            if name in (item.old_name, item.name)
        )
    )
    columns: set[str] = set()
    for commit in commits:
        for entry in map(repository.tree(commit).entry, names):
            if isinstance(entry, TableEntry):
                columns.update(repository.objects.snapshot(entry.snapshot).schema.names)
    return any(patterns.of(names, columns))


def _why_not(error: VcsError, head: str, base: str) -> str:
    if isinstance(error, UnsupportedError):
        return (
            f"Whether rows conflict isn't known without Spark: {error} To find out: "
            f"dbt-vcs merge {quote(head)} {quote(base)} --dry-run"
        )
    return str(error)


def _reasons(
    repository: Repository, plan: MergePlan, branch: Branch, rules: MergeRequest
) -> Iterator[str]:
    """Yield why a plan would not land, a sentence each."""
    if plan.clashes:
        yield f"Both sides changed the same in different ways: {plan.conflicts_line}."
    terms = Terms(promotes=branch.protection is not None).on(branch)
    # One by one, so that a reviewer sees all that is missing.
    for demand in terms.require:
        try:
            check_terms(repository, plan, replace(terms, require=(demand,)))
        except ConflictError as error:
            yield str(error)
    if plan.work.run is not None:
        try:
            ReadSetCheck(repository, rules.on_stale)(plan)
        except ConflictError as error:
            yield str(error)


def _with_tests(
    facts: ReviewVerdict,
    repository: Repository,
    commit: CommitId,
    branch: Branch,
    changed: Iterable[RelationName],
) -> ReviewVerdict:
    names = tuple(changed)
    found = evidence(repository, commit, branch.head, names)
    tree = repository.tree(commit)
    # Functions have no rows to test, and a relation that was dropped has none any more.
    wanted = {
        str(name)
        for name in names
        if (entry := tree.entry(name)) is not None and entry.noun != "function"
    }
    tests = [
        TestOutcome(
            name=item.test,
            state=_STATES[item.is_good],
            relations=tuple(sorted(wanted & item.saw)),
        )
        for item in found
        if wanted & item.saw
    ]
    seen = {name for item in found if item.is_good for name in item.saw}
    failed = [item.name for item in tests if item.state == "failed"]
    warnings = [*facts.warnings]
    if failed:
        warnings.append(f"These tests failed on exactly these versions: {joined(failed)}.")
    return replace(
        facts,
        warnings=tuple(warnings),
        tests=tuple(sorted(tests, key=lambda item: (_ORDER.index(item.state), item.name))),
        untested=tuple(sorted(wanted - seen)),
        requires=branch.protection.require if branch.protection is not None else (),
    )


def _blocking_runs(
    repository: Repository, head: str, options: str, patterns: ColumnPatterns
) -> Iterator[BlockingRun]:
    """Yield the runs that belong to a branch, or are it, and have not landed; newest first."""
    branch = named_branch(repository, head)
    if branch is None:
        return
    for run in list_runs(repository):
        if branch.name in (run.branch, run.target) and run.status not in DONE_WITH:
            yield BlockingRun(
                invocation=run.id,
                status=run.status,
                target=run.target,
                note=_note_of(run, patterns),
                command=f"dbt-vcs show {quote(run.branch)}{options}",
            )


def _without_note(repository: Repository, head: str, why: str, patterns: ColumnPatterns) -> str:
    """Return why a revision can't be merged; of a run's branch that may be how the run ended."""
    source = named_branch(repository, head)
    run = run_of(source) if source is not None else None
    if run is None or not run.note:
        return why
    return why.replace(run.note, _note_of(run, patterns))


def _note_of(run: RunSummary | RunBranch, patterns: ColumnPatterns) -> str:
    """Return how a run ended; why it could not be published may name rows that stay out."""
    return run.note.partition(":")[0] if patterns.hide or patterns.mask else run.note


def _run_line(run: BlockingRun) -> str:
    why = f" ({run.note})" if run.note else ""
    return (
        f"The run {run.invocation} on {run.target!r} is {run.status}{why}: what it built is not "
        "part of this review unless it is published."
    )
