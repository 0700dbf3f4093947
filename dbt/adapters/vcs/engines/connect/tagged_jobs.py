"""The running statements of a session on a server, each with a tag by which it is cancelled."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Final

from dbt.adapters.vcs.core.errors import EngineError
from dbt.adapters.vcs.engines.connect.server_errors import ServerErrors
from dbt.adapters.vcs.engines.engine_errors import CancelledError

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


class TaggedJobs:
    """Runs blocks of code as statements; another thread may cancel them."""

    def __init__(self, spark: SparkSession, errors: ServerErrors, gate: OperationGate) -> None:
        gate.check = self._check_here
        self._spark = spark
        self._errors = errors
        self._lock = threading.Lock()
        self._cancelled: dict[str, bool] = {}
        self._here = threading.local()
        self._closed = False

    @contextmanager
    def run(self) -> Iterator[None]:
        """Run a block as one statement; nested blocks are part of the same statement.

        Raises:
            StatementError: Spark failed; the message is Spark's.
            CancelledError: `cancel` was called before the block's end.
            EngineError: The session is closed.
        """
        tag: str | None = getattr(self._here, "tag", None)
        if tag is not None:
            self._check(tag)
            with self._errors.translated():
                yield
            return
        tag = self._begin()
        try:
            with self._errors.translated():
                self._spark.addTag(tag)
                try:
                    yield
                finally:
                    self._spark.removeTag(tag)
            # An operation may have begun just after the others were interrupted.
            self._check(tag)
        except Exception as error:
            if self._cancelled[tag]:
                raise CancelledError() from error
            raise
        except BaseException:
            # Ctrl-C ends only the wait for the server's answer; the server goes on.
            self._spark.interruptTag(tag)
            raise
        finally:
            self._end(tag)

    def cancel(self) -> None:
        """Cancel every running statement; later ones are not affected."""
        with self._lock:
            tags = list(self._cancelled)
            for tag in tags:
                self._cancelled[tag] = True
        if tags:
            self._interrupt(tags)
            # The interruption may have come before the operation was there.
            threading.Thread(target=self._insist, args=(tags,), daemon=True).start()

    def close(self) -> None:
        """Cancel running statements and refuse further ones."""
        with self._lock:
            self._closed = True
        self.cancel()

    def _insist(self, tags: Sequence[str]) -> None:
        left = list(tags)
        while left:
            time.sleep(_PAUSE)
            with self._lock:
                left = [tag for tag in left if tag in self._cancelled]
            with suppress(EngineError):
                self._interrupt(left)

    def _interrupt(self, tags: Sequence[str]) -> None:
        with self._errors.translated():
            for tag in tags:
                self._spark.interruptTag(tag)

    def _check_here(self) -> None:
        tag: str | None = getattr(self._here, "tag", None)
        if tag is not None:
            self._check(tag)

    def _check(self, tag: str) -> None:
        if self._cancelled[tag]:
            raise CancelledError()

    def _begin(self) -> str:
        tag = f"dbt-vcs-{uuid.uuid4().hex}"
        with self._lock:
            if self._closed:
                raise EngineError("This session is closed; open another one.")
            self._cancelled[tag] = False
        self._here.tag = tag
        return tag

    def _end(self, tag: str) -> None:
        self._here.tag = None
        with self._lock:
            del self._cancelled[tag]
