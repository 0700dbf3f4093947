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
