from __future__ import annotations

import json
from typing import Any

import pytest

from dbt.adapters.vcs.core.model import NodeRun, Run
from dbt.adapters.vcs.workspace.run_branch import Status
from tests.unit.cli.conftest import Call
from tests.unit.warehouse import Warehouse


def asked(vcs: Call, *arguments: str, code: int = 0) -> Any:
    return json.loads(vcs(*arguments, "--json", code=code).stdout)


def test_branches_come_and_go(vcs: Call, warehouse: Warehouse) -> None:
    first, second = warehouse.put(a="1"), warehouse.put(a="2")
    assert vcs("branch", "create", "x").stdout == f"Created branch x at {second[:12]}.\n"
    vcs("branch", "create", "feature/y", "main~1")
    assert warehouse.head("feature/y") == first
    assert [row["name"] for row in asked(vcs, "branch")] == ["feature/y", "main", "x"]
    assert asked(vcs, "branch", "list")[0] == {
        "name": "feature/y",
        "head": first,
        "author": "ann",
        "committed_at": "2026-11-18T11:06:43Z",
        "summary": "Put a",
        "is_default": False,
        "is_run": False,
        "ahead": 0,
        "behind": 1,
        "is_protected": False,
        "require": [],
    }
    assert "To restore it" in vcs("branch", "delete", "x", "feature/y").stdout
    assert [row["name"] for row in asked(vcs, "branch")] == ["main"]
    assert warehouse.repository.refs.read("heads", "x").move.by == "bob"  # type: ignore[union-attr]


def test_the_branches_of_runs_are_listed_if_asked_for(vcs: Call, warehouse: Warehouse) -> None:
    warehouse.run("r1", Status.FAILED, a="1")
    assert "runs/r1" not in vcs("branch").stdout
    assert "runs/r1" in vcs("branch", "--all").stdout
    assert "runs/r1" in vcs("branch", "list", "-a").stdout


def test_tags_come_and_go(vcs: Call, warehouse: Warehouse) -> None:
    first = warehouse.put(a="1")
    assert asked(vcs, "tag") == []
    vcs("tag", "v1")
    vcs("tag", "v0", "main~1", "-m", "nothing yet")
    vcs("tag", "create", "list", "main")
    found = {row["name"]: row for row in asked(vcs, "tag", "list")}
    assert found["v1"]["commit"] == found["list"]["commit"] == first
    assert found["v0"]["note"] == "nothing yet"
    vcs("tag", "delete", "v0", "list")
    assert [row["name"] for row in asked(vcs, "tag")] == ["v1"]
    assert f"v1   {first[:12]}" in vcs("tag").stdout


def test_the_log(vcs: Call, warehouse: Warehouse) -> None:
    for number in range(25):
        warehouse.put(a=str(number), message=f"Step {number}")
    lines = vcs("log").stdout.splitlines()
    assert len(lines) == 21
    assert lines[0].startswith(f"{warehouse.head()[:12]} (main) Step 24  ann, ")
    assert lines[-1] == "There are older commits: use --limit to show more, or --limit 0 for all."
    assert len(vcs("log", "-n", "0").stdout.splitlines()) == 26
    assert len(vcs("log", "-n", "26").stdout.splitlines()) == 26
    assert [row["message"] for row in asked(vcs, "log", "main~3", "-n", "1")] == ["Step 21"]
    assert len(asked(vcs, "log", "main~3..main")) == 3
    assert len(asked(vcs, "log", "--relation", "shop.a", "-n", "3")) == 3


def test_show(vcs: Call, warehouse: Warehouse) -> None:
    nodes = (
        NodeRun(id="model.shop.a", status="success", seconds=1.25, rows=1234),
        NodeRun(id="test.shop.a", status="warn", seconds=0.5),
    )
    run = Run(
        invocation="i1",
        command="build",
        target="dev",
        dbt_version="1.11",
        git_sha="abc",
        seconds=2.0,
        nodes=nodes,
    )
    warehouse.put(a="1", message="Build\n\nAll of it.", run=run)
    text = vcs("show").stdout
    assert text.startswith(f"commit {warehouse.head()} (main)\nAuthor:  ann\nDate:    2026-11-18 ")
    assert "\n\n    Build\n\n    All of it.\n\n" in text
    assert "Run      dbt build --target dev (i1), dbt 1.11, 2.0s\n" in text
    assert "   model.shop.a  success     1.25  1,234\n" in text
    assert "\n  added    table  shop.a  +10 -0 ~0\n" in text
    found = asked(vcs, "show", "main")
    assert found["run"]["nodes"][0] == {
        "id": "model.shop.a",
        "status": "success",
        "seconds": 1.25,
        "rows": 1234,
    }
    assert found["changes"][1] == {
        "name": "shop.a",
        "kind": "table",
        "how": "added",
        "rows_added": 10,
        "rows_removed": 0,
        "rows_modified": 0,
        "is_exact": True,
        "is_damaged": False,
        "is_redefined": False,
    }
    assert "No relation changed." in vcs("show", "main~1").stdout


def test_show_a_merge_and_a_run(vcs: Call, warehouse: Warehouse) -> None:
    warehouse.branch("x")
    warehouse.put("x", b="1")
    warehouse.put(c="1")
    vcs("merge", "x", "main")
    assert "\nMerge:   " in vcs("show").stdout
    warehouse.run("r1", Status.FAILED, d="1", note="model e failed")
    text = vcs("show", "runs/r1").stdout
    assert "Run      r1 (dbt build) for main is failed: model e failed\n" in text


def test_status(vcs: Call, warehouse: Warehouse) -> None:
    warehouse.put(a="1", v=warehouse.view("select 1"))
    text = vcs("status").stdout
    assert "1 branch, 0 tags, the default branch is main\n" in text
    assert "1 schema, 1 table, 1 view, 10 rows, 100 B\n" in text
    assert "none is running, failed or waiting" in text
    warehouse.run("r1", Status.PASSED, note="waiting to be published")
    found = asked(vcs, "status")
    assert found["contents"] == {
        "schemas": 1,
        "tables": 1,
        "views": 1,
        "functions": 0,
        "rows": 10,
        "bytes": 100,
    }
    assert [run["status"] for run in found["runs"]] == ["passed"]
    assert "waiting to be published" in vcs("status", "main").stdout
    assert "x does not exist yet" in vcs("status", "x").stdout


def test_merge(vcs: Call, warehouse: Warehouse) -> None:
    warehouse.branch("x")
    before, head = warehouse.head(), warehouse.put("x", a="1")
    foretold = asked(vcs, "merge", "x", "main", "--dry-run")
    assert (foretold["how"], foretold["after"]) == ("fast_forward", head)
    assert warehouse.head() == before
    assert vcs("merge", "x", "main").stdout.splitlines() == [
        f"Merged x into main, fast-forward: {before[:12]} -> {head[:12]}",
        "  added    schema shop",
        "  added    table  shop.a  +10 -0 ~0",
        "1 relation, +10 -0 ~0 rows",
    ]
    assert warehouse.head() == head
    # The default branch is meant where no target is given.
    assert vcs("merge", "x").stdout == "main is up to date: it contains everything from x\n"


def test_merge_of_both_sides(vcs: Call, warehouse: Warehouse) -> None:
    warehouse.put(a="1", b="1")
    warehouse.branch("x")
    warehouse.put("x", a="2")
    warehouse.put(b="2")
    assert "can't be fast-forwarded" in vcs("merge", "x", "main", "--ff-only", code=1).stderr
    assert "a new commit" in vcs("merge", "x", "main", "--dry-run").stdout
    vcs("merge", "x", "main", "-m", "Both")
    assert warehouse.repository.objects.commit(warehouse.head()).message == "Both"
    warehouse.put("x", b="3")
    warehouse.put("x", c="1")
    failed = vcs("merge", "x", "main", code=1)
    assert "shop.b" in failed.stderr
    assert failed.stdout == ""
    text = vcs("merge", "x", "main", "--dry-run", code=1).stdout
    assert text.splitlines() == [
        "Can't merge x into main: both changed",
        "  shop.b: 10 rows changed differently",
        "Only these would merge:",
        "  added    table  shop.c  +10 -0 ~0",
    ]
    assert asked(vcs, "merge", "x", "main", "--dry-run", code=1)["conflicts"] == [
        "shop.b: 10 rows changed differently"
    ]


def test_runs(vcs: Call, warehouse: Warehouse) -> None:
    assert vcs("runs").stdout == "There are no runs with a branch.\n"
    warehouse.run("r1", Status.PASSED, a="1", note="waiting to be published")
    warehouse.run("r2", Status.FAILED, b="1", note="model b failed")
    rows = asked(vcs, "runs", "list")
    assert [(row["id"], row["status"], row["note"]) for row in rows] == [
        ("r2", "failed", "model b failed"),
        ("r1", "passed", "waiting to be published"),
    ]
    assert "r2   failed  main    build" in vcs("runs").stdout
    vcs("runs", "publish", "r1")
    assert set(warehouse.shown()) == {"shop.a"}
    assert "failed: model b failed" in vcs("runs", "publish", "r2", code=1).stderr
    assert "failed: model b failed" in vcs("merge", "runs/r2", "main", code=1).stderr
    assert "--force" in vcs("branch", "create", "x", "runs/r2", code=1).stderr
    vcs("runs", "publish", "r2", "--force")
    assert set(warehouse.shown()) == {"shop.a", "shop.b"}
    assert vcs("runs", "discard", "r1", "r2").stdout == (
        "Discarded runs/r1 (published).\nDiscarded runs/r2 (failed).\n"
    )
    assert vcs("runs", "discard", "--expired").stdout == "No run has expired.\n"
    assert "or --expired" in vcs("runs", "discard", code=2).stderr
    assert "or --expired" in vcs("runs", "discard", "r1", "--expired", code=2).stderr


@pytest.mark.parametrize("place", ["before", "after"])
def test_options_may_stand_before_or_after_the_command(
    call: Call, warehouse: Warehouse, place: str
) -> None:
    option = ("--repository", str(warehouse.blobs.uri))
    commands = [("branch",), ("branch", "list"), ("tag", "v1"), ("log", "main"), ("runs",)]
    for command in commands:
        call(*option, *command) if place == "before" else call(*command, *option)
    call("-r", "nowhere", "tag", "-r", "warehouse", "v2")
    assert [tag.name for tag in warehouse.repository.tags()] == ["v1", "v2"]
