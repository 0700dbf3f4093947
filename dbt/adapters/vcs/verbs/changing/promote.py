"""Promotion: publish all tables of a branch to another branch, under its rules."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.engines.port import Engine
from dbt.adapters.vcs.verbs.changing.merge import MergeReport, MergeRequest, merge


def promote(
    repository: Repository,
    source: str,
    target: str,
    request: MergeRequest | None = None,
    *,
    author: str,
    engine: Callable[[], Engine] | None = None,
) -> MergeReport:
    """Publish everything that a branch changed to another branch, in one step or not at all.

    This is the only kind of merge that a protected branch accepts. If the branch requires tests,
    they must have passed on exactly the versions that are published (`runs.evidence`). The engine
    is created for tables with more rows changed on both sides than fit into this process; a local
    Spark if None.

    Raises:
        NotFoundError: The source or the target does not exist.
        InputError: The target is the branch of a run, or the two have no common history; or
            `force` is set, which would take a run that did not succeed.
        ConflictError: The source belongs to a run that did not succeed; or tests are missing; or
            both sides changed a row differently, and the policy doesn't decide. The target was not
            changed.
        RetryError: Others moved the target on every attempt; nothing was changed.
    """
    request = request or MergeRequest()
    promotes = replace(request, terms=replace(request.terms, promotes=True))
    return merge(repository, source, target, promotes, author=author, engine=engine)
