"""The lines that a published run writes to dbt's log: one per relation, and a total."""

from __future__ import annotations

from collections.abc import Iterator

from dbt.adapters.vcs.core.ids import CommitId
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.diffs.change_summary import rows_text
from dbt.adapters.vcs.diffs.summaries import list_changes


def published(
    repository: Repository, branch: str, before: CommitId, after: CommitId, seconds: float
) -> Iterator[str]:
    """Yield a line for each relation that changed on a branch, and the last line of a run."""
    changes = [
        change for change in list_changes(repository, before, after) if change.kind != "schema"
    ]
    yield from map(str, changes)
    relations = "1 relation" if len(changes) == 1 else f"{len(changes)} relations"
    yield (
        f"Published {relations} to {branch} @ {after[:12]}: "
        f"{rows_text(changes)} rows, {seconds:.1f}s"
    )
