from __future__ import annotations

from itertools import combinations

import pytest

from dbt.adapters.vcs.changes.merges.conflicts.policy import Mode, Policy
from dbt.adapters.vcs.commands.forecast import ForeseenMerge, forecast
from dbt.adapters.vcs.commands.merge import MergeRequest, merge
from dbt.adapters.vcs.core.errors import InputError, NotFoundError
from dbt.adapters.vcs.workspace.run_branch import Status
from tests.unit.commands.test_beside_damage import damaged
from tests.unit.tables import Tables
from tests.unit.warehouse import Warehouse

CLASH = ("shop.t: 1 row changed differently",)


@pytest.fixture
def tables(warehouse: Warehouse) -> Tables:
    """Three branches of one table: a and b update one row differently, c another row."""
    tables = Tables(warehouse)
    block = tables.block({1: "a", 2: "b", 3: "c"})
    base = tables.entry([block], key=True)
    tables.put(t=base)
    for branch, id, value in (("a", 1, "x"), ("b", 1, "y"), ("c", 2, "z")):
        warehouse.branch(branch)
        old = {id - 1: (id, {1: "a", 2: "b"}[id])}
        added = tables.block({id: value})
        changed = tables.entry(
            [block, added], [tables.tombstone(block, old)], parents=[base], key=True
        )
        tables.put(branch, t=changed)
    return tables


def test_branches_are_merged_with_the_target_and_with_each_other(tables: Tables) -> None:
    repository = tables.warehouse.repository
    found = forecast(repository, "main")
    assert found.branches == ("a", "b", "c")
    assert found.checked == 6
    assert found.merges == (ForeseenMerge(source="a", target="b", conflicts=CLASH),)
    # Only what was asked about: one branch, with all others; the target, with each branch.
    assert forecast(repository, "main", "b").merges == (
        ForeseenMerge(source="b", target="a", conflicts=CLASH),
    )
    assert not forecast(repository, "main", "c").merges
    assert forecast(repository, "main", "main").checked == 3
    merge(repository, "b", "main", author="ann")
    assert forecast(repository, "main", "main").merges == (
        ForeseenMerge(source="a", target="main", conflicts=CLASH),
    )


def test_a_forecast_is_what_a_merge_says(tables: Tables) -> None:
    repository = tables.warehouse.repository
    for mode in (None, Mode.SKIP):
        policy = Policy(override=mode)
        foreseen = {
            (m.source, m.target): m.conflicts
            for m in forecast(repository, "main", policy=policy).merges
        }
        for source, target in [*combinations("abc", 2), ("a", "main")]:
            report = merge(
                repository, source, target, MergeRequest(policy=policy, dry_run=True), author="ann"
            )
            assert foreseen.get((source, target), ()) == report.conflicts


def test_a_forecast_leaves_no_file(tables: Tables) -> None:
    repository = tables.warehouse.repository

    def files() -> set[str]:
        folders = repository.blobs.top()
        return {info.path for folder in folders for info in repository.blobs.walk(folder)}

    before = files()
    assert before
    for mode in (None, Mode.ACCEPT):
        forecast(repository, "main", policy=Policy(override=mode))
    assert files() == before


@pytest.mark.parametrize("what", ["move", "commit", "snapshot"])
def test_a_damaged_branch_hides_no_other(tables: Tables, what: str) -> None:
    found = forecast(damaged(tables, "c", "t", what), "main")
    assert ForeseenMerge(source="a", target="b", conflicts=CLASH) in found.merges
    unknown = [(m.source, m.target) for m in found.merges if m.unknown]
    # Without its log it isn't known what to merge; that main is an ancestor needs no table.
    assert bool(found.damaged) == (what == "move")
    expected = {
        "move": [],
        "commit": [("c", "main"), ("a", "c"), ("b", "c")],
        "snapshot": [("a", "c"), ("b", "c")],
    }
    assert unknown == expected[what]


def test_runs_and_names_that_are_no_branch_are_refused(tables: Tables) -> None:
    repository = tables.warehouse.repository
    with pytest.raises(NotFoundError, match="nix"):
        forecast(repository, "main", "nix")
    with pytest.raises(NotFoundError, match="nix"):
        forecast(repository, "nix")
    tables.warehouse.run("r1", Status.PASSED)
    with pytest.raises(InputError, match="dbt run"):
        forecast(repository, "main", "runs/r1")
    assert forecast(repository, "main").branches == ("a", "b", "c")


def test_a_repository_of_one_branch_has_nothing_to_foresee(warehouse: Warehouse) -> None:
    found = forecast(warehouse.repository, "main")
    assert (found.branches, found.checked, found.merges) == ((), 0, ())
