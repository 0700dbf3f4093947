"""Exceptions become a message for the user and stacks for the log."""

import pytest

from dbt.adapters.vcs.engines.engine_errors import StatementError, trace_of
from dbt.adapters.vcs.engines.spark.jobs import translated, words_of

PYTHON = """[PYTHON_EXCEPTION] An exception was thrown from the Python worker: \
Traceback (most recent call last):
  File "<model.py>", line 6, in broken
    return codes[name]
KeyError: 'n0'
 SQLSTATE: 38000"""
SUGGESTED = "[UNRESOLVED_COLUMN.WITH_SUGGESTION] no `x`. Did you mean [{}]?"


class FromJava(Exception):
    """An error as PySpark keeps it from Java."""

    __module__ = "pyspark.errors"
    _stackTrace = "java.lang.ArithmeticException\n\tat org.apache.spark.Some.thing"


def said(text: str) -> str:
    with pytest.raises(StatementError) as caught, translated():
        raise FromJava(text)
    return str(caught.value)


def test_both_stacks_are_kept() -> None:
    try:
        with translated():
            raise FromJava("[DIVIDE_BY_ZERO] Division by zero.")
    except StatementError as error:
        text = trace_of(error)
    assert "test_traces.py" in text
    assert "StatementError: [DIVIDE_BY_ZERO] Division by zero." in text
    assert text.endswith(f"Java's stack:\n{FromJava._stackTrace}")


def test_an_error_without_java_has_pythons() -> None:
    assert trace_of(ValueError("no")) == "ValueError: no\n"


def test_what_python_says_comes_before_where() -> None:
    assert said(PYTHON).splitlines() == [
        "[PYTHON_EXCEPTION] KeyError: 'n0'",
        '  File "<model.py>", line 6, in broken',
        "    return codes[name]",
    ]


@pytest.mark.parametrize(
    "columns", ["`id`, `__vcs_pos`, `__vcs_file`", "`__vcs_pos`, `id`", "`__vcs_file`, `id`"]
)
def test_columns_of_ours_are_not_suggested(columns: str) -> None:
    assert said(SUGGESTED.format(columns)) == SUGGESTED.format("`id`")


def test_the_words_of_spark_have_no_class_before_them() -> None:
    assert words_of(FromJava("[X] no such column\n+- Project")) == "[X] no such column\n+- Project"
    assert words_of(KeyError("b")) == "KeyError: 'b'"
