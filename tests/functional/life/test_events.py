"""The parts of dbt that the life of a run leans on, which dbt does not promise to keep."""

from __future__ import annotations

import inspect

import pytest
from dbt.events import types
from dbt.task.run import RunTask


@pytest.mark.parametrize(
    ("event", "fields"),
    [
        ("NodeFinished", {"node_info", "run_result"}),
        ("EndRunResult", {"success", "elapsed_time"}),
        ("ArtifactWritten", {"artifact_type"}),
        ("EndOfRunSummary", set()),
        ("CommandCompleted", set()),
        ("LogHookEndLine", {"statement", "status"}),
        ("FreshnessCheckComplete", set()),
        ("ConcurrencyLine", set()),
        ("MainEncounteredError", set()),
    ],
)
def test_dbt_fires_the_events_that_a_run_listens_to(event: str, fields: set[str]) -> None:
    found = getattr(types, event)
    assert fields <= set(found.PROTO_TYPES_MODULE.__dict__[event].DESCRIPTOR.fields_by_name)


def test_dbt_renders_a_hook_where_errors_are_looked_for() -> None:
    arguments = inspect.signature(RunTask.get_hook_sql).parameters
    assert "hook" in arguments
