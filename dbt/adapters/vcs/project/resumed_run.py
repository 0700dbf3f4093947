"""The run that a command resumes."""

from __future__ import annotations

from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.credentials import VcsCredentials
from dbt.adapters.vcs.project.invocation import Invocation
from dbt.adapters.vcs.workspace.run_branch import RunBranch, Status, runs


def resumed_run(
    repository: Repository, invocation: Invocation, credentials: VcsCredentials
) -> RunBranch | None:
    """Return the run to retry, or the one that is waiting for its tests; None if there is none.

    Raises:
        InputError: The run to retry was stopped early, and dbt doesn't know all its nodes.
    """
    # An operation starts from the beginning, so what it did before it failed must not be there.
    retry_of = None if invocation.is_operation else invocation.retry_of
    if not retry_of and credentials.publish != "after_tests":
        return None
    known = [run for run in runs(repository) if run.target == credentials.branch]
    if not retry_of:
        return next((run for run in known if run.status is Status.PASSED), None)
    retried = [run for run in known if run.invocation == retry_of]
    if retried and retried[0].status is Status.INTERRUPTED:
        raise InputError(
            f"{retried[0].name} was stopped early ({retried[0].note}), so dbt "
            "retry would skip nodes. Run the same command again instead."
        )
    return next((run for run in retried if run.status is Status.FAILED), None)
