"""What a run says at its end of what it took: the same as its record."""

from __future__ import annotations

import pytest

from dbt.adapters.vcs.core.ids import Micros
from dbt.adapters.vcs.core.model import NodeRun
from dbt.adapters.vcs.core.origins.results import Result
from dbt.adapters.vcs.project.node_steps import savings_line, with_savings
from dbt.adapters.vcs.reuse.reuser import Tally

NOTHING = [
    NodeRun(id="saved_query.p.q", status="no-op"),
    NodeRun(id="exposure.p.e", status="no-op"),
]


@pytest.mark.parametrize(
    ("seconds", "computed", "line"),
    [
        (4.25, 0, "Reused: 1 of 1 node, 4.2 s of work saved."),
        (0.0, 0, "Reused: 1 of 1 node, 0.0 s of work saved."),
        (4.25, 1, None),
    ],
)
def test_a_run_says_what_it_saved_unless_that_is_nothing(
    seconds: float, computed: int, line: str | None
) -> None:
    result = Result(kind="table", made_at=Micros(1), seconds=seconds)
    tally = Tally(taken=[result], computed=computed)
    node = with_savings(NodeRun(id="model.p.m", status="success"), tally, "i")
    assert (node.reused is None) == bool(computed)
    assert savings_line([node, *NOTHING]) == line
    assert savings_line(NOTHING) is None


@pytest.mark.parametrize(
    ("invocation", "branch", "where"),
    [("i", "main", "this run"), ("j", "main", "main"), (None, "", "an earlier statement")],
)
def test_what_a_run_computed_itself_comes_from_no_branch(
    invocation: str | None, branch: str, where: str
) -> None:
    result = Result(kind="table", made_at=Micros(1), branch=branch, invocation=invocation)
    tally = Tally(taken=[result])
    assert with_savings(NodeRun(id="model.p.m", status="success"), tally, "i").reused == where
