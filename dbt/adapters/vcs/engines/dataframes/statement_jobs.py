"""The running statements of a session, which another thread may cancel."""

from __future__ import annotations

import threading
import time
import uuid
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Final

from dbt.adapters.vcs.core.errors import EngineError
from dbt.adapters.vcs.engines.engine_errors import CancelledError

_PAUSE: Final = 0.02
_PATIENCE: Final = 10.0
"""Seconds between two looks for tasks, and after which tasks that don't end are left alone."""


class StatementJobs(ABC):
    """Runs blocks of code as statements; an engine says how a statement's jobs are marked."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._cancelled: dict[str, bool] = {}
        self._here = threading.local()
        self._closed = False

    @contextmanager
    def run(self) -> Iterator[None]:
        """Run a block as one statement; nested blocks are part of the same statement.

        Raises:
            StatementError: Spark failed; the message is Spark's.
            CancelledError: The block failed after `cancel` was called, or `_check` raised it.
            EngineError: The session is closed.
            KeyboardInterrupt: Ctrl-C was pressed, whatever PySpark made of it.
        """
        mark = self._current()
        if mark is not None:
            self._check()
            with self._translated():
                yield
            return
        mark = self._begin()
        try:
            with self._translated(), self._marked(mark):
                yield
            self._check()
        except Exception as error:
            if self._cancelled[mark]:
                raise CancelledError() from error
            if _is_interrupted(error):
                self._stop([mark])
                raise KeyboardInterrupt from error
            raise
        except BaseException:
            # Ctrl-C ends only the wait for Spark's answer; Spark itself goes on.
            self._stop([mark])
            raise
        finally:
            self._end(mark)

    def cancel(self) -> None:
        """Cancel every running statement; later ones are not affected."""
        with self._lock:
            marks = list(self._cancelled)
            for mark in marks:
                self._cancelled[mark] = True
        if marks:
            self._stop(marks)

    def close(self) -> None:
        """Cancel running statements and refuse further ones."""
        with self._lock:
            self._closed = True
        self.cancel()

    def wind_down(self, error: BaseException) -> None:
        """Wait a while for the tasks of this thread's statement, which an error has ended.

        Spark says that a job has failed before its tasks have ended, and they may still make
        files. What an interruption leaves running is stopped first.
        """
        mark = self._current()
        if mark is None:
            return
        if not isinstance(error, Exception):
            self._stop([mark])
        end = time.monotonic() + _PATIENCE
        while self._has_tasks(mark) and time.monotonic() < end:
            time.sleep(_PAUSE)

    def require_running(self) -> None:
        """Require that this thread's statement, if it has one, was not cancelled.

        Raises:
            CancelledError: It was.
        """
        mark = self._current()
        if mark is not None and self._cancelled[mark]:
            raise CancelledError()

    @abstractmethod
    def _translated(self) -> AbstractContextManager[None]:
        """Return a block within which Spark's errors become the engine's."""

    @abstractmethod
    def _marked(self, mark: str) -> AbstractContextManager[None]:
        """Return a block whose jobs Spark knows by a mark."""

    @abstractmethod
    def _stop(self, marks: Sequence[str]) -> None:
        """Stop the jobs that have one of some marks."""

    @abstractmethod
    def _has_tasks(self, mark: str) -> bool:
        """Return whether tasks of a mark's jobs run, as far as can be seen from here."""

    @abstractmethod
    def _check(self) -> None:
        """Look whether this thread's statement may go on: before nested blocks, and at its end."""

    def _current(self) -> str | None:
        mark: str | None = getattr(self._here, "mark", None)
        return mark

    def _begin(self) -> str:
        mark = f"dbt-vcs-{uuid.uuid4().hex}"
        with self._lock:
            if self._closed:
                raise EngineError("This session is closed; open another one.")
            self._cancelled[mark] = False
        self._here.mark = mark
        return mark

    def _end(self, mark: str) -> None:
        self._here.mark = None
        with self._lock:
            del self._cancelled[mark]


def _is_interrupted(error: BaseException | None) -> bool:
    """Return whether an error was raised on the way out of a block that Ctrl-C ended.

    PySpark cancels all jobs at Ctrl-C, and then reads their results once more: the error that it
    finds there hides the interruption.
    """
    while error is not None:
        if isinstance(error, KeyboardInterrupt):
            return True
        error = error.__context__
    return False
