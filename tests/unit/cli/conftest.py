from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from dbt.adapters.vcs.cli import main
from dbt.adapters.vcs.core.store.opening import open_blobs
from tests.unit.warehouse import Clock, Warehouse

Call = Callable[..., Result]

OUTSIDE = (
    "DBT_VCS_REPOSITORY",
    "DBT_PROJECT_DIR",
    "DBT_PROFILES_DIR",
    "DBT_PROFILE",
    "DBT_TARGET",
)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty current folder; no settings come from outside."""
    for name in OUTSIDE:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("DBT_VCS_AUTHOR", "bob")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    return here


@pytest.fixture
def warehouse(folder: Path) -> Warehouse:
    """The repository in the folder `warehouse` of the current one."""
    clock = Clock()
    blobs = open_blobs(str(folder / "warehouse"), {"fsync": "false"})
    return Warehouse(blobs, clock)


@pytest.fixture
def call() -> Call:
    """Run the command; `code` is the exit code to expect."""

    def run(*arguments: str, code: int = 0) -> Result:
        result = CliRunner().invoke(main, list(arguments))
        assert result.exit_code == code, result.output
        assert "Traceback" not in result.output
        return result

    return run


@pytest.fixture
def vcs(call: Call, warehouse: Warehouse) -> Call:
    """Run the command on the warehouse."""
    return lambda *arguments, code=0: call("-r", "warehouse", *arguments, code=code)


@pytest.fixture(params=["-r", "--target"])
def chosen(
    request: pytest.FixtureRequest, call: Call, warehouse: Warehouse, tmp_path: Path
) -> Call:
    """Run the command on the warehouse, from a folder that doesn't choose it."""
    if request.param == "-r":
        return lambda *words, code=0: call("-r", warehouse.blobs.uri, *words, code=code)
    project = tmp_path / "my project"
    project.mkdir()
    (project / "dbt_project.yml").write_text("name: shop\nprofile: shop\n")
    target = f"{{type: vcs, schema: shop, repository: {warehouse.blobs.uri}, branch: main}}"
    (project / "profiles.yml").write_text(
        f"shop: {{target: none, outputs: {{none: {{type: duckdb}}, 'd v': {target}}}}}\n"
    )
    chosen = ("--project-dir", str(project), "--target", "d v")
    return lambda *words, code=0: call(*words, *chosen, code=code)
