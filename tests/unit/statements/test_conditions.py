"""Conditions after a relation: whatever their text, none of it escapes into the query."""

import pytest
import sqlglot

from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.sql.syntax.conditions import check_condition, where_clause


@pytest.mark.parametrize("condition", ["flag", "(flag)", "false", "a = 1 or b", "a -- all"])
def test_a_condition_is_no_alias_and_hides_nothing(condition: str) -> None:
    tree = sqlglot.parse_one(f"select * from t {where_clause(condition)} limit 3", dialect="spark")
    assert tree.find(sqlglot.exp.Table).alias == ""
    assert tree.args["where"] is not None
    assert tree.args["limit"] is not None


@pytest.mark.parametrize(
    "condition", ["a) or (b", "", "a; b", "a limit 1", "select 1", "(a", "a, b"]
)
def test_a_text_that_is_not_one_condition_is_refused(condition: str) -> None:
    with pytest.raises(InputError, match="The filter is not one condition"):
        check_condition(condition, "The filter")


@pytest.mark.parametrize("condition", ["a", "(a)", "a in (select 1)", "a = ')' -- so", "f(a, b)"])
def test_a_condition_is_taken(condition: str) -> None:
    check_condition(condition, "The filter")
