"""Statements: marked once however much runs in them, cancelled and interrupted as a whole."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext

import pytest

from dbt.adapters.vcs.core.errors import EngineError, InputError
from dbt.adapters.vcs.engines.dataframes.statement_jobs import StatementJobs
from dbt.adapters.vcs.engines.engine_errors import CancelledError, StatementError


class NotedJobs(StatementJobs):
    """Notes when an engine is told what."""

    def __init__(self) -> None:
        super().__init__()
        self.told: list[str] = []

    def _translated(self) -> AbstractContextManager[None]:
        return nullcontext()

    @contextmanager
    def _marking(self, mark: str) -> Iterator[None]:
        self.told.append("begin")
        try:
            yield
        finally:
            self.told.append("end")

    def _stop(self, marks: Sequence[str]) -> None:
        self.told += ["stop"] * len(marks)

    def _has_tasks(self, mark: str) -> bool:
        return False

    def _check(self) -> None:
        self.require_running()


@pytest.fixture
def jobs() -> NotedJobs:
    return NotedJobs()


def test_all_that_runs_in_a_statement_is_marked_once(jobs: NotedJobs) -> None:
    with jobs.statement():
        with jobs.run(), jobs.run():
            pass
        with jobs.statement(), jobs.run():
            pass
    assert jobs.told == ["begin", "end"]
    with jobs.run():
        pass
    with jobs.run():
        pass
    assert jobs.told == ["begin", "end"] * 3


def test_a_cancelled_statement_runs_nothing_more(jobs: NotedJobs) -> None:
    reached: list[int] = []
    with pytest.raises(CancelledError), jobs.statement():
        with jobs.run():
            reached.append(1)
        jobs.cancel()
        with jobs.run():
            reached.append(2)
    assert reached == [1] and jobs.told == ["begin", "stop", "end"]
    # The next one isn't affected.
    with jobs.run():
        reached.append(3)
    assert reached == [1, 3]


@pytest.mark.parametrize("error", [StatementError("killed"), InputError("no")])
def test_what_fails_once_cancelled_was_cancelled(jobs: NotedJobs, error: Exception) -> None:
    # Also inside, where somebody may have another way if Spark fails.
    with jobs.statement():
        with pytest.raises(CancelledError), jobs.run():
            jobs.cancel()
            raise error
        with pytest.raises(CancelledError):
            jobs.require_running()
        jobs._cancelled[str(jobs._current())] = False


def test_ctrl_c_is_no_failure_of_a_part(jobs: NotedJobs) -> None:
    with pytest.raises(KeyboardInterrupt), jobs.statement(), jobs.run():
        try:
            raise KeyboardInterrupt
        finally:
            # As PySpark does: it asks for the result of jobs that it has just cancelled.
            raise StatementError("Job 7 cancelled as part of cancellation of all jobs")
    assert jobs.told == ["begin", "end", "stop"]


def test_errors_of_others_pass(jobs: NotedJobs) -> None:
    with pytest.raises(ConnectionError, match="the store"), jobs.statement():
        raise ConnectionError("the store")
    jobs.close()
    with pytest.raises(EngineError, match="closed"), jobs.statement():
        pass
