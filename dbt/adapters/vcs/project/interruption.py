"""Ctrl-C: complete dbt's record of the run, so that a retry leaves no node out."""

from __future__ import annotations

import sys
import time
from collections.abc import Collection
from datetime import datetime, timezone
from typing import Any

from dbt.task.runnable import GraphRunnableTask, mark_node_as_skipped


def complete_record(kept: Collection[str]) -> bool:
    """Add the selected nodes that have no result to run_results.json, as skipped.

    When it is interrupted, dbt writes that file with only the nodes that have ended; after
    `--fail-fast` it adds the others, as this function does. Without them `dbt retry` would resume
    only a part of the run, find no failure, and publish it.

    Args:
        kept: Ids of nodes whose changes are kept, whatever dbt's record says.

    Returns:
        False if the file could not be completed; the run must not be retried then.
    """
    task = running_task()
    if task is None or task._flattened_nodes is None:
        return False
    known = {result.node.unique_id for result in task.node_results} | set(kept)
    skipped = [
        mark_node_as_skipped(node, known, "Interrupted")
        for node in task._flattened_nodes
        if node.unique_id not in known
    ]
    record = task.get_result(
        results=[*task.node_results, *skipped],
        elapsed_time=time.time() - task.started_at,
        generated_at=datetime.now(timezone.utc).replace(tzinfo=None),
    )
    record.write(task.result_path())
    return True


def running_task() -> Any:
    """Return dbt's task from the call stack, or None; dbt doesn't pass it to adapters."""
    frame = sys._getframe()
    while frame is not None:
        task = frame.f_locals.get("self")
        if isinstance(task, GraphRunnableTask):
            return task
        frame = frame.f_back  # type: ignore[assignment]
    return None
