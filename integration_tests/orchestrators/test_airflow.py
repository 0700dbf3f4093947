"""The recipe for Airflow with Cosmos, run as it is printed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.store.opening import open_blobs

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/recipes/orchestrators.md"
AIRFLOW = ROOT / ".orchestrators/airflow/bin"
FILES = {
    "dbt_project.yml": "name: shop\nversion: '1.0'\nprofile: shop\n",
    "profiles.yml": (
        "shop: {target: prod, outputs: {prod: {type: vcs, repository: ./warehouse, branch: main,\n"
        "  schema: analytics, threads: 1, spark_config: {spark.master: 'local[2]'}}}}\n"
    ),
    "models/a.sql": "{{ config(materialized='table') }} select 1 as n",
    "models/b.sql": "{{ config(materialized='table') }} select n from {{ ref('a') }}",
    "models/models.yml": (
        "models: [{name: b, columns: [{name: n, data_tests: [not_null]}]}, {name: a}]\n"
    ),
}
RUN = "exec(compile(open('recipe.py').read(), 'recipe.py', 'exec')); shop.test()"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project of two models, and the recipe beside it."""
    folder = tmp_path / "shop"
    for name, text in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    found = re.search(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None
    recipe = found[1].replace("/opt/airflow/shop", str(folder))
    assert recipe.endswith("\nshop()\n")
    (folder / "recipe.py").write_text(recipe.replace("\nshop()\n", "\nshop = shop()\n"))
    return folder


def test_the_recipe_publishes_all_models_at_once(project: Path) -> None:
    """Each node is a task of Airflow, and a command of dbt."""
    env = {
        **os.environ,
        "AIRFLOW_HOME": str(project.parent / "airflow"),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "DBT_SEND_ANONYMOUS_USAGE_STATS": "False",
        "DO_NOT_TRACK": "1",
        "SCARF_ANALYTICS": "false",
        "DBT_PROFILES_DIR": str(project),
        # dbt is another environment's, as it is for most who use Cosmos.
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
    }

    def call(*words: str) -> str:
        done = subprocess.run(
            words, cwd=project, env=env, capture_output=True, text=True, timeout=900, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    call("dbt-vcs", "init")
    call(str(AIRFLOW / "airflow"), "db", "migrate")
    said = call(str(AIRFLOW / "python"), "-c", RUN)
    assert "state=success" in said, said

    repository = Repository.open(open_blobs(str(project / "warehouse")))
    messages = [commit for _, commit in repository.log(repository.branch("main").head)]
    # The empty repository, and everything else in one step.
    assert len(messages) == 2 and messages[0].run is not None
    assert {(node.id.split(".")[2], node.status) for node in messages[0].run.nodes} == {
        ("a", "success"), ("b", "success"), ("not_null_b_n", "pass"),
    }  # fmt: skip
