"""Where the expression of a time ends, and which are computed."""

import pytest

from dbt.adapters.vcs.statements.syntax.computed import computed_times, is_kept
from dbt.adapters.vcs.statements.syntax.lexer import tokenize


def found(text: str) -> list[str]:
    return [text[place.start : place.end] for place in computed_times(tokenize(text))]


@pytest.mark.parametrize(
    "expression",
    [
        "current_timestamp()",
        "current_timestamp",
        "now() - interval 1 day",
        "now() - interval '1' day",
        "now() - interval '1 day'",
        "now() - interval 1 day 2 hours - interval -3 minutes",
        "now() - interval '1 02:03:04' day to second",
        "date_sub(current_date(), 7)",
        "timestamp '2026-01-01' + interval 1 hour",
        "('2026-01-01')",
        "cast('2026-' || '01-01' as timestamp)",
        "since",
        "system.session.since",
    ],
)
@pytest.mark.parametrize("behind", ["", " as x where x.a > 1", " x", " join u on true", ") as s"])
def test_the_expression_of_a_time_ends_where_the_query_goes_on(
    expression: str, behind: str
) -> None:
    assert found(f"select * from t timestamp as of {expression}{behind}") == [expression]
    assert found(f"select * from t for system_time as of {expression}{behind}") == [expression]


@pytest.mark.parametrize(
    "text",
    [
        "select * from t timestamp as of '2026-01-01'",
        "select * from t timestamp as of timestamp '2026-01-01' x",
        "select * from t timestamp as of cast('2026-01-01' as date)",
        "select timestamp as of from t",
        "select a, timestamp as of, b from t",
        "select 't timestamp as of now()'",
        "select * from t version as of 3",
    ],
)
def test_what_is_written_out_is_not_computed(text: str) -> None:
    assert found(text) == []


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("create view v as select 1", True),
        ("create or replace view v as select 1", True),
        ("alter view v as select 1", True),
        ("create function f() returns int return 1", True),
        ("create table view as select 1", False),
        ("create or replace temporary view v as select 1", True),
        ("select 1", False),
    ],
)
def test_views_and_functions_are_kept(text: str, kept: bool) -> None:
    assert is_kept(tokenize(text)) is kept
