"""Shared runs: dbt commands that are published together."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from dbt.adapters.vcs.cli import main
from dbt.adapters.vcs.variables import RUN
from dbt.adapters.vcs.workspace.run_branch import Status, announced_and_ended, find_run
from tests.functional.life.shop import Shop

pytestmark = pytest.mark.spark

LOAD = {
    "macros/load.sql": """
{% macro load(n) %}
  {% do run_query("create or replace table analytics.loaded as select " ~ n ~ " as n") %}
  {% if var("fails", false) %}{{ exceptions.raise_compiler_error("away") }}{% endif %}
{% endmacro %}
"""
}
TEST = {"tests/positive.sql": "select * from {{ ref('b') }} where n < 0"}


def command(shop: Shop, *words: str) -> Result:
    return CliRunner().invoke(main, [*words, "--repository", str(shop.warehouse)])


@pytest.fixture
def run(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> str:
    """A run that dbt commands of this process join; `main` has the models with 1."""
    shop.write(TEST)
    assert shop.dbt("build", n=1).success
    begun = command(shop, "run", "begin")
    assert begun.exit_code == 0
    id = begun.output.strip()
    monkeypatch.setenv(RUN, id)
    return id


def known(shop: Shop, run: str) -> set[str]:
    """Return the ids of the nodes that commands of a run announced."""
    nodes = announced_and_ended(shop.repository, find_run(shop.repository, run))
    return {node.id for node in nodes}


def test_commands_build_on_each_other_and_are_published_together(shop: Shop, run: str) -> None:
    before = shop.head()
    assert shop.dbt("run", "--select", "a", n=2).success
    assert shop.dbt("run", "--select", "b", n=2).success
    assert shop.dbt("test", "--select", "b", n=2).success
    assert shop.head() == before
    assert shop.value("select n from b", f"runs/{run}") == 2

    published = command(shop, "run", "publish", run)

    assert published.exit_code == 0, published.output
    assert (shop.value("select n from a"), shop.value("select n from b")) == (2, 2)
    commit = shop.repository.objects.commit(shop.head())
    assert commit.parents == (before,) and commit.run is not None
    assert {(node.id, node.status) for node in commit.run.nodes} == {
        ("model.shop.a", "success"),
        ("model.shop.b", "success"),
        ("test.shop.positive", "pass"),
    }
    assert find_run(shop.repository, run).status is Status.PUBLISHED
    assert not shop.dbt("run", "--select", "a", n=3).success
    assert shop.value("select n from a") == 2


def test_the_last_result_of_each_node_decides(shop: Shop, run: str) -> None:
    before = shop.head()
    assert not shop.dbt("build", n=-1).success
    refused = command(shop, "run", "publish")
    assert refused.exit_code == 1
    assert "test.shop.positive (fail)" in refused.output and shop.head() == before
    assert find_run(shop.repository, run).status is Status.OPEN

    assert shop.dbt("run", n=5).success
    # The rows are mended, and the test that failed was not repeated.
    assert command(shop, "run", "publish").exit_code == 1
    assert shop.dbt("test", n=5).success

    assert command(shop, "run", "publish").exit_code == 0
    assert shop.value("select n from b") == 5


def test_a_failure_that_changed_nothing_counts_until_it_is_mended(shop: Shop, run: str) -> None:
    shop.write({"models/a.sql": "select no_such_column"})
    assert not shop.dbt("run", "--select", "a").success
    refused = command(shop, "run", "publish", run)
    assert refused.exit_code == 1 and "model.shop.a (error)" in refused.output

    shop.write({"models/a.sql": "{{ config(materialized='table') }} select 1 as n"})
    assert shop.dbt("run", "--select", "a").success

    assert command(shop, "run", "publish", run).exit_code == 0


def test_a_hook_that_fails_counts(shop: Shop, run: str) -> None:
    project = (shop.root / "dbt_project.yml").read_text()
    shop.write({"dbt_project.yml": project + "on-run-start: select no_such_column\n"})
    assert not shop.dbt("run", n=2).success
    refused = command(shop, "run", "publish", run)
    assert refused.exit_code == 1 and "on-run-start" in refused.output


def test_an_operation_that_fails_leaves_nothing_and_counts(shop: Shop, run: str) -> None:
    shop.write(LOAD)
    load = ["run-operation", "load", "--args", "{n: 3}"]
    assert not shop.dbt(*load, fails=True).success
    refused = command(shop, "run", "publish", run)
    assert refused.exit_code == 1
    assert "success: run-operation load." in refused.output and "(error)" in refused.output
    assert "analytics.loaded" not in shop.relations(f"runs/{run}")
    # With other arguments it is another one.
    assert shop.dbt("run-operation", "load", "--args", "{n: 4}").success
    assert command(shop, "run", "publish", run).exit_code == 1
    assert shop.dbt(*load).success

    assert command(shop, "run", "publish", run).exit_code == 0
    assert shop.value("select n from loaded") == 3


def test_a_discarded_run_leaves_nothing(shop: Shop, run: str) -> None:
    before, names = shop.head(), {item.name for item in shop.repository.branches()}
    assert shop.dbt("run", n=2).success
    assert command(shop, "run", "discard").exit_code == 0
    assert shop.head() == before
    assert {item.name for item in shop.repository.branches()} == names - {f"runs/{run}"}
    assert not shop.dbt("run", n=2).success


def test_a_run_is_read_by_commands_that_join_it(shop: Shop, run: str) -> None:
    assert shop.dbt("run", n=2).success
    shown = shop.dbt("show", "--inline", "select n from {{ ref('b') }}")
    assert shown.success
    (result,) = shown.result.results
    assert [tuple(row) for row in result.agate_table.rows] == [(2,)]


def test_processes_side_by_side_are_one_run(
    shop: Shop, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    leaves = [f"leaf{n}" for n in range(2)]
    shop.write(
        {
            f"models/{name}.sql": "{{ config(materialized='table') }} select n from {{ ref('a') }}"
            for name in leaves
        }
    )
    assert shop.dbt("run", n=1).success
    run = command(shop, "run", "begin").output.strip()
    monkeypatch.setenv(RUN, run)
    assert shop.dbt("run", "--select", "a", n=7).success
    before = shop.head()

    started = [
        shop.start("run", "--select", name, "--target-path", str(tmp_path / name), n=7)
        for name in leaves
    ]
    killed = shop.start("run", "--select", "b", "--target-path", str(tmp_path / "b"), n=7)
    while "model.shop.b" not in known(shop, run) and killed.poll() is None:
        time.sleep(0.05)
    killed.kill()
    said = [process.communicate(timeout=300)[0] for process in [*started, killed]]

    assert [process.returncode for process in started] == [0, 0], said
    assert shop.head() == before
    missed = command(shop, "run", "publish", run)
    assert missed.exit_code == 1 and "have not ended: model.shop.b. " in missed.output
    assert shop.dbt("run", "--select", "b", n=7).success
    assert command(shop, "run", "publish", run).exit_code == 0
    assert {shop.value(f"select n from {name}") for name in ["a", "b", *leaves]} == {7}
    assert shop.repository.objects.commit(shop.head()).parents == (before,)
    assert sys.executable
