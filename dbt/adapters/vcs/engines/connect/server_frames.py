"""Data frames of a Spark Connect server, for dbt's Python models."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from dbt.adapters.vcs.engines.connect.own_temporaries import OwnTemporaries
from dbt.adapters.vcs.engines.connect.server_errors import ServerErrors
from dbt.adapters.vcs.engines.connect.session_text import SessionText
from dbt.adapters.vcs.engines.connect.tagged_jobs import TaggedJobs
from dbt.adapters.vcs.engines.dataframes.frame_api import is_remote
from dbt.adapters.vcs.table.quoting import quoted

if TYPE_CHECKING:
    from pyspark.sql.connect.session import SparkSession

_MODE: Final = "SPARK_CONNECT_MODE_ENABLED"


class ServerFrames:
    """`Frames` over a session of a server; a model runs as one statement."""

    def __init__(
        self,
        spark: SparkSession,
        jobs: TaggedJobs,
        texts: SessionText,
        temporaries: OwnTemporaries,
        errors: ServerErrors,
    ) -> None:
        self.handle = spark
        self._jobs = jobs
        self._texts = texts
        self._temporaries = temporaries
        self._errors = errors

    @contextmanager
    def running(self) -> Iterator[None]:
        """Run a block as one statement that `Session.cancel` can stop."""
        _prefer_server()
        try:
            with self._jobs.run():
                yield
        finally:
            # The model has the session itself.
            self._temporaries.forget()

    def read(self, name: str) -> Any:
        """Return a relation as a frame."""
        return self.handle.sql(self._texts.sent(f"select * from {name}"))

    def show(self, name: str, frame: object) -> bool:
        """Make a frame of Spark, or of pandas on Spark, a temporary view."""
        found: Any = frame
        if type(found).__module__.startswith("pyspark.pandas"):
            found = found.to_spark()
        if not hasattr(found, "createOrReplaceTempView") or not is_remote(found):
            return False
        found.createOrReplaceTempView(name)
        self._temporaries.forget()
        return True

    def hide(self, name: str) -> None:
        """Drop a temporary view."""
        with self._jobs.run():
            self.handle.sql(f"drop view if exists {quoted(name)}")
        self._temporaries.mounted.discard(name)
        self._temporaries.forget()

    def words_of(self, error: Exception) -> str:
        """Return the message of a model's exception."""
        return self._errors.words_of(error)


def _prefer_server() -> None:
    """Let `pyspark.sql.functions` in a model make columns of the server.

    PySpark does this itself where a session is built by its `builder`. A process that runs Spark
    as well keeps its own functions.
    """
    context: Any = getattr(sys.modules.get("pyspark.core.context"), "SparkContext", None)
    if getattr(context, "_active_spark_context", None) is None:
        os.environ[_MODE] = "1"
