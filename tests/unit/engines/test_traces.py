"""What the log keeps of an error, for who has to look closer."""

from dbt.adapters.vcs.engines.errors import SparkError, trace_of


class FromJava(Exception):
    """As PySpark keeps what Java told."""

    _stackTrace = "java.lang.ArithmeticException\n\tat org.apache.spark.Some.thing"


def test_both_stacks_are_kept() -> None:
    try:
        try:
            raise FromJava("divided by zero")
        except FromJava as error:
            raise SparkError("Division by zero.") from error
    except SparkError as error:
        text = trace_of(error)
    assert "test_traces.py" in text
    assert "SparkError: Division by zero." in text
    assert text.endswith(
        "Java's stack:\njava.lang.ArithmeticException\n\tat org.apache.spark.Some.thing"
    )


def test_an_error_without_java_has_pythons() -> None:
    error = ValueError("no")
    assert trace_of(error) == "ValueError: no\n"
