"""A statement that ended early has tasks as long as Spark says so, and none once Spark is gone."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest
from py4j.protocol import Py4JNetworkError

from dbt.adapters.vcs.engines.spark.jobs import Jobs


class Job(NamedTuple):
    status: str
    stageIds: tuple[int, ...]


class Stage(NamedTuple):
    numActiveTasks: int


class Spark:
    """A context whose tracker knows one job, with the stages that it still remembers."""

    def __init__(self, status: str, *active: int) -> None:
        self._jsc = object()
        self._job, self._active = Job(status, tuple(range(len(active) + 1))), active

    def statusTracker(self) -> Spark:
        return self

    def getJobIdsForGroup(self, mark: str) -> list[int]:
        assert mark == "m"
        return [7, 8]

    def getJobInfo(self, job: int) -> Job | None:
        return self._job if job == 7 else None

    def getStageInfo(self, stage: int) -> Stage | None:
        return Stage(self._active[stage]) if stage < len(self._active) else None


class Gone(Spark):
    def statusTracker(self) -> Spark:
        raise Py4JNetworkError("Answer from Java side is empty")


@pytest.mark.parametrize(
    ("spark", "has"),
    [
        (Spark("RUNNING", 0), True),
        (Spark("FAILED", 0, 1), True),
        (Spark("FAILED", 0, 0), False),
        (Spark("FAILED"), False),
        (Gone("RUNNING"), False),
    ],
)
def test_tasks_are_seen(spark: Any, has: bool) -> None:
    session: Any = SimpleNamespace(sparkContext=spark)
    jobs = Jobs(session, "label")
    assert jobs._has_tasks("m") == has
    spark._jsc = None
    assert not jobs._has_tasks("m")
