"""Spark's exceptions as ours: its own first words, without the stack of the JVM."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from dbt.adapters.vcs.core.errors import EngineError, VcsError

_MAX_LINES: Final = 40
_MAX_CHARS: Final = 8_000
_CONDITION: Final = re.compile(r"\[([A-Z][A-Z0-9_]*(?:\.[A-Z0-9_]+)*)\]")
_JAVA_CLASS: Final = re.compile(r"^(?:[a-z_][\w$]*\.)+[A-Z][\w$]*(?:: |$)")
_PLAN_LINE: Final = re.compile(r"^\s*(?:'[A-Z]|\+- |:- |:  )|^[A-Z]\w+ (?:\[|`)|^[A-Z]\w+$")
_STACK_LINE: Final = re.compile(r"^\s*(?:at [\w.$/]+\(|\.\.\. \d+ more)")
_CANCELLED: Final = re.compile(r"SPARK_JOB_CANCELLED|cancelled|INTERRUPTED|InterruptedException")


class SparkError(EngineError):
    """Spark failed; the message is its own.

    Attributes:
        condition: Spark's error condition, such as `TABLE_OR_VIEW_NOT_FOUND`, or None.
    """

    def __init__(self, message: str, condition: str | None = None) -> None:
        super().__init__(message)
        self.condition = condition


class CancelledError(SparkError):
    """The statement was cancelled."""

    def __init__(self) -> None:
        super().__init__("The statement was cancelled.", "CANCELLED")


@contextmanager
def translated() -> Iterator[None]:
    """Turn what PySpark and Py4J raise inside the block into SparkError."""
    try:
        yield
    except VcsError:
        raise
    except Exception as error:
        if not _is_spark(error):
            raise
        raise spark_error(error) from error


def spark_error(error: BaseException) -> SparkError:
    """Return the error to raise in place of one of PySpark's or Py4J's."""
    described = _describe(error)
    if described is None:
        described = str(error), None
    text, condition = described
    message = _first_lines(text)
    found = _CONDITION.search(message)
    return SparkError(message, condition or (found[1] if found else None))


def is_cancelled(error: BaseException) -> bool:
    """Tell whether an exception of Spark says that its job was cancelled."""
    return bool(_CANCELLED.search(str(error)))


def _is_spark(error: BaseException) -> bool:
    return type(error).__module__.partition(".")[0] in ("pyspark", "py4j")


def _describe(error: Any) -> tuple[str, str | None] | None:
    """Return message and condition: those of the innermost cause that has a condition."""
    java = getattr(error, "_origin", None) or getattr(error, "java_exception", None)
    first: tuple[str, str | None] | None = None
    best: tuple[str, str | None] | None = None
    seen = 0
    while java is not None and seen < 20:
        text = _message(java)
        found = _CONDITION.match(text)
        if first is None or (first[0] == "" and text):
            first = text, found[1] if found else None
        if found:
            best = text, found[1]
        java, seen = java.getCause(), seen + 1
    if best is None and first is None and getattr(error, "_desc", None):
        return str(error._desc), None
    return best or first


def _message(java: Any) -> str:
    simple = getattr(java, "getSimpleMessage", None)
    name = java.getClass().getName()
    if simple is not None and name.startswith("org.apache.spark.sql.") and _is_analysis(java):
        return str(java.getSimpleMessage() or "")
    return str(java.getMessage() or java.toString() or "")


def _is_analysis(java: Any) -> bool:
    kind = java.getClass()
    while kind is not None:
        if kind.getName() == "org.apache.spark.sql.AnalysisException":
            return True
        kind = kind.getSuperclass()
    return False


def _first_lines(text: str) -> str:
    """Return the part of a message that is for a person: no plan, no stack, no class name."""
    kept: list[str] = []
    lines = _JAVA_CLASS.sub("", text.strip()).splitlines()
    for number, line in enumerate(lines):
        if _STACK_LINE.match(line) or line.startswith(("JVM stacktrace", "Driver stacktrace")):
            break
        if number and "SQLSTATE" in lines[0] and _PLAN_LINE.match(line):
            break
        kept.append(line.rstrip())
    message = "\n".join(kept[:_MAX_LINES]).strip()
    return message[:_MAX_CHARS] or "Spark failed without a message."
