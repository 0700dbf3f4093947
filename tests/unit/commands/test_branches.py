import pytest

from dbt.adapters.vcs.commands.branch import create_branch, delete_branch, list_branches
from dbt.adapters.vcs.core.errors import ConflictError, InputError, NotFoundError
from dbt.adapters.vcs.workspace.run_branch import Status
from tests.unit.warehouse import Warehouse


def test_a_branch_says_how_far_it_is_from_the_default_one(warehouse: Warehouse) -> None:
    warehouse.put(a="1")
    warehouse.branch("feature")
    warehouse.put("feature", b="1")
    warehouse.put("feature", b="2", message="Mend b\n\nIt was wrong.")
    warehouse.put(a="2")
    feature, main = list_branches(warehouse.repository)
    assert (feature.name, feature.ahead, feature.behind) == ("feature", 2, 1)
    assert (feature.summary, feature.author, feature.is_default) == ("Mend b", "ann", False)
    assert (main.name, main.ahead, main.behind, main.is_default) == ("main", 0, 0, True)
    assert feature.head == warehouse.head("feature")


def test_the_branches_of_runs_are_hidden_unless_asked_for(warehouse: Warehouse) -> None:
    warehouse.run("r1", Status.FAILED, a="1")
    assert [b.name for b in list_branches(warehouse.repository)] == ["main"]
    found = list_branches(warehouse.repository, with_runs=True)
    assert [(b.name, b.is_run) for b in found] == [("main", False), ("runs/r1", True)]


def test_many_branches_keep_their_order(warehouse: Warehouse) -> None:
    for number in range(40):
        warehouse.branch(f"b{number:02}")
    assert [b.name for b in list_branches(warehouse.repository)] == [
        *(f"b{number:02}" for number in range(40)),
        "main",
    ]


def test_a_branch_starts_at_the_default_branch_or_where_told(warehouse: Warehouse) -> None:
    first = warehouse.put(a="1")
    second = warehouse.put(a="2")
    assert create_branch(warehouse.repository, "x", author="bob").head == second
    assert create_branch(warehouse.repository, "y", "main~1", author="bob").head == first
    assert warehouse.repository.branch("y").ref.move.by == "bob"
    with pytest.raises(InputError, match="already a branch 'x'"):
        create_branch(warehouse.repository, "x", author="bob")
    with pytest.raises(NotFoundError, match="nope"):
        create_branch(warehouse.repository, "z", "nope", author="bob")


def test_names_of_runs_are_kept_for_runs(warehouse: Warehouse) -> None:
    with pytest.raises(InputError, match="runs/ is where dbt runs keep"):
        create_branch(warehouse.repository, "runs/mine", author="bob")


@pytest.mark.parametrize(
    "status", [Status.FAILED, Status.INTERRUPTED, Status.OPEN, Status.RESUMED]
)
def test_a_run_that_did_not_succeed_is_not_forked_unnoticed(
    warehouse: Warehouse, status: Status
) -> None:
    warehouse.put(a="1")
    run = warehouse.run("r1", status, b="1", c="1", note="model b failed")
    warehouse.repository.create_tag("t", run.head, author="ann")
    for revision in ("runs/r1", "heads/runs/r1", "runs/r1~0", "runs/r1~1", "t", run.head[:12]):
        with pytest.raises(ConflictError, match=rf"runs/r1 .*{status}: model b failed.*--force"):
            create_branch(warehouse.repository, "x", revision, author="bob")
    # Before the run is no part of it.
    create_branch(warehouse.repository, "before", "runs/r1~2", author="bob")
    made = create_branch(warehouse.repository, "x", "runs/r1", author="bob", force=True)
    assert made.head == run.head
    # Taken with force, it is a branch like others.
    create_branch(warehouse.repository, "y", "x", author="bob")
    create_branch(warehouse.repository, "z", run.head, author="bob")


def test_a_run_that_passed_can_be_forked(warehouse: Warehouse) -> None:
    run = warehouse.run("r1", Status.PASSED, b="1")
    assert create_branch(warehouse.repository, "x", "runs/r1", author="bob").head == run.head


def test_a_deleted_branch_comes_back_where_it_was(warehouse: Warehouse) -> None:
    warehouse.branch("x")
    head = warehouse.put("x", a="1")
    assert delete_branch(warehouse.repository, "x", author="bob") == head
    with pytest.raises(NotFoundError, match="deleted"):
        delete_branch(warehouse.repository, "x", author="bob")
    assert create_branch(warehouse.repository, "x", "x@{1}", author="bob").head == head


def test_the_default_branch_and_runs_at_work_stay(warehouse: Warehouse) -> None:
    warehouse.run("r1", Status.OPEN, a="1")
    with pytest.raises(InputError, match="default branch"):
        delete_branch(warehouse.repository, "main", author="bob")
    with pytest.raises(ConflictError, match="still running"):
        delete_branch(warehouse.repository, "runs/r1", author="bob")
    delete_branch(warehouse.repository, "runs/r1", author="bob", force=True)
    assert warehouse.repository.find_branch("runs/r1") is None
