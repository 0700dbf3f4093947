"""Promotion: all tables of a branch published on another one, as its rules ask."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from dbt.adapters.vcs.core.errors import ConflictError
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.engines.port import Engine
from dbt.adapters.vcs.merges.conflicts.policy import Policy
from dbt.adapters.vcs.merges.merge_plan import MergePlan, planned_changes
from dbt.adapters.vcs.runs.evidence import check_tested
from dbt.adapters.vcs.scope.mounts import relation_of
from dbt.adapters.vcs.verbs.changing.merge import (
    Manner,
    MergeReport,
    carry_out,
    check_target,
    foretold,
    work_of,
)


def promote(
    repository: Repository,
    source: str,
    target: str,
    *,
    author: str,
    message: str | None = None,
    metadata: Mapping[str, str] | None = None,
    policy: Policy | None = None,
    dry_run: bool = False,
    engine: Callable[[], Engine] | None = None,
) -> MergeReport:
    """Publish all that a branch changed on another branch, in one step or not at all.

    It is the merge that a protected branch takes. Where that requires tests, tests must have
    passed on the very versions that are published (`workspace.evidence`). The engine is made
    for tables of which both changed more rows than fit this process; Spark here if None.

    Raises:
        NotFoundError: The source means no commit, or there is no target.
        InputError: The target is the branch of a run, or both have no common history.
        ConflictError: The source is of a run that did not succeed; or tests are missing; or both
            sides changed one row differently, and the policy decides nothing. The target was not
            changed.
        RetryError: Others moved the target every time; nothing was changed.
    """
    work = work_of(repository, source, policy or Policy(), force=False)
    check_target(repository, target)
    manner = Manner(author=author, message=message, metadata=metadata or {}, promotes=True)

    def check(plan: MergePlan) -> None:
        protection = plan.target.protection
        if protection and "tests" in protection.require:
            _check_tests(repository, plan)

    if dry_run:
        return foretold(repository, work, target, check, engine=engine)
    return carry_out(repository, work, target, manner, check, engine=engine)


def _check_tests(repository: Repository, plan: MergePlan) -> None:
    """Raise unless tests passed on every version that the plan publishes."""
    source, target = plan.work.source, plan.target
    if plan.combination is not None:
        tested = repository.tree(plan.work.commit)
        made = plan.combination.changes.relations
        mixed = [str(name) for name, entry in made.items() if tested.entry(name) != entry]
        if mixed:
            raise ConflictError(
                f"Tests are required, and no test can have seen what merging makes of "
                f"{', '.join(mixed)}: {target.name!r} has changed too since {source!r} left it. "
                f"Nothing was changed. Merge {target.name!r} into {source!r}, run dbt test there, "
                "then promote it again."
            )
    changed = [
        relation_of(change.name)
        for change in planned_changes(repository, plan)
        if change.kind != "schema"
    ]
    check_tested(repository, plan.work.commit, target.head, changed)
