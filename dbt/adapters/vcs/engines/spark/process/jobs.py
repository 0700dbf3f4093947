"""The running statements of a session, each a Spark job group that can be cancelled."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any

from dbt.adapters.vcs.engines.dataframes.statement_jobs import StatementJobs
from dbt.adapters.vcs.engines.spark.process.spark_errors import translated

if TYPE_CHECKING:
    from pyspark import SparkContext


class Jobs(StatementJobs):
    """Statements as job groups of a Spark context."""

    def __init__(self, context: SparkContext, label: str) -> None:
        super().__init__()
        self._context = context
        self._label = label

    def _translated(self) -> AbstractContextManager[None]:
        return translated()

    @contextmanager
    def _marked(self, mark: str) -> Iterator[None]:
        self._context.setJobGroup(mark, self._label, interruptOnCancel=True)
        try:
            yield
        finally:
            self._context._jsc.clearJobGroup()

    def _check(self) -> None:
        """Do nothing: Spark refuses the later jobs of a cancelled group itself."""

    def _stop(self, marks: Sequence[str]) -> None:
        java: Any = self._context._jsc
        if java is not None:
            for mark in marks:
                java.sc().cancelJobGroupAndFutureJobs(mark)

    def _has_tasks(self, mark: str) -> bool:
        from py4j.protocol import Py4JError

        if self._context._jsc is None:
            return False
        try:
            return self._finds_tasks(mark)
        except (Py4JError, OSError):
            # Spark itself has ended, and its tasks with it.
            return False

    def _finds_tasks(self, mark: str) -> bool:
        tracker = self._context.statusTracker()
        for job in filter(None, map(tracker.getJobInfo, tracker.getJobIdsForGroup(mark))):
            # How many tasks of a stage are active is certain once the job has ended.
            if job.status == "RUNNING":
                return True
            stages = filter(None, map(tracker.getStageInfo, job.stageIds))
            if any(stage.numActiveTasks for stage in stages):
                return True
        return False
