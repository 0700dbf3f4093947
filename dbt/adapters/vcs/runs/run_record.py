"""The record of a run that is published later than it ended, by somebody else's process."""

from __future__ import annotations

import msgspec

from dbt.adapters.vcs.core.model import Run
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.runs.run_branch import RunBranch, commits_of, steps_of


def record_of(repository: Repository, run: RunBranch) -> Run:
    """Return what a run's own branch knows of it, as the commit that publishes it has it.

    The profile's target, dbt's version and the project's commit are those of the newest step. The
    seconds reach to the run's end; to its last commit where it never said that it ended.
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
