"""The running statements of a session on a server, each with a tag by which it is cancelled."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import TYPE_CHECKING, Any, Final

from dbt.adapters.vcs.core.errors import EngineError
from dbt.adapters.vcs.engines.connect.server_errors import ServerErrors
from dbt.adapters.vcs.engines.dataframes.statement_jobs import StatementJobs

if TYPE_CHECKING:
    from pyspark.sql.connect.session import SparkSession

_PAUSE: Final = 2.0
"""Seconds between two attempts to interrupt a statement."""


class OperationGate:
    """Called by PySpark's client before each operation that it sends.

    A statement is several operations. After `cancel` none must begin: a server that is told to
    interrupt one that just begins may leave its job running.
    """

    check: Callable[[], None] | None = None

    def on_execute_plan(self, request: Any) -> Any:
        """Return the request, unless the statement was cancelled."""
        if self.check is not None:
            self.check()
        return request


class TaggedJobs(StatementJobs):
    """Statements as tags of a session's operations."""

    def __init__(self, spark: SparkSession, errors: ServerErrors, gate: OperationGate) -> None:
        super().__init__()
        gate.check = self.require_running
        self._spark = spark
        self.errors = errors

    def _translated(self) -> AbstractContextManager[None]:
        return self.errors.translated()

    @contextmanager
    def _marked(self, mark: str) -> Iterator[None]:
        self._spark.addTag(mark)
        try:
            yield
        finally:
            self._spark.removeTag(mark)

    def _has_tasks(self, mark: str) -> bool:
        # A server doesn't tell; it outlives its jobs, and removes their files itself.
        return False

    def _check(self) -> None:
        # An operation may have begun just after the others were interrupted.
        self.require_running()

    def _stop(self, marks: Sequence[str]) -> None:
        self._interrupt(marks)
        # The interruption may have come before the operation was there.
        threading.Thread(target=self._insist, args=(marks,), daemon=True).start()

    def _insist(self, marks: Sequence[str]) -> None:
        left = list(marks)
        while left:
            time.sleep(_PAUSE)
            with self._lock:
                left = [mark for mark in left if mark in self._cancelled]
            with suppress(EngineError):
                self._interrupt(left)

    def _interrupt(self, marks: Sequence[str]) -> None:
        with self.errors.translated():
            for mark in marks:
                self._spark.interruptTag(mark)
