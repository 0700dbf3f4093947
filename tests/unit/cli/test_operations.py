"""The same verbs as operations of dbt, which start no Spark either."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from dbt.adapters.factory import reset_adapters
from dbt.cli.main import dbtRunner
from pyspark import SparkContext

from dbt.adapters.vcs.workspace.run_branch import Status
from tests.unit.tables import Tables
from tests.unit.warehouse import Warehouse

SAID = ("JinjaLogInfo", "MainEncounteredError", "RunningOperationCaughtError")

PROJECT = """
name: shop
version: "1.0"
config-version: 2
profile: shop
flags: {send_anonymous_usage_stats: false}
"""

PROFILES = """
shop:
  target: dev
  outputs:
    dev:
      {type: vcs, method: session, repository: ./warehouse, branch: dev, schema: shop, threads: 1}
"""


@pytest.fixture
def operate(folder: Path) -> Any:
    (folder / "dbt_project.yml").write_text(PROJECT)
    (folder / "profiles.yml").write_text(PROFILES)

    def run(*operations: tuple[str, dict[str, Any]]) -> list[dict[str, Any]]:
        places = ["--project-dir", str(folder), "--profiles-dir", str(folder)]
        java = SparkContext._gateway
        found = []
        for macro, arguments in operations:
            lines: list[str] = []

            def listen(event: Any, lines: list[str] = lines) -> None:
                if event.info.name in SAID:
                    lines.append(event.info.msg)

            reset_adapters()
            result = dbtRunner(callbacks=[listen]).invoke(
                ["--quiet", "run-operation", macro, "--args", json.dumps(arguments), *places]
            )
            found.append({"success": result.success, "text": "\n".join(lines)})
        assert SparkContext._gateway is java
        return found

    return run


def test_each_verb_is_an_operation(operate: Any, warehouse: Warehouse) -> None:
    warehouse.branch("dev")
    warehouse.branch("feature")
    first = warehouse.put("feature", a="1", message="First")
    warehouse.run("r1", Status.PASSED, target="dev", b="1")
    warehouse.run("r2", Status.FAILED, target="dev", c="1", note="model c failed")
    found = operate(
        ("vcs_status", {}),
        ("vcs_branch", {"action": "create", "name": "x", "at": "feature"}),
        ("vcs_branch", {}),
        ("vcs_tag", {"action": "create", "name": "v1", "at": first[:12]}),
        ("vcs_show", {"revision": "v1"}),
        ("vcs_merge", {"source": "feature", "dry_run": True}),
        ("vcs_merge", {"source": "feature", "target": "main"}),
        ("promote", {"source": "x", "target": "dev"}),
        ("vcs_branch", {"action": "rename", "name": "x", "to": "y"}),
        ("vcs_tag", {"action": "rename", "name": "v1", "to": "v1.0"}),
        ("vcs_log", {"limit": 1}),
        ("vcs_runs", {}),
        ("vcs_runs", {"action": "publish", "id": "r1"}),
        ("vcs_runs", {"action": "discard", "id": "r2"}),
        ("vcs_merge", {"source": "nix"}),
        ("vcs_branch", {"action": "move"}),
    )
    texts = [item["text"] for item in found]
    assert [item["success"] for item in found] == [True] * 14 + [False] * 2
    assert "model c failed" in texts[0]
    assert texts[1] == f"Created branch x at {first[:12]}."
    assert all(name in texts[2] for name in ("dev", "feature", "main", "x"))
    assert "    First" in texts[4]
    assert texts[5].startswith("Would merge feature into dev")
    assert texts[6].startswith("Merged feature into main")
    assert texts[7].startswith("Merged x into dev")
    assert texts[8] == f"Renamed branch x to y, at {first[:12]}."
    assert texts[9] == f"Renamed tag v1 to v1.0, at {first[:12]}."
    assert "First" in texts[10]
    assert "r2" in texts[11]
    assert texts[13] == "Discarded runs/r2 (failed)."
    assert "There is no branch 'nix'" in texts[14]
    assert "expected one of list, create, rename" in texts[15]
    assert set(warehouse.shown("main")) == {"shop.a"}
    assert set(warehouse.shown("dev")) == {"shop.a", "shop.b"}
    assert warehouse.repository.resolve("v1.0") == first


def test_a_relative_repository_is_in_the_projects_folder(
    operate: Any, warehouse: Warehouse, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    warehouse.branch("dev")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    (found,) = operate(("vcs_branch", {}))
    assert found["success"] and "dev" in found["text"]
    assert not list(elsewhere.rglob("vcs.json"))


def test_an_unknown_argument_is_refused_with_those_that_are_known(
    operate: Any, warehouse: Warehouse
) -> None:
    warehouse.branch("dev")
    found = operate(
        ("vcs_log", {"limmit": 3}),
        ("vcs_status", {"branhc": "dev"}),
        ("vcs_lineage", {"relation": "shop.a", "branhc": "dev"}),
        ("vcs_branch", {"action": "create", "name": "x", "revision": "main"}),
    )
    for item, said in zip(
        found,
        (
            "log has no argument 'limmit'; it takes revision, ",
            "status has no argument 'branhc'; it takes branch",
            "lineage has no argument 'branhc'; it takes relation, forward, depth, branch",
            "branch create has no argument 'revision'; it takes ",
        ),
        strict=True,
    ):
        assert not item["success"]
        assert said in item["text"]
    assert warehouse.repository.find_branch("x") is None


def test_no_verb_makes_a_repository(operate: Any, folder: Path) -> None:
    found = operate(("vcs_status", {}), ("vcs_branch", {"action": "create", "name": "x"}))
    for item in found:
        assert not item["success"]
        assert "is not a repository" in item["text"]
    assert not (folder / "warehouse").exists()


def test_conflicts_are_resolved_by_operations(operate: Any, warehouse: Warehouse) -> None:
    tables = Tables(warehouse)
    base = tables.entry([tables.block({1: "a", 2: "b", 3: "c"})], key=True)
    tables.put("main", t=base)
    warehouse.branch("dev")
    for branch, name in (("main", "theirs"), ("dev", "ours")):
        block = tables.block(dict.fromkeys((1, 2, 3), name))
        tables.put(branch, t=tables.entry([block], parents=[base], key=True))
    hand = {"relation": "shop.t", "key": {"id": 1}, "set": {"name": "by hand"}}
    found = operate(
        ("vcs_merge", {"source": "main"}),
        ("vcs_resolve", hand),
        ("vcs_resolve", {"choice": "theirs"}),
        ("vcs_resolve", {"relation": "shop.t", "choice": "ours", "again": True}),
        ("vcs_resolve", {**hand, "key": {"id": 2}, "set": {"name": None}, "target": "dev"}),
        ("vcs_resolve", {"relation": "shop.t", "choice": "base", "key": {"id": 3}}),
        ("vcs_resolve", {"relation": "shop.t", "choice": "theirs"}),
        ("vcs_resolve", {**hand, "set": {"id": 7}}),
        ("vcs_resolve", {"relation": "shop.t", "choice": "larger", "by": "name", "again": True}),
        ("vcs_resolve", {"undo": True}),
        ("vcs_resolve", {"relation": "shop.t", "cell": {"name": "smaller"}, "key": {"id": 1}}),
        ("vcs_resolve", {"undo": True, "target": "dev"}),
        ("vcs_merge", {"action": "continue"}),
    )
    texts = [item["text"] for item in found]
    assert [item["success"] for item in found] == [False] + [True] * 5 + [False] * 2 + [True] * 5
    assert "changed the same in different ways" in texts[0]
    assert texts[1].startswith("Resolved 1 conflict with values given by hand.\n2 left.")
    assert texts[2].startswith("Resolved 2 conflicts with theirs.")
    assert texts[3].startswith("Resolved 3 conflicts with ours.")
    assert "is already resolved" in texts[6]
    assert "in the primary key" in texts[7]
    assert texts[8].startswith("Resolved 3 conflicts with larger name.")
    assert texts[9].startswith("Took back: Resolve 3 of shop.t with larger name (by ")
    assert texts[11].startswith("Took back: Resolve 1 of shop.t with name=smaller (by ")
    assert {row["id"]: row["name"] for row in warehouse.rows("t", "dev")} == {
        1: "ours",
        2: None,
        3: "c",
    }


def test_versions_are_operations_too(operate: Any, warehouse: Warehouse) -> None:
    tables = Tables(warehouse)
    first = tables.entry([tables.block({1: "a"})])
    warehouse.branch("dev")
    tables.put("dev", t=first)
    tables.put("dev", t=tables.entry([tables.block({1: "b"})], parents=[first]))
    name = {"action": "create", "relation": "shop.t", "name": "sn1", "at": "dev~1"}
    found = operate(
        ("vcs_snapshot", name),
        ("vcs_snapshot", {}),
        ("clone_from_snapshot", {"source": "shop.t", "target": "shop.c", "at": "sn1"}),
        ("vcs_restore", {"relation": "shop.t", "to": "sn1"}),
        ("vcs_revert", {"revision": "dev"}),
        ("vcs_lineage", {"relation": "shop.c"}),
        ("vcs_blame", {"relation": "shop.t", "key": {"id": 1}}),
        ("vcs_gc", {"dry_run": True}),
        ("vcs_gc", {"retention": 30}),
        ("vcs_fsck", {}),
        ("vcs_branch", {"action": "undelete", "name": "dev"}),
        ("vcs_restore", {}),
        ("vcs_gc", {"retention": "long"}),
    )
    texts = [item["text"] for item in found]
    assert [item["success"] for item in found] == [True] * 10 + [False] * 3
    assert texts[0].startswith("Created snapshot sn1 of shop.t")
    assert "shop.t" in texts[1] and "sn1" in texts[1]
    assert texts[2].startswith("Cloned shop.t at sn1 to shop.c on dev: 1 row")
    assert texts[3].startswith("Restored shop.t on dev to sn1")
    assert texts[4].startswith("Reverted")
    assert "shop.t" in texts[5]
    assert "modified id=1 of shop.t" in texts[6]
    assert texts[7].startswith("Would delete 0 data files")
    assert texts[8] == "Unnamed history is kept for 30 days."
    assert "No problems found." in texts[9]
    assert "exists. Only a deleted branch" in texts[10]
    assert "Give either a relation, as schema.table, or all: true." in texts[11]
    assert "'long' is not a valid float" in texts[12]
    assert warehouse.shown("dev")["shop.c"] != first
