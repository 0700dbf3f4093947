"""Converts Spark's exceptions: keeps the message, without the JVM's stack."""

from __future__ import annotations

import re
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from dbt.adapters.vcs.core.errors import EngineError, UnsupportedError, VcsError
from dbt.adapters.vcs.engines.engine_errors import MAX_CAUSES, StatementError

_MAX_LINES: Final = 40
_MAX_CHARS: Final = 8_000
_CONDITION: Final = re.compile(r"\[([A-Z][A-Z0-9_]*(?:\.[A-Z0-9_]+)*)\]")
_JAVA_CLASS: Final = re.compile(r"^(?:[a-z_][\w$]*\.)+[A-Z][\w$]*(?::\s+|$)")
_STACK: Final = re.compile(r"^\s*at [\w.$/<>]+\(|^\s*\.\.\. \d+ more|^(?:JVM|Driver) stacktrace")
_NO_ANSWER: Final = re.compile(r"An error occurred while calling \S+")
"""Py4J's message for a call without an answer; for a failure in Java it says more."""

_NO_METADATA: Final = re.compile(r"\[UNRESOLVED_COLUMN.*`_metadata`", re.DOTALL)
_NO_MEMORY: Final = re.compile(r"Java heap space|GC overhead limit exceeded")
_OURS: Final = re.compile(r"`__vcs_\w*`, |, `__vcs_\w*`")
"""Our own added columns among the columns that Spark suggests."""

_TRACEBACK: Final = (
    "An exception was thrown from the Python worker: Traceback (most recent call last):\n"
)
_UNREADABLE: Final = re.compile(r"\[FAILED_READ_FILE|page integrity|not a Parquet file")
_GONE: Final = re.compile(
    r"(\[FAILED_READ_FILE\.FILE_NOT_EXIST\][^\n]*?does not exist\.).*", re.DOTALL
)
"""What Spark advises then doesn't help, since a version's files never change."""

_S3_MISSING: Final = re.compile(r"S3AFileSystem not found|No FileSystem for scheme \"?s3")


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


@contextmanager
def renamed(private: str, shown: str) -> Iterator[None]:
    """Replace an internal relation name in errors by the name that the user knows."""
    try:
        yield
    except (StatementError, UnsupportedError) as error:
        message = str(error)
        if private not in message:
            raise
        message = message.replace(f"`spark_catalog`.{private}", shown).replace(private, shown)
        if isinstance(error, StatementError):
            raise StatementError(message, error.condition, error.sent) from error.__cause__
        raise UnsupportedError(message) from error.__cause__


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
    said = _chain(java) or [getattr(error, "_desc", None) or str(error)]
    with_condition = [text for text in said if _CONDITION.match(text)]
    message = _first_lines(with_condition[-1] if with_condition else said[0])
    cause = _first_lines(said[-1])
    if cause not in message:
        message += f"\nCause: {cause}"
    message = _python_first(_OURS.sub("", message))
    if _S3_MISSING.search(message):
        message += (
            "\nSpark needs Hadoop's S3 file system: set spark.jars.packages to "
            "org.apache.hadoop:hadoop-aws:<the version of the hadoop-client-api jar of Spark>."
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
            "else deleted it: restore it from a backup. dbt-vcs fsck --data finds all such files, "
            "and dbt-vcs repair shows what can be done."
        )
    elif _UNREADABLE.search(message):
        message += (
            "\nIf the file is one of the repository's, it is damaged: dbt-vcs fsck --data finds "
            "all such files, and dbt-vcs repair shows what can be done."
        )
    found = _CONDITION.match(message)
    return StatementError(message, found[1] if found else None)


def _python_first(message: str) -> str:
    """Return a message with the user's Python error first, then the lines that led to it."""
    condition, found, rest = message.partition(_TRACEBACK)
    if not found:
        return message
    lines = [line for line in rest.splitlines() if not line.lstrip().startswith("SQLSTATE")]
    said = [line for line in lines if not line.startswith("  ")]
    stack = [line for line in lines if line.startswith("  ")]
    return condition + "\n".join([*said, *stack])


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


def _first_lines(text: str) -> str:
    """Return the part of a message meant for people: no stack, limited in length."""
    kept: list[str] = []
    for line in text.strip().splitlines():
        if _STACK.match(line):
            break
        kept.append(line.rstrip())
    message = "\n".join(kept[:_MAX_LINES]).strip()
    return message[:_MAX_CHARS] or "Spark failed without a message."
