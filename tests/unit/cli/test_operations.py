"""The same verbs as operations of dbt, which start no Spark either."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from verbs.warehouse import Warehouse

from dbt.adapters.vcs.workspace.runs import Status

# All in one process: dbt takes seconds to start.
SCRIPT = """
import json, sys
from dbt.cli.main import dbtRunner
lines = []
def listen(event):
    if event.info.name in ("JinjaLogInfo", "MainEncounteredError", "RunningOperationCaughtError"):
        lines.append(event.info.msg)
found = []
for macro, arguments in json.loads(sys.argv[1]):
    lines.clear()
    result = dbtRunner(callbacks=[listen]).invoke(
        ["--quiet", "run-operation", macro, "--args", json.dumps(arguments)]
    )
    found.append({"success": result.success, "text": "\\n".join(lines)})
print("found:", json.dumps(found))
pyspark = sys.modules.get("pyspark")
print("spark:", pyspark is not None and pyspark.SparkContext._gateway is not None)
"""

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
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT, json.dumps(operations)],
            capture_output=True,
            text=True,
            timeout=300,
            check=True,
        )
        assert "spark: False" in done.stdout
        (line,) = (line for line in done.stdout.splitlines() if line.startswith("found: "))
        found = json.loads(line.removeprefix("found: "))
        assert isinstance(found, list)
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
        ("vcs_log", {"limit": 1}),
        ("vcs_runs", {}),
        ("vcs_runs", {"action": "publish", "id": "r1"}),
        ("vcs_runs", {"action": "discard", "id": "r2"}),
        ("vcs_merge", {"source": "nix"}),
        ("vcs_branch", {"action": "rename"}),
    )
    texts = [item["text"] for item in found]
    assert [item["success"] for item in found] == [True] * 12 + [False] * 2
    assert "model c failed" in texts[0]
    assert texts[1] == f"Created branch x at {first[:12]}."
    assert all(name in texts[2] for name in ("dev", "feature", "main", "x"))
    assert "    First" in texts[4]
    assert texts[5].startswith("Would merge feature into dev")
    assert texts[6].startswith("Merged feature into main")
    assert texts[7].startswith("Merged x into dev")
    assert "First" in texts[8]
    assert "r2" in texts[9]
    assert texts[11] == "Discarded runs/r2 (failed)."
    assert "There is no branch 'nix'" in texts[12]
    assert "expected one of list, create, delete" in texts[13]
    assert set(warehouse.shown("main")) == {"shop.a"}
    assert set(warehouse.shown("dev")) == {"shop.a", "shop.b"}
    assert warehouse.repository.resolve("v1") == first
