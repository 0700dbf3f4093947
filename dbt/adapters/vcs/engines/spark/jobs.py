"""The statements of a session here: job groups by which they are cancelled, and their errors."""

from __future__ import annotations

import re
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, Final, cast

from dbt.adapters.vcs.core.errors import EngineError, VcsError
from dbt.adapters.vcs.engines.dataframes.statement_jobs import StatementJobs, statement_error
from dbt.adapters.vcs.engines.engine_errors import MAX_CAUSES, StatementError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SESSIONS: Final = "org.apache.spark.sql.classic.SparkSession"
# The job group of this thread as its statement set it, with the description.
_HERE: Final = threading.local()


class Jobs(StatementJobs):
    """Statements as job groups of a Spark context, each with its session the active one."""

    def __init__(
        self,
        spark: SparkSession,
        label: str,
        in_own_words: Callable[[], AbstractContextManager[None]] | None = None,
    ) -> None:
        """Take a session; `in_own_words` translates errors, if not as `translated` does."""
        super().__init__()
        self._spark = spark
        self._context = spark.sparkContext
        self._label = label
        self._in_own_words = in_own_words or translated

    def _translated(self) -> AbstractContextManager[None]:
        return self._in_own_words()

    @contextmanager
    def _marking(self, mark: str) -> Iterator[None]:
        # Another session of this thread may be in the midst of a statement.
        outer: tuple[str, str] | None = getattr(_HERE, "group", None)
        with translated():
            self._context.setJobGroup(mark, self._label, interruptOnCancel=True)
            before = _activate(self._spark)
        _HERE.group = (mark, self._label)
        try:
            yield
        finally:
            _HERE.group = outer
            with translated():
                _reactivate(self._spark, *before)
                if outer is None:
                    self._context._jsc.clearJobGroup()
                else:
                    self._context.setJobGroup(*outer, interruptOnCancel=True)

    def _check(self) -> None:
        """Do nothing: Spark refuses the later jobs of a cancelled group itself."""

    def _stop(self, marks: Sequence[str]) -> None:
        java: Any = self._context._jsc
        # Spark may have been stopped meanwhile, and its jobs with it.
        if java is not None:
            for mark in marks:
                # A statement is several jobs: one that starts right after the others were
                # cancelled must not run.
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


def _activate(spark: SparkSession) -> tuple[Any, Any]:
    """Make a session the active one of this thread.

    What parses a text or resolves a plan takes its settings from the thread's active session, and
    without one from Spark's defaults. Only some of Spark's own methods make theirs the active one.

    Returns:
        What has to be put back: the thread's active session, as Java has it, and PySpark's one of
        the process.
    """
    from pyspark.sql import SparkSession

    of_class = _methods(spark)
    before = of_class("getActiveSession")(), SparkSession._instantiatedSession
    of_class("setActiveSession")(spark._jsparkSession)
    return before


def _reactivate(spark: SparkSession, active: Any, known: Any) -> None:
    from pyspark.sql import SparkSession

    of_class, own = _methods(spark), cast("Any", spark._jsparkSession)
    made: Any = SparkSession._instantiatedSession
    if made is not None and made is not known and own.equals(made._jsparkSession):
        # PySpark makes the active session the whole process's, if the process has none.
        SparkSession._instantiatedSession = SparkSession._activeSession = None
        of_class("clearDefaultSession")()
    if active.isDefined():
        of_class("setActiveSession")(active.get())
    else:
        of_class("clearActiveSession")()


def _methods(spark: SparkSession) -> Callable[[str], Any]:
    """Return what gives a method of the class of sessions by its name."""
    gateway: Any = spark.sparkContext._gateway
    return partial(_of_class, gateway._gateway_client)


@lru_cache(maxsize=8)
def _of_class(client: Any, name: str) -> Any:
    """Return a method of the class of sessions: to look one up is a call of Java, too."""
    from py4j.java_gateway import JavaClass

    return getattr(JavaClass(_SESSIONS, client), name)


_JAVA_CLASS: Final = re.compile(r"^(?:[a-z_][\w$]*\.)+[A-Z][\w$]*(?::\s+|$)")
# Py4J's message for a call without an answer; for a failure in Java it says more.
_NO_ANSWER: Final = re.compile(r"An error occurred while calling \S+")


@contextmanager
def translated() -> Iterator[None]:
    """Convert exceptions of PySpark and Py4J inside the block into StatementError."""
    try:
        yield
    except VcsError:
        raise
    except Exception as error:
        if _is_lost(error):
            raise EngineError(
                "Spark's process is gone: it was killed or ran out of memory. Give it more "
                "(spark.driver.memory), then start again."
            ) from error
        if type(error).__module__.partition(".")[0] not in ("pyspark", "py4j"):
            raise
        raise _spark_error(error) from error


def words_of(error: Exception) -> str:
    """Return an exception's message; Spark's as `translated` does, without the class."""
    if type(error).__module__.partition(".")[0] in ("pyspark", "py4j"):
        return str(_spark_error(error))
    return "".join(traceback.format_exception_only(error)).strip()


def _is_lost(error: Exception) -> bool:
    """Return whether an exception means that the JVM does not answer."""
    # By name, so that py4j need not be imported.
    if isinstance(error, ConnectionError) or type(error).__name__ == "Py4JNetworkError":
        return True
    return type(error).__name__ == "Py4JError" and bool(_NO_ANSWER.fullmatch(str(error)))


def _spark_error(error: Any) -> StatementError:
    java = getattr(error, "_origin", None) or getattr(error, "java_exception", None)
    return statement_error(_chain(java) or [getattr(error, "_desc", None) or str(error)])


def _chain(java: Any) -> list[str]:
    """Return the non-empty messages of an exception and its causes, outermost first."""
    found: list[str] = []
    for _ in range(MAX_CAUSES):
        if java is None:
            break
        text = _message(java)
        if text:
            found.append(text)
        java = java.getCause()
    return found


def _message(java: Any) -> str:
    """Return an exception's message; for an analysis error without the trailing plan."""
    name = java.getClass().getSimpleName()
    if name.endswith("AnalysisException"):
        return str(java.getSimpleMessage() or "")
    return _JAVA_CLASS.sub("", str(java.getMessage() or java.toString() or "").strip())
