from typing import Any

import pytest

from dbt.adapters.vcs.core.errors import ConflictError, InputError, NotFoundError
from dbt.adapters.vcs.project.operations import Caller, prepare_operation, statements_of
from dbt.adapters.vcs.sql.syntax.parser import read
from dbt.adapters.vcs.workspace.run_branch import Status
from tests.unit.warehouse import Warehouse


def call(warehouse: Warehouse, verb: str, branch: str = "main", **arguments: Any) -> list[str]:
    caller = Caller(repository=warehouse.repository, author="bob", branch=branch)
    return prepare_operation(caller, verb, arguments)()


def test_branches(warehouse: Warehouse) -> None:
    warehouse.put(a="1", message="First")
    head = warehouse.head()[:12]
    assert call(warehouse, "branch", action="create", name="x", at=None) == [
        f"Created branch x at {head}."
    ]
    assert call(warehouse, "branch") == [
        "   BRANCH  HEAD          AGE       AHEAD  BEHIND  LAST COMMIT",
        f"*  main    {head}  just now      0       0  First",
        f"   x       {head}  just now      0       0  First",
    ]
    assert call(warehouse, "branch", action="delete", name="x") == [
        f"Deleted branch x, which was at {head}.",
        "To restore it: dbt-vcs branch undelete x",
    ]


def test_tags(warehouse: Warehouse) -> None:
    head = warehouse.head()[:12]
    assert call(warehouse, "tag") == ["There are no tags."]
    assert call(warehouse, "tag", action="create", name="v1", note="release") == [
        f"Created tag v1 at {head}."
    ]
    assert call(warehouse, "tag")[1] == f"  v1   {head}  just now  release"
    assert call(warehouse, "tag", action="delete", name="v1") == [
        f"Deleted tag v1, which was at {head}."
    ]


def test_log_and_show_mean_the_branch_of_the_target(warehouse: Warehouse) -> None:
    warehouse.branch("dev")
    warehouse.put("dev", a="1", message="On dev")
    assert "On dev" in call(warehouse, "log", branch="dev", limit="1")[0]
    assert len(call(warehouse, "log", branch="dev")) == 2
    assert len(call(warehouse, "log", branch="dev", relation="shop.a")) == 1
    shown = call(warehouse, "show", branch="dev")
    assert "    On dev" in shown
    assert "  added    table  shop.a  +10 -0 ~0" in shown


def test_status(warehouse: Warehouse) -> None:
    warehouse.put(a="1")
    lines = call(warehouse, "status")
    assert "1 branch, 0 tags, the default branch is main" in lines[1]
    assert "1 schema, 1 table, 0 views, 10 rows, 100 B" in lines[3]
    warehouse.run("r1", Status.FAILED, note="model b failed")
    assert "model b failed" in call(warehouse, "status")[-1]
    assert "does not exist yet" in call(warehouse, "status", branch="dev")[2]


def test_merge_is_into_the_branch_of_the_target_unless_told(warehouse: Warehouse) -> None:
    warehouse.branch("dev")
    warehouse.put(a="1")
    lines = call(warehouse, "merge", branch="dev", source="main", dry_run=True)
    assert lines[0].startswith("Would merge main into dev, fast-forward: ")
    assert warehouse.head("dev") != warehouse.head()
    said = call(warehouse, "merge", source="main", target="dev")
    assert said[-1] == "1 relation, +10 -0 ~0 rows"
    assert warehouse.head("dev") == warehouse.head()
    warehouse.put("dev", a="2")
    warehouse.put(a="3")
    for dry_run in (True, False):
        with pytest.raises(ConflictError, match=r"shop\.a"):
            call(warehouse, "merge", source="dev", dry_run=dry_run)


def test_runs(warehouse: Warehouse) -> None:
    assert call(warehouse, "runs") == ["There are no runs with a branch."]
    warehouse.run("r1", Status.PASSED, a="1")
    warehouse.run("r2", Status.FAILED, b="1")
    assert len(call(warehouse, "runs")) == 3
    assert call(warehouse, "runs", action="publish", id="r1")[-1] == "1 relation, +10 -0 ~0 rows"
    with pytest.raises(ConflictError, match="failed"):
        call(warehouse, "runs", action="publish", id="r2")
    assert call(warehouse, "runs", action="discard", id="r2") == ["Discarded runs/r2 (failed)."]
    assert call(warehouse, "runs", action="discard", expired=True) == ["No run has expired."]


@pytest.mark.parametrize(
    ("verb", "arguments", "message"),
    [
        ("explode", {}, "no verb 'explode'; expected one of status, log, show"),
        ("fsck", {"x": 1}, "fsck has no argument 'x'; it takes data, sample, seed"),
        ("log", {"x": 1}, "log has no argument 'x'; it takes revision, limit, relation"),
        ("log", {"limit": "many"}, "'limit': 'many' is not a valid integer"),
        ("merge", {}, "Missing argument 'SOURCE'"),
        ("merge", {"source": "main", "force": "yes"}, "expected true or false"),
        ("branch", {"action": "move"}, "no action 'move'; expected one of list, create"),
        ("branch", {"action": "rename", "name": "x"}, "branch rename needs the argument 'to'"),
        ("branch", {"action": "create"}, "branch create needs the argument 'name'"),
        ("branch", {"action": "create", "name": 1.5}, "Put it in quotes"),
        ("tag", {"action": "create", "name": ["a"]}, "Put it in quotes"),
        ("runs", {"action": "discard"}, "Give the runs to discard, or expired: true"),
        ("runs", {"action": "collect"}, "expected one of list, discard, publish"),
    ],
)
def test_wrong_arguments_name_what_is_expected(
    warehouse: Warehouse, verb: str, arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        call(warehouse, verb, **arguments)


def test_a_commit_id_of_digits_alone_may_come_as_a_number(warehouse: Warehouse) -> None:
    with pytest.raises(NotFoundError, match="'12345678'"):
        call(warehouse, "show", revision=12345678)


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("b", ["create table `b` clone `a`"]),
        ("s.b", ["create schema if not exists `s`", "create table `s`.`b` clone `a`"]),
    ],
)
def test_a_clone_in_a_run_takes_names_with_and_without_a_schema(
    target: str, expected: list[str]
) -> None:
    found = statements_of("clone", {"source": "a", "target": target}, "main")
    assert list(found) == expected
    for text in found:
        read(text)
