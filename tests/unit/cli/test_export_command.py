"""`dbt-vcs export`, and the export of branches that commands move."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dbt.adapters.vcs.iceberg.export_folder import export_folder
from tests.unit.cli.conftest import Call
from tests.unit.warehouse import Warehouse


@pytest.fixture
def exporting(folder: Path) -> None:
    """A project whose branch main is exported."""
    (folder / "dbt_project.yml").write_text("{name: shop, profile: shop}")
    output = "{type: vcs, method: session, repository: ./warehouse, schema: shop}"
    (folder / "profiles.yml").write_text(f"shop: {{target: dev, outputs: {{dev: {output}}}}}")
    (folder / "vcs.yml").write_text("export: {main: iceberg}")


def exported(warehouse: Warehouse) -> set[str]:
    return set(map(str, export_folder(warehouse.blobs, "main").relations()))


def test_a_branch_is_exported_on_demand(vcs: Call, warehouse: Warehouse) -> None:
    warehouse.put(a="1")
    said = vcs("export").output
    assert said.startswith("Exported 1 table of main @ ")
    assert vcs("export").output.startswith("Exported no tables of main @ ")
    assert json.loads(vcs("export", "--json", "--all").output)["refused"] == {}
    assert exported(warehouse) == {"shop.a"}


def test_a_command_that_moves_an_exported_branch_exports_it(
    call: Call, warehouse: Warehouse, exporting: None
) -> None:
    warehouse.put(a="1")
    warehouse.branch("dev")
    warehouse.put("dev", b="1")
    call("merge", "dev", "main", "--dry-run")
    assert exported(warehouse) == set()
    call("merge", "dev", "main")
    assert exported(warehouse) == {"shop.a", "shop.b"}


def test_a_failing_export_leaves_the_move_as_it_is(
    call: Call, warehouse: Warehouse, exporting: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError("the disk left")

    warehouse.branch("dev")
    warehouse.put("dev", b="1")
    monkeypatch.setattr("dbt.adapters.vcs.iceberg.exports.export_branch", fail)
    said = call("merge", "dev", "main")
    assert "dbt-vcs export --branch main" in said.output
    assert warehouse.head() == warehouse.head("dev")
