"""A write that ends early ends after its tasks, so that none makes a file behind its back."""

import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from dbt.adapters.vcs.core.errors import EngineError
from dbt.adapters.vcs.engines.dataframes import statement_jobs
from dbt.adapters.vcs.engines.engine_errors import CancelledError, StatementError

from .bench import Bench

pytestmark = pytest.mark.spark

# One row, computed in one go: Spark asks between rows whether a task is to end. Of short arrays,
# since Spark keeps the description of a query, and with it each number of a constant array.
LONG = (
    "aggregate(sequence(1, 2000), id, (sum, i) -> "
    "aggregate(sequence(1, 2000), sum, (inner, j) -> inner + (i + j) % 7))"
)


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a write wait for as long as its task takes on a busy machine."""
    monkeypatch.setattr(statement_jobs, "_PATIENCE", 50.0)


def running(bench: Bench) -> int:
    """Return how many tasks run in Spark's own process."""
    tracker = bench.session.spark.sparkContext._jsc.sc().statusTracker()
    return sum(info.numRunningTasks() for info in tracker.getExecutorInfos())


def written(bench: Bench, query: str, then: Callable[[], None]) -> Any:
    """Write a query's rows in another thread, do something while it computes, return its error."""
    found: list[tuple[EngineError, int]] = []

    def write() -> None:
        try:
            bench.write(query)
        except EngineError as error:
            found.append((error, running(bench)))

    thread = threading.Thread(target=write)
    thread.start()
    end = time.monotonic() + 60
    while not running(bench):
        assert time.monotonic() < end, "no task started"
        time.sleep(0.01)
    then()
    thread.join(60)
    ((error, tasks),) = found
    assert tasks == 0
    assert not list(bench.blobs.walk("data"))
    return error


def test_a_cancelled_write_waits_for_its_tasks(bench: Bench) -> None:
    error = written(bench, f"select {LONG} n from range(1)", bench.session.cancel)
    assert isinstance(error, CancelledError)
    assert bench.rows("select 1") == [(1,)], "the session goes on"


def test_a_write_with_a_failed_task_waits_for_the_others(bench: Bench) -> None:
    fails = "raise_error('no')"
    query = f"select if(id = 0, {LONG}, cast({fails} as bigint)) n from range(0, 2, 1, 2)"
    error = written(bench, query, lambda: None)
    assert isinstance(error, StatementError) and "no" in str(error)
