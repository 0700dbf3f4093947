"""A write that ends early ends after its tasks, so that none makes a file behind its back."""

import threading
import time
from collections.abc import Callable, Sequence
from queue import Queue
from typing import Any

import pytest

from dbt.adapters.vcs.core.errors import EngineError
from dbt.adapters.vcs.engines.dataframes import statement_jobs
from dbt.adapters.vcs.engines.engine_errors import CancelledError, StatementError

from .bench import Bench

pytestmark = pytest.mark.spark

# One row, computed in one go: Spark asks between rows whether a task is to end. Of short arrays,
# since Spark keeps the description of a query, and with it each number of a constant array.
LONG, SHORT = (
    f"aggregate(sequence(1, {n}), id, (sum, i) -> "
    f"aggregate(sequence(1, {n}), sum, (inner, j) -> inner + (i + j) % 7))"
    for n in (2000, 700)
)


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a write wait for as long as its task takes on a busy machine."""
    monkeypatch.setattr(statement_jobs, "_PATIENCE", 50.0)


def started(bench: Bench) -> list[int]:
    """Return the numbers of Spark's stages once there are any.

    Spark tells at once that a stage began, but not that a task did: only every 100 ms, if
    something else happens by then.
    """
    tracker = bench.session.spark.sparkContext.statusTracker()
    end = time.monotonic() + 60
    while not (stages := list(tracker.getActiveStageIds())):
        assert time.monotonic() < end, "no stage began"
        time.sleep(0.01)
    return stages


def at_work(bench: Bench, stages: Sequence[int]) -> int:
    """Return how many tasks of stages run, which is certain once their job has ended."""
    tracker = bench.session.spark.sparkContext.statusTracker()
    return sum(tracker.getStageInfo(stage).numActiveTasks for stage in stages)


def written(bench: Bench, query: str, then: Callable[[], None]) -> Any:
    """Write a query's rows in another thread, do something while it computes, return its error."""
    found: list[tuple[EngineError, int]] = []
    stages: Queue[list[int]] = Queue()

    def write() -> None:
        try:
            bench.write(query)
        except EngineError as error:
            found.append((error, at_work(bench, stages.get(timeout=60))))

    thread = threading.Thread(target=write)
    thread.start()
    stages.put(started(bench))
    then()
    thread.join(100)
    ((error, tasks),) = found
    assert tasks == 0
    assert not list(bench.blobs.walk("data"))
    return error


def test_a_cancelled_write_waits_for_its_tasks(bench: Bench) -> None:
    def cancel() -> None:
        time.sleep(0.3)
        bench.session.cancel()

    error = written(bench, f"select {LONG} n from range(1)", cancel)
    assert isinstance(error, CancelledError)
    assert bench.rows("select 1") == [(1,)], "the session goes on"


def test_a_write_with_a_failed_task_waits_for_the_others(bench: Bench) -> None:
    fails = f"if({SHORT} < 0, 0L, cast(raise_error('no') as bigint))"
    query = f"select if(id = 0, {LONG}, {fails}) n from range(0, 2, 1, 2)"
    error = written(bench, query, lambda: None)
    assert isinstance(error, StatementError) and "no" in str(error)
