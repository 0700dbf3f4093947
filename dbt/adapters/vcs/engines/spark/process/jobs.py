"""The running statements of a session, each a Spark job group that can be cancelled."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from dbt.adapters.vcs.core.errors import EngineError
from dbt.adapters.vcs.engines.engine_errors import CancelledError
from dbt.adapters.vcs.engines.spark.process.spark_errors import translated

if TYPE_CHECKING:
    from pyspark import SparkContext


class Jobs:
    """Runs blocks of code as statements; another thread may cancel them."""

    def __init__(self, context: SparkContext, label: str) -> None:
        self._context = context
        self._label = label
        self._lock = threading.Lock()
        self._cancelled: dict[str, bool] = {}
        self._here = threading.local()
        self._closed = False

    @contextmanager
    def run(self) -> Iterator[None]:
        """Run a block as one statement; nested blocks are part of the same statement.

        Raises:
            StatementError: Spark failed; the message is Spark's.
            CancelledError: The block failed after `cancel` was called.
            EngineError: The session is closed.
        """
        if getattr(self._here, "busy", False):
            with translated():
                yield
            return
        group = self._begin()
        try:
            with translated():
                self._context.setJobGroup(group, self._label, interruptOnCancel=True)
                try:
                    yield
                finally:
                    self._context._jsc.clearJobGroup()
        except Exception as error:
            if self._cancelled[group]:
                raise CancelledError() from error
            raise
        except BaseException:
            # Ctrl-C ends only the wait for Spark's answer; Spark itself goes on.
            self._stop(group)
            raise
        finally:
            self._end(group)

    def cancel(self) -> None:
        """Cancel every running statement; later ones are not affected."""
        with self._lock:
            groups = list(self._cancelled)
            for group in groups:
                self._cancelled[group] = True
        for group in groups:
            self._stop(group)

    def close(self) -> None:
        """Cancel running statements and refuse further ones."""
        with self._lock:
            self._closed = True
        self.cancel()

    def _stop(self, group: str) -> None:
        java: Any = self._context._jsc
        if java is not None:
            java.sc().cancelJobGroupAndFutureJobs(group)

    def _begin(self) -> str:
        group = f"dbt-vcs-{uuid.uuid4().hex}"
        with self._lock:
            if self._closed:
                raise EngineError("This session is closed; open another one.")
            self._cancelled[group] = False
        self._here.busy = True
        return group

    def _end(self, group: str) -> None:
        self._here.busy = False
        with self._lock:
            del self._cancelled[group]
