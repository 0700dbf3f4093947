"""Promotion: all tables of a branch published on another one, as its rules ask."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.engines.port import Engine
from dbt.adapters.vcs.merges.conflicts.policy import Policy
from dbt.adapters.vcs.merges.conflicts.terms import Terms
from dbt.adapters.vcs.verbs.changing.merge import MergeReport, merge_work, work_of


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
    passed on the very versions that are published (`runs.evidence`). The engine is made
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
    terms = Terms(message=message, metadata=metadata or {}, promotes=True)
    return merge_work(
        repository, work, target, terms, author=author, dry_run=dry_run, engine=engine
    )
