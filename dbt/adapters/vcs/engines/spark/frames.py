"""Spark's data frames, for dbt's Python models."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from dbt.adapters.vcs.engines.spark.process.jobs import Jobs
from dbt.adapters.vcs.engines.spark.process.spark_errors import words_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class SparkFrames:
    """`Frames` over a SparkSession; a model runs as one statement of the session."""

    def __init__(self, spark: SparkSession, jobs: Jobs, reads: Callable[[], object]) -> None:
        """Take a session; `reads` returns what must be kept for frames of this moment."""
        self._jobs = jobs
        self._reads = reads
        self._read: list[object] = []
        self.handle = spark

    def running(self) -> AbstractContextManager[None]:
        """Run a block as one statement that `Session.cancel` can stop."""
        return self._jobs.run()

    def read(self, name: str) -> DataFrame:
        """Return a relation as a frame, which can be computed as long as this object lives."""
        self._read.append(self._reads())
        return self.handle.table(name)

    def show(self, name: str, frame: object) -> bool:
        """Make a frame of Spark, or of pandas on Spark, a temporary view."""
        from pyspark.sql import DataFrame

        found: Any = frame
        if type(found).__module__.startswith("pyspark.pandas"):
            found = found.to_spark()
        if not isinstance(found, DataFrame):
            return False
        self._own(found).createOrReplaceTempView(name)
        return True

    def hide(self, name: str) -> None:
        """Drop a temporary view."""
        self.handle.catalog.dropTempView(name)

    def words_of(self, error: Exception) -> str:
        """Return the message of a model's exception."""
        return words_of(error)

    def _own(self, frame: DataFrame) -> DataFrame:
        """Return a frame in this session; pandas on Spark uses the default session."""
        from pyspark.sql.classic.dataframe import DataFrame

        if frame.sparkSession is self.handle:
            return frame
        jvm: Any = self.handle._jvm
        datasets = jvm.org.apache.spark.sql.classic.Dataset
        return DataFrame(
            datasets.ofRows(self.handle._jsparkSession, frame._jdf.logicalPlan()), self.handle
        )
