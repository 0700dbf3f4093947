"""What a run says at its end of what it took."""

from __future__ import annotations

import pytest

from dbt.adapters.vcs.core.ids import Micros
from dbt.adapters.vcs.core.model import NodeRun
from dbt.adapters.vcs.core.origins.results import Result
from dbt.adapters.vcs.project.building.savings import Savings
from dbt.adapters.vcs.reuse.reuser import Taken, Tally


@pytest.mark.parametrize(
    ("seconds", "computed", "line"),
    [
        (4.25, 0, "Reused: 1 of 1 node, 4.2 s of work saved."),
        (0.0, 0, "Reused: 1 of 1 node, 0.0 s of work saved."),
        (4.25, 1, "Reused: 0 of 1 node, 4.2 s of work saved."),
        (0.01, 1, None),
    ],
)
def test_a_run_says_what_it_saved_unless_that_is_nothing(
    seconds: float, computed: int, line: str | None
) -> None:
    result = Result(kind="table", made_at=Micros(1), seconds=seconds)
    savings = Savings()
    assert savings.line() is None
    tally = Tally(taken=[Taken("k", result)], computed=computed)
    node = savings.noted(NodeRun(id="model.p.m", status="success"), tally)
    assert (node.reused is None) == bool(computed)
    assert savings.line() == line
