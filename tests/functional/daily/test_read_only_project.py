"""dbt in a container whose project can't be written to, as the page on containers sets it up."""

from __future__ import annotations

import ctypes
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs/containers.md").read_text(encoding="utf-8")
SETTINGS = dict(re.findall(r"`(DBT_\w+)=(\S+)`", PAGE))

PR_CAPBSET_DROP = 24
WRITE_ANYTHING, READ_ANYTHING = 1, 2


def held_to_permissions() -> None:
    """Take from root what lets it write where nobody may, as from an ordinary user."""
    if os.geteuid() == 0:
        for capability in (WRITE_ANYTHING, READ_ANYTHING):
            assert ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) == 0


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.joinpath("models").mkdir(parents=True)
    (folder / "models/a.sql").write_text("select 1 as id")
    (folder / "dbt_project.yml").write_text("{name: shop, profile: shop}")
    output = f"{{type: vcs, method: session, repository: {tmp_path}/warehouse, schema: s}}"
    (folder / "profiles.yml").write_text(f"shop: {{target: dev, outputs: {{dev: {output}}}}}")
    return folder


def parse(project: Path, *names: str) -> str:
    """Parse the project with the settings of the page; return dbt's log."""
    place = project.parent / "tmp"
    given = {name: SETTINGS[name].replace("/tmp/", f"{place}/") for name in names}
    kept = {name: value for name, value in os.environ.items() if not name.startswith("DBT_")}
    words = ["from dbt.cli.main import cli; cli()", "parse"]
    ended = subprocess.run(
        [sys.executable, "-c", *words],
        cwd=project,
        env={**kept, **given, "PYTHONPATH": str(ROOT)},
        preexec_fn=held_to_permissions,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return next(project.parent.rglob("dbt.log")).read_text(encoding="utf-8")


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has other permissions")
def test_a_project_that_can_not_be_written_to_is_parsed(project: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in project.rglob("*")}
    for path in (*before, project):
        path.chmod(0o555 if path.is_dir() else 0o444)
    try:
        log = parse(project, "DBT_TARGET_PATH", "DBT_LOG_PATH")
    finally:
        project.chmod(0o755)
    # It goes on without the file of its statistics.
    assert "Got an exception trying to initialize tracking" in log
    assert {path: path.stat().st_mtime_ns for path in project.rglob("*")} == before


def test_without_statistics_dbt_writes_nothing_beside_the_profile(project: Path) -> None:
    before = set(project.rglob("*"))
    parse(project, *SETTINGS)
    assert set(project.rglob("*")) == before
    assert set(SETTINGS) == {"DBT_TARGET_PATH", "DBT_LOG_PATH", "DBT_SEND_ANONYMOUS_USAGE_STATS"}
