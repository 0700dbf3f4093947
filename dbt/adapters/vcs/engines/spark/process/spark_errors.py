"""Converts Spark's exceptions: keeps the message, without the JVM's stack."""

from __future__ import annotations

import re
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from dbt.adapters.vcs.core.errors import EngineError, VcsError
from dbt.adapters.vcs.engines.dataframes.spark_messages import statement_error
from dbt.adapters.vcs.engines.engine_errors import MAX_CAUSES, StatementError

_JAVA_CLASS: Final = re.compile(r"^(?:[a-z_][\w$]*\.)+[A-Z][\w$]*(?::\s+|$)")
_NO_ANSWER: Final = re.compile(r"An error occurred while calling \S+")
"""Py4J's message for a call without an answer; for a failure in Java it says more."""


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
