"""dbt-duckdb in `dbt-vcs run`, as docs/dbt2.md has it."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from dbt.adapters.vcs.api import connect
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.store.opening import open_blobs

ROOT = Path(__file__).parents[2]
BIN = ROOT / ".orchestrators/dbt-duckdb/bin"
FILES = {
    "models/a.sql": (
        "{{ config(materialized='incremental', incremental_strategy='append') }} "
        "select k as n from {{ ref('s') }} {% if is_incremental() %} where false {% endif %}"
    ),
    "models/b.sql": (
        "{{ config(materialized='incremental', incremental_strategy='delete+insert', "
        "unique_key='n') }} select n, n * {{ var('by') }} as m from {{ ref('a') }}"
    ),
    "models/b.yml": "models: [{name: b, columns: [{name: m, data_tests: [not_null]}]}]\n",
    "seeds/s.csv": "k,v\n1,a\n2,b\n",
}


def blocks() -> list[str]:
    """Return the YAML of the page: the profile, and what is in dbt_project.yml."""
    page = (ROOT / "docs/dbt2.md").read_text(encoding="utf-8")
    return re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with a repository, and DuckDB's extensions where its profile says."""
    folder, extensions = tmp_path / "shop", tmp_path / "extensions"
    profile, own = blocks()
    for name, text in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    (folder / "dbt_project.yml").write_text(f"name: shop\nversion: '1.0'\nprofile: shop\n{own}")
    settings = yaml.safe_load(profile)
    settings["shop"]["outputs"]["duck"]["config_options"] = {
        "extension_directory": str(extensions),
        "autoinstall_known_extensions": False,
    }
    (folder / "profiles.yml").write_text(yaml.safe_dump(settings), encoding="utf-8")
    machine = {"x86_64": "amd64", "aarch64": "arm64"}[platform.machine()]
    for file in BIN.parent.rglob("*.duckdb_extension"):
        place = extensions / file.parent.name / f"linux_{machine}"
        place.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, place)
    assert vcs(folder, "init").returncode == 0
    return folder


def vcs(project: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run `dbt-vcs` in a project whose profile isn't ours, as the page does."""
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    env |= {"DBT_VCS_REPOSITORY": "./warehouse", "DBT_SEND_ANONYMOUS_USAGE_STATS": "False"}
    command = [str(Path(sys.executable).with_name("dbt-vcs")), *words]
    return subprocess.run(
        command, cwd=project, env=env, capture_output=True, text=True, timeout=300, check=False
    )


def built(project: Path, by: str, *options: str) -> subprocess.CompletedProcess[str]:
    """Run `dbt build` of the other environment in `dbt-vcs run`."""
    build = ("build", "--vars", f"{{by: {by}}}", "--profiles-dir", ".")
    return vcs(project, "run", *options, "--", str(BIN / "dbt"), *build)


def test_builds_are_published_if_they_succeed(project: Path) -> None:
    """Two builds, and one whose test fails."""
    for by in ("10", "20"):
        done = built(project, by)
        assert done.returncode == 0, done.stdout + done.stderr
    failed = built(project, "null")
    assert failed.returncode == 1 and "Not published" in failed.stderr

    with connect(str(project / "warehouse")) as client:
        rows = client.table("analytics.b").to_arrow().to_pylist()
    assert sorted((row["n"], row["m"]) for row in rows) == [(1, 20), (2, 40)]
    repository = Repository.open(open_blobs(str(project / "warehouse")))
    assert len(list(repository.log(repository.branch("main").head))) == 3


def test_what_another_dbt_builds_is_compared_on_a_branch(project: Path) -> None:
    """A build on `main`, and one of other rows on a branch of it."""
    assert built(project, "10").returncode == 0
    assert vcs(project, "branch", "create", "dbt2", "main").returncode == 0
    assert built(project, "20", "--branch", "dbt2").returncode == 0
    told = vcs(project, "diff", "main...dbt2")
    assert told.returncode == 1 and "analytics.b" in told.stdout
    with connect(str(project / "warehouse")) as client:
        rows = client.table("analytics.b").to_arrow().to_pylist()
    assert sorted((row["n"], row["m"]) for row in rows) == [(1, 10), (2, 20)]
