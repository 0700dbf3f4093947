"""What is said of a relation that isn't there."""

from __future__ import annotations

import pytest

from dbt.adapters.vcs.core.model import Origin
from dbt.adapters.vcs.engines.engine_errors import StatementError
from dbt.adapters.vcs.workspace.lines.dispatch import similar_names
from tests.unit.shelf import Shelf

SPARKS = """[TABLE_OR_VIEW_NOT_FOUND] The table or view {} cannot be found. Verify the spelling.
Search path: [`system`.`builtin`, `spark_catalog`.`s`].
To tolerate the error on drop use DROP VIEW IF EXISTS. SQLSTATE: 42P01; line 1 pos 15"""


def told(name: str, condition: str = "TABLE_OR_VIEW_NOT_FOUND") -> str:
    shelf = Shelf()
    shelf.run("create table s.orders (id bigint)")
    scope = shelf.connection.scope("", shelf.begin(), Origin())
    with pytest.raises(StatementError) as caught, similar_names(scope):
        raise StatementError(SPARKS.format(name), condition) from ValueError("java")
    assert isinstance(caught.value.__cause__, ValueError)
    return str(caught.value)


@pytest.mark.parametrize(
    ("name", "shown", "hint"),
    [
        ("`s`.`ordesr`", "s.ordesr", "Did you mean s.orders?"),
        ("`spark_catalog`.`s`.`ordesr`", "s.ordesr", "Did you mean s.orders?"),
        ("`orders2`", "s.orders2", "Did you mean s.orders?"),
        ("`nowhere`.`x`", "nowhere.x", "The schemas are: s."),
        ("`s`.`something else`", "s.something else", "refer to it by ref()"),
    ],
)
def test_names_like_it_are_told(name: str, shown: str, hint: str) -> None:
    message = told(name)
    assert message.startswith(f"[TABLE_OR_VIEW_NOT_FOUND] There is no table or view {shown} here.")
    assert hint in message
    assert message.endswith("It is read in line 1 pos 15.")
    assert "Search path" not in message


def test_other_errors_stay_as_they_are() -> None:
    assert told("`s`.`ordesr`", "OTHER") == SPARKS.format("`s`.`ordesr`")
