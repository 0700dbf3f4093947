"""The recipe for Dagster, run as it is printed: it fails, is repaired, and goes on."""

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
DAGSTER = ROOT / ".orchestrators/dagster/bin"
B = "{{ config(materialized='table') }} select n from {{ ref('a') }}"
# As the button in Dagster's pages does.
AGAIN = """
from dagster import DagsterInstance, ReexecutionOptions, execute_job, reconstructable

import recipe


def shop():
    return recipe.defs.resolve_job_def("shop")


if __name__ == "__main__":
    with DagsterInstance.get() as instance:
        (failed,) = instance.get_runs()
        options = ReexecutionOptions.from_failure(failed.run_id, instance)
        done = execute_job(reconstructable(shop), instance, reexecution_options=options)
        print(sorted({event.step_key for event in done.all_events if event.is_step_success}))
"""
FILES = {
    "shop/dbt_project.yml": "name: shop\nversion: '1.0'\nprofile: shop\n",
    "shop/profiles.yml": (
        "shop: {target: prod, outputs: {prod: {type: vcs, repository: ./warehouse, branch: main,\n"
        "  schema: analytics, threads: 1, spark_config: {spark.master: 'local[2]'}}}}\n"
    ),
    "shop/models/a.sql": "{{ config(materialized='table') }} select 1 as n",
    "shop/models/b.sql": B.replace("select n", "select nope"),
    "shop/models/models.yml": (
        "models: [{name: b, columns: [{name: n, data_tests: [not_null]}]}, {name: a}]\n"
    ),
    "shop/again.py": AGAIN,
    "home/dagster.yaml": "telemetry: {enabled: false}\n",
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project of two models, of which one fails, and the recipe beside it."""
    folder = tmp_path / "shop"
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    page = PAGE.read_text(encoding="utf-8").partition("## Dagster")[2]
    found = re.search(r"```python\n(.*?)```", page, re.DOTALL)
    assert found is not None
    recipe = found[1].replace("/opt/dagster/shop", str(folder))
    assert str(folder) in recipe
    (folder / "recipe.py").write_text(recipe, encoding="utf-8")
    return folder


def test_a_job_that_is_repeated_publishes_all_models_at_once(project: Path) -> None:
    """Each model is a step in a process of its own, and a command of dbt."""
    env = {
        **os.environ,
        "DAGSTER_HOME": str(project.parent / "home"),
        "DAGSTER_DISABLE_TELEMETRY": "yes",
        "DBT_SEND_ANONYMOUS_USAGE_STATS": "False",
        "DBT_PROFILES_DIR": str(project),
        # dbt is another environment's.
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
    }

    def call(*words: str, ok: bool = True) -> str:
        done = subprocess.run(
            words, cwd=project, env=env, capture_output=True, text=True, timeout=900, check=False
        )
        assert (done.returncode == 0) == ok, done.stdout + done.stderr
        return done.stdout + done.stderr

    call("dbt-vcs", "init")
    call("dbt", "parse")
    repository = Repository.open(open_blobs(str(project / "warehouse")))
    empty = repository.branch("main").head
    said = call(
        str(DAGSTER / "dagster"), "job", "execute", "-f", "recipe.py", "-j", "shop", ok=False
    )
    assert "nope" in said
    assert repository.branch("main").head == empty

    (project / "models/b.sql").write_text(B, encoding="utf-8")
    said = call(str(DAGSTER / "python"), "again.py")
    assert "['build_b', 'publish']" in said

    (last, _) = [commit for _, commit in repository.log(repository.branch("main").head)]
    assert last.run is not None
    assert {(node.id.split(".")[2], node.status) for node in last.run.nodes} == {
        ("a", "success"), ("b", "success"), ("not_null_b_n", "pass"),
    }  # fmt: skip
