"""The running statements of a session, which another thread may cancel, and how they fail."""

from __future__ import annotations

import logging
import re
import threading
import time
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Final

from dbt.adapters.vcs.core.errors import EngineError, UnsupportedError
from dbt.adapters.vcs.engines.engine_errors import CancelledError, StatementError
from dbt.adapters.vcs.sql.syntax.names import CATALOG

# Seconds between two looks for tasks, and after which tasks that don't end are left alone.
_PAUSE: Final = 0.02
_PATIENCE: Final = 10.0


class StatementJobs(ABC):
    """Runs blocks of code as statements; an engine says how a statement's jobs are marked."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._cancelled: dict[str, bool] = {}
        # By thread: a block is nested only in one that its own thread began.
        self._here = threading.local()
        self._closed = False

    @contextmanager
    def statement(self) -> Iterator[None]:
        """Let all that runs in a block on this thread be one statement, marked once.

        Raises:
            CancelledError: The block failed after `cancel` was called, or `_check` raised it.
            EngineError: The session is closed.
        """
        if self._current() is not None:
            yield
            return
        # Unique in the process, since all engines share Spark's job groups.
        mark = self._begin()
        try:
            with self._marking(mark):
                yield
            self._check()
        except Exception as error:
            self._require_not_cancelled(mark, error)
            raise
        except BaseException:
            # Ctrl-C ends only the wait for Spark's answer; Spark itself goes on.
            self._stop([mark])
            raise
        finally:
            self._end(mark)

    @contextmanager
    def run(self) -> Iterator[None]:
        """Run a block as one statement, or as a part of the one that this thread runs.

        Raises:
            StatementError: Spark failed; the message is Spark's.
            CancelledError: The block failed after `cancel` was called, or `_check` raised it.
            EngineError: The session is closed.
            KeyboardInterrupt: Ctrl-C was pressed, whatever PySpark made of it.
        """
        if self._current() is None:
            with self.statement(), self._told():
                yield
            return
        self._check()
        with self._told():
            yield

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

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Tell of what fails in a block as the engine does, of `cancel` and Ctrl-C as such.

        Also within a statement: who has another way where Spark fails must not take it then.
        """
        try:
            with self._translated():
                yield
        except Exception as error:
            mark = self._current()
            if mark is not None:
                self._require_not_cancelled(mark, error)
            if _is_interrupted(error):
                raise KeyboardInterrupt from error
            raise

    def _require_not_cancelled(self, mark: str, error: Exception) -> None:
        # Whatever Spark made of it: a cancelled job fails with many messages.
        if self._cancelled[mark] and not isinstance(error, CancelledError):
            raise CancelledError() from error

    @abstractmethod
    def _translated(self) -> AbstractContextManager[None]:
        """Return a block within which Spark's errors become the engine's."""

    @abstractmethod
    def _marking(self, mark: str) -> AbstractContextManager[None]:
        """Return a block whose jobs Spark knows by a mark; what fails in it is passed on."""

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


def silence_echoes() -> None:
    """Silence PySpark's loggers that print every exception with its stack before it is raised."""
    from pyspark.logger import PySparkLogger

    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        PySparkLogger.getLogger(name).setLevel(logging.CRITICAL)


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


_MAX_LINES: Final = 40
_MAX_CHARS: Final = 8_000
_CONDITION: Final = re.compile(r"\[([A-Z][A-Z0-9_]*(?:\.[A-Z0-9_]+)*)\]")
# Lines of a message from which on it is for developers.
_STACK: Final = re.compile(r"^\s*at [\w.$/<>]+\(|^\s*\.\.\. \d+ more|^(?:JVM|Driver) stacktrace")
_NO_METADATA: Final = re.compile(r"\[UNRESOLVED_COLUMN.*`_metadata`", re.DOTALL)
_NO_MEMORY: Final = re.compile(r"Java heap space|GC overhead limit exceeded")
# Our own added columns among the columns that Spark suggests.
_OURS: Final = re.compile(r"`__vcs_\w*`, |, `__vcs_\w*`")

_TRACEBACK: Final = (
    "An exception was thrown from the Python worker: Traceback (most recent call last):\n"
)
_UNREADABLE: Final = re.compile(r"\[FAILED_READ_FILE|page integrity|not a Parquet file")
# What Spark advises then doesn't help, since a version's files never change.
_GONE: Final = re.compile(
    r"(\[FAILED_READ_FILE\.FILE_NOT_EXIST\][^\n]*?does not exist\.).*", re.DOTALL
)

_S3_MISSING: Final = re.compile(r"S3AFileSystem not found|No FileSystem for scheme \"?s3")


def statement_error(said: Sequence[str]) -> StatementError:
    """Return the error for the messages of an exception and its causes, outermost first."""
    # The innermost message with a name is the most exact; the others wrap it.
    with_condition = [text for text in said if _CONDITION.match(text)]
    message = _first_lines(with_condition[-1] if with_condition else said[0])
    cause = _first_lines(said[-1])
    if cause not in message:
        message += f"\nCause: {cause}"
    message = _python_first(_OURS.sub("", message))
    if _S3_MISSING.search(message):
        message += (
            "\nSpark was started without Hadoop's S3 file system: set spark.jars.packages to "
            "org.apache.hadoop:hadoop-aws:<the version of the hadoop-client-api jar of Spark>, or "
            "leave it out where dbt-vcs starts Spark, and it is added."
        )
    if _NO_METADATA.search(message):
        message += (
            "\nA versioned table has no column _metadata, since its rows may move to other files. "
            "In a query, input_file_name() returns the current file of a row."
        )
    if _NO_MEMORY.search(message):
        message += "\nGive Spark more memory: spark.driver.memory."
    if _GONE.match(message):
        message = _GONE.sub(r"\1", message) + (
            "\nIf the file is one of the repository's, its version was collected, or something "
            "else deleted it: restore it from a backup. To find all such files: dbt-vcs fsck "
            "--data. To see what can be done: dbt-vcs repair"
        )
    elif _UNREADABLE.search(message):
        message += (
            "\nIf the file is one of the repository's, it is damaged. To find all such files: "
            "dbt-vcs fsck --data. To see what can be done: dbt-vcs repair --data"
        )
    found = _CONDITION.match(message)
    return StatementError(message, found[1] if found else None)


@contextmanager
def renamed(private: str, shown: str) -> Iterator[None]:
    """Replace an internal relation name in errors by the name that the user knows."""
    try:
        yield
    except (StatementError, UnsupportedError) as error:
        message = str(error)
        # Others pass as they are, with their traceback.
        if private not in message:
            raise
        message = message.replace(f"`{CATALOG}`.{private}", shown).replace(private, shown)
        if isinstance(error, StatementError):
            raise StatementError(message, error.condition, error.sent) from error.__cause__
        raise UnsupportedError(message) from error.__cause__


@contextmanager
def reworded(own_words: Callable[[str], str]) -> Iterator[None]:
    """Replace a session's own names in the errors of a block."""
    try:
        yield
    except StatementError as error:
        message = own_words(str(error))
        if message == str(error):
            raise
        raise StatementError(message, error.condition, error.sent) from error.__cause__


def _python_first(message: str) -> str:
    """Return a message with the user's Python error first, then the lines that led to it."""
    condition, found, rest = message.partition(_TRACEBACK)
    if not found:
        return message
    lines = [line for line in rest.splitlines() if not line.lstrip().startswith("SQLSTATE")]
    said = [line for line in lines if not line.startswith("  ")]
    stack = [line for line in lines if line.startswith("  ")]
    return condition + "\n".join([*said, *stack])


def _first_lines(text: str) -> str:
    """Return the part of a message meant for people: no stack, limited in length."""
    kept: list[str] = []
    for line in text.strip().splitlines():
        if _STACK.match(line):
            break
        kept.append(line.rstrip())
    message = "\n".join(kept[:_MAX_LINES]).strip()
    return message[:_MAX_CHARS] or "Spark failed without a message."
