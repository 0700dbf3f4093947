"""The statements of a session on a server: tags by which they are cancelled, and their errors."""

from __future__ import annotations

import re
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import TYPE_CHECKING, Any, Final

from dbt.adapters.vcs.core.errors import EngineError, VcsError
from dbt.adapters.vcs.core.failures import without_secrets
from dbt.adapters.vcs.engines.dataframes.statement_jobs import (
    StatementJobs,
    reworded,
    statement_error,
)
from dbt.adapters.vcs.engines.engine_errors import MAX_CAUSES
from dbt.adapters.vcs.engines.methods import ServerAddress

if TYPE_CHECKING:
    from pyspark.sql.connect.session import SparkSession

# Seconds between two attempts to interrupt a statement.
_PAUSE: Final = 2.0


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
        # The client got its gate before there were statements.
        gate.check = self.require_running
        self._spark = spark
        self.errors = errors

    def _translated(self) -> AbstractContextManager[None]:
        return self.errors.translated()

    @contextmanager
    def _marking(self, mark: str) -> Iterator[None]:
        with self._translated():
            self._spark.addTag(mark)
        try:
            yield
        finally:
            with self._translated():
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


_STACK: Final = re.compile(r"\n+JVM stacktrace:\n.*", re.DOTALL)
# The plan that Spark prints after the position of an error.
_PLAN: Final = re.compile(r"(?<=pos \d);\n.*|(?<=pos \d\d);\n.*|(?<=pos \d\d\d);\n.*", re.DOTALL)
_CAUSE: Final = re.compile(r"^Caused by: (?:[\w$]+\.)*[\w$]+: (.*?)(?=\n\tat |\nCaused by: |\Z)")
_WORKER: Final = re.compile(
    r"\A\s*An exception was thrown from the Python worker\. Please see the stack trace below\.\n"
)
_REASON: Final = re.compile(r"\A\((?:[\w$]+\.)+[\w$]+\) ")
# A server forgets a session after an hour of silence, or when it starts again.
_GONE: Final = re.compile(r"INVALID_HANDLE\.SESSION|SESSION_NOT_FOUND|SESSION_CLOSED")
_REFUSED: Final = ("UNAUTHENTICATED", "PERMISSION_DENIED")


class ServerErrors:
    """Errors of one server, in the words of its users."""

    def __init__(self, server: ServerAddress, own_words: Callable[[str], str]) -> None:
        """Take the server, and a function that replaces internal names in a message."""
        self._server = server
        self._own_words = own_words

    @contextmanager
    def translated(self) -> Iterator[None]:
        """Convert exceptions of PySpark and gRPC inside the block into ours.

        Raises:
            StatementError: The server refused or failed to run a statement.
            EngineError: There is no server, it knows the session no more, or it refused the
                caller.
        """
        try:
            with reworded(self._own_words):
                yield
        except VcsError:
            raise
        except Exception as error:
            if type(error).__module__.partition(".")[0] not in ("pyspark", "grpc"):
                raise
            raise self._engine_error(error) from error

    def words_of(self, error: Exception) -> str:
        """Return an exception's message; the server's without stack and class."""
        if type(error).__module__.partition(".")[0] in ("pyspark", "grpc"):
            return str(self._engine_error(error))
        return "".join(traceback.format_exception_only(error)).strip()

    def _engine_error(self, error: Any) -> EngineError:
        code = _code(error)
        # It may quote the address, with the token in it.
        text = without_secrets(str(error).partition("\n")[0], [self._server.token])
        if code in _REFUSED:
            return EngineError(
                f"The Spark Connect server at {self._server} refused the caller ({code}). Check "
                "token and user in the profile."
            )
        if code == "UNAVAILABLE":
            return EngineError(
                f"The Spark Connect server at {self._server} does not answer. Check host, port "
                "and use_ssl in the profile, and that the server runs."
            )
        if _GONE.search(str(error)):
            return EngineError(
                f"The Spark Connect server at {self._server} no longer knows this session: it was "
                f"idle for too long, or the server was restarted. Run the command again. ({text})"
            )
        said = [self._own_words(item) for item in _chain(error)]
        token = self._server.token
        return statement_error([item.replace(token, "***") if token else item for item in said])


def _code(error: Any) -> str:
    """Return the name of gRPC's status; empty if there is none."""
    # PySpark's exceptions have the one, gRPC's the other.
    for name in ("getGrpcStatusCode", "code"):
        found = getattr(error, name, None)
        if callable(found):
            return str(getattr(found(), "name", ""))
    return ""


def _chain(error: Any) -> list[str]:
    """Return the messages of an exception and its causes, outermost first."""
    message = _WORKER.sub("", _REASON.sub("", str(error))).strip()
    found = [_PLAN.sub("", _STACK.sub("", message)).strip()]
    getter = getattr(error, "getStackTrace", None)
    stack = (getter() if callable(getter) else None) or ""
    # Only the text of the stack has the causes.
    for part in re.split(r"\n(?=Caused by: )", stack)[1:MAX_CAUSES]:
        cause = re.match(_CAUSE.pattern, part, re.DOTALL)
        if cause is not None and cause[1].strip():
            found.append(cause[1].strip())
    return found
