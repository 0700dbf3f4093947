"""The record of a run that another process publishes after its end."""

from __future__ import annotations

import msgspec

from dbt.adapters.vcs.core.model import Run
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.runs.run_branch import RunBranch, commits_of, steps_of


def record_of(repository: Repository, run: RunBranch) -> Run:
    """Return the record for the commit that publishes a run, taken from the run's branch.

    The profile's target, dbt's version and the project's commit are those of the newest step.
    The seconds count to the end of the run, or to its last commit if it recorded no end.
    """
    nodes = {
        node.id: msgspec.structs.replace(node, file_checksum=None)
        for node in steps_of(repository, run)
    }
    records = (commit.run for commit in commits_of(repository, run))
    newest = next((record for record in records if record is not None), None)
    ended_at = run.ended_at or repository.objects.commit(run.head).committed_at
    return Run(
        invocation=run.invocation,
        command=run.command,
        target=newest.target if newest else "",
        dbt_version=newest.dbt_version if newest else "",
        git_sha=newest.git_sha if newest else None,
        started_at=run.started_at,
        seconds=round(max(ended_at - run.started_at, 0) / 1_000_000, 3),
        head=run.head,
        nodes=tuple(nodes[id] for id in sorted(nodes)),
    )
