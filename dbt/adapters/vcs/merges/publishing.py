"""Publishing: a run's work put on its target as one commit, merged with what landed meanwhile."""

from __future__ import annotations

from dbt.adapters.vcs.core.errors import ConflictError
from dbt.adapters.vcs.core.landing import TreeConflictError
from dbt.adapters.vcs.core.model import Run
from dbt.adapters.vcs.core.repository import Landed, Repository
from dbt.adapters.vcs.core.retry import attempts
from dbt.adapters.vcs.engines.port import Sessions
from dbt.adapters.vcs.merges.conflicts.open_merges import OpenMerge
from dbt.adapters.vcs.merges.conflicts.policy import Policy
from dbt.adapters.vcs.merges.conflicts.stored_conflicts import keep
from dbt.adapters.vcs.merges.trees import combine
from dbt.adapters.vcs.runs.run_branch import RunBranch


def publish(
    repository: Repository,
    run: RunBranch,
    *,
    policy: Policy,
    author: str,
    message: str,
    record: Run,
    sessions: Sessions,
) -> Landed:
    """Put what a run did on its target.

    Tables that others changed meanwhile, too, are merged row by row; where these are more rows
    than fit this process, with the engine's help.

    Raises:
        ProtectedError: The target takes promotions alone.
        ConflictError: Both changed the same rows in different ways, and the policy decides
            nothing; the conflicts are kept to be resolved, the target is as it was.
        RetryError: Others were first every time.
    """
    base, tree = run.fork, repository.tree(run.head).id
    for _ in attempts(f"publish {run.name!r} to {run.target!r}"):
        try:
            landed = repository.land(
                run.target,
                base=base,
                tree=tree,
                author=author,
                message=message,
                run=record,
                action="publish",
            )
        except TreeConflictError as error:
            head = error.head
        else:
            is_merged = base != run.fork
            return landed._replace(how="merge") if is_merged else landed
        found = combine(
            repository,
            base=run.fork,
            ours=head,
            theirs=run.head,
            policy=policy,
            sessions=sessions,
        )
        if found.clashes:
            merge = OpenMerge(
                source=run.name,
                theirs=run.head,
                target=run.target,
                mode=policy.override,
                promotes=False,
                message=message,
                head=head,
            )
            keep(repository, merge, found.clashes, author=author)
            raise ConflictError(
                f"The branch {run.target!r} moved since this run began, and both changed the same "
                f"in different ways: {found.told()}. The conflicts are kept: dbt-vcs conflicts "
                f"{run.target}. Choose (dbt-vcs resolve <relation> --with "
                f"ours|theirs|base|delete), then: dbt-vcs merge --continue {run.target}."
            )
        base, tree = head, repository.edit(repository.tree(head).id, found.changes)
    raise AssertionError("attempts raises when it ends")
