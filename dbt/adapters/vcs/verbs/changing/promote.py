"""Promotion: publish all tables of a branch to another branch, under its rules."""

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
    """Publish everything that a branch changed to another branch, in one step or not at all.

    This is the only kind of merge that a protected branch accepts. If the branch requires tests,
    they must have passed on exactly the versions that are published (`runs.evidence`). The engine
    is created for tables with more rows changed on both sides than fit into this process; a local
    Spark if None.

    Raises:
        NotFoundError: The source or the target does not exist.
        InputError: The target is the branch of a run, or the two have no common history.
        ConflictError: The source belongs to a run that did not succeed; or tests are missing; or
            both sides changed a row differently, and the policy doesn't decide. The target was not
            changed.
        RetryError: Others moved the target on every attempt; nothing was changed.
    """
    work = work_of(repository, source, policy or Policy(), force=False)
    terms = Terms(message=message, metadata=metadata or {}, promotes=True)
    return merge_work(
        repository, work, target, terms, author=author, dry_run=dry_run, engine=engine
    )
