"""What Spark says in an error, told to people: its message without stacks, with the next step."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from dbt.adapters.vcs.core.errors import UnsupportedError
from dbt.adapters.vcs.engines.engine_errors import StatementError

_MAX_LINES: Final = 40
_MAX_CHARS: Final = 8_000
_CONDITION: Final = re.compile(r"\[([A-Z][A-Z0-9_]*(?:\.[A-Z0-9_]+)*)\]")
_STACK: Final = re.compile(r"^\s*at [\w.$/<>]+\(|^\s*\.\.\. \d+ more|^(?:JVM|Driver) stacktrace")
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


def statement_error(said: Sequence[str]) -> StatementError:
    """Return the error for the messages of an exception and its causes, outermost first."""
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
