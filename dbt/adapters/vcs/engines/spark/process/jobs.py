"""The running statements of a session, each a Spark job group that can be cancelled."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any, Final

from dbt.adapters.vcs.engines.dataframes.statement_jobs import StatementJobs
from dbt.adapters.vcs.engines.spark.process.spark_errors import translated

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SESSIONS: Final = "org.apache.spark.sql.classic.SparkSession"


class Jobs(StatementJobs):
    """Statements as job groups of a Spark context, each with its session the active one."""

    def __init__(self, spark: SparkSession, label: str) -> None:
        super().__init__()
        self._spark = spark
        self._context = spark.sparkContext
        self._label = label

    def _translated(self) -> AbstractContextManager[None]:
        return translated()

    @contextmanager
    def _marked(self, mark: str) -> Iterator[None]:
        # First, because its error tells whether Spark's process is gone.
        self._context.setJobGroup(mark, self._label, interruptOnCancel=True)
        try:
            with _active(self._spark):
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


@contextmanager
def _active(spark: SparkSession) -> Iterator[None]:
    """Make a session the active one of this thread within a block.

    What parses a text or resolves a plan takes its settings from the thread's active session, and
    without one from Spark's defaults. Only some of Spark's own methods make theirs the active one.
    """
    from py4j.java_gateway import JavaClass
    from pyspark.sql import SparkSession

    own: Any = spark._jsparkSession
    gateway: Any = spark.sparkContext._gateway
    sessions: Any = JavaClass(_SESSIONS, gateway._gateway_client)
    known, before = SparkSession._instantiatedSession, sessions.getActiveSession()
    sessions.setActiveSession(own)
    try:
        yield
    finally:
        made: Any = SparkSession._instantiatedSession
        if made is not None and made is not known and own.equals(made._jsparkSession):
            # PySpark makes the active session the whole process's, if the process has none.
            SparkSession._instantiatedSession = SparkSession._activeSession = None
            sessions.clearDefaultSession()
        if before.isDefined():
            sessions.setActiveSession(before.get())
        else:
            sessions.clearActiveSession()
