"""The package in `hub/` beside the adapter: installed, parsed on any adapter, its tests run."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.functional.daily.project import Project

pytestmark = [pytest.mark.spark, pytest.mark.slow]

HUB = Path(__file__).parents[3] / "hub"
TESTS = """
models:
  - name: orders
    data_tests:
      - dbt_vcs_diff.diff_is_empty: {name: t_empty}
      - dbt_vcs_diff.diff_is_empty: {name: t_empty_in_march, config: {where: "month = 3"}}
      - dbt_vcs_diff.diff_max_rows: {name: t_rows_1, arguments: {max: 1}}
      - dbt_vcs_diff.diff_max_change_ratio: {name: t_ratio, arguments: {max: 0.1}}
      - dbt_vcs_diff.diff_no_removed: {name: t_kept}
      - dbt_vcs_diff.diff_only_columns: {name: t_only_amount, arguments: {columns: amount}}
      - dbt_vcs_diff.diff_expression_is_true: {name: t_above, arguments: {expression: amount > 0}}
      # The adapter's own, under the same name.
      - diff_is_empty: {name: t_own_empty}
"""
ORDERS = (
    "{{ config(materialized='table', primary_key='id') }}\n"
    "select id, cast(1 + id % 3 as int) as month, cast(case when id = 1 then {{ var('first', 5) }}"
    " else id + 1 end as int) as amount from range(5)"
)
CHANGED = (
    "{{ config(materialized='table') }}\n"
    "-- depends_on: {{ ref('orders') }}\n"
    "select id from {{ dbt_vcs_diff.snapshot_diff(ref('orders'), from='main', shape='changes') }}"
    " where _change_type = 'update_postimage'\n"
    "union all select id + 100 from {{ dbt_vcs_diff.at(ref('orders'), 'main') }} where id = 1"
)


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    files = {
        "packages.yml": f"packages: [{{local: {json.dumps(str(HUB))}}}]",
        "models/orders.sql": ORDERS,
        "models/schema.yml": TESTS,
    }
    project = Project(tmp_path_factory.mktemp("hub") / "project", files)
    project.dbt("deps")
    project.dbt("run")
    yield project
    project.close()


def test_it_is_installed_beside_the_adapter_and_its_tests_see_what_changed(shop: Project) -> None:
    shop.write({"models/changed.sql": CHANGED})
    shop.output["branch"] = "dev"
    shop.configure()
    ran = shop.dbt("build", "--vars", "{first: 7}", ok=False)
    assert {name: status for name, status in ran.statuses.items() if name.startswith("t_")} == {
        "t_empty": "fail",
        "t_empty_in_march": "pass",
        "t_rows_1": "pass",
        "t_ratio": "fail",
        "t_kept": "pass",
        "t_only_amount": "pass",
        "t_above": "pass",
        "t_own_empty": "fail",
    }
    shop.dbt("run", "--vars", "{first: 7}")
    assert shop.rows("changed", "dev") == [(1,), (101,)]


def test_with_another_adapter_the_project_is_parsed_and_only_its_tests_fail(shop: Project) -> None:
    shop.write({"models/plain.sql": "select 1 as id"})
    output = dict(shop.output)
    shop.output = {"type": "spark", "method": "session", "schema": "shop", "host": "none"}
    shop.configure()
    try:
        shop.remove("models/schema.yml")
        shop.write({"models/schema.yml": TESTS.partition("      # The")[0]})
        shop.dbt("parse")
        shop.dbt("compile", "--select", "plain", "--no-introspect", "--no-populate-cache")
        ran = shop.dbt("compile", "--select", "t_empty", "--no-populate-cache", ok=False)
        assert "dbt_vcs_diff.diff_is_empty needs a target of type vcs" in ran.said + ran.error
        assert "the target 'dev' is of type spark" in ran.said + ran.error
    finally:
        shop.output = output
        shop.configure()
