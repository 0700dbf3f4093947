"""A package that fills its tables in from hooks, by way of tables without a schema."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from .models import TABLE, VIEW

pytestmark = pytest.mark.spark

LEDGER = Path(__file__).parents[1] / "packages" / "ledger"
SCHEMA = """
    sources:
      - name: made
        schema: analytics
        config: {freshness: {warn_after: {count: 1, period: day}}}
        tables:
          - name: orders
            columns: [{name: id}, {name: price, description: "it's \\\\ in euros"}]
    models:
      - name: orders
        columns:
          - {name: id, data_tests: [unique, not_null]}
          - {name: price}
      - name: totals
        columns: [{name: total, data_tests: [not_null]}]
"""
HISTORY = """
    {% snapshot history %}
      {{ config(unique_key='id', strategy='check', check_cols='all') }}
      select * from {{ ref('orders') }}
    {% endsnapshot %}
"""


@pytest.fixture(scope="module")
def shop(make_project):
    project = make_project(
        {
            "packages.yml": f"packages: [{{local: '{LEDGER}'}}]",
            "models/schema.yml": SCHEMA,
            "models/orders.sql": TABLE + "select id, cast(id as double) as price from range(4)",
            "models/totals.sql": VIEW + "select sum(price) as total from {{ ref('orders') }}",
            "models/kept/late.sql": TABLE + "select 1 as id",
            "seeds/names.csv": "id,name\n1,one\n2,two\n",
            "snapshots/history.sql": HISTORY,
        }
    )
    project.dbt("deps")
    return project


def graph(shop):
    """How many models, tests, sources and columns dbt's own manifest has."""
    manifest = shop.json("manifest.json")
    kinds = Counter(node["resource_type"] for node in manifest["nodes"].values())
    described = [*manifest["nodes"].values(), *manifest["sources"].values()]
    return {
        "dbt_models": kinds["model"],
        "dbt_tests": kinds["test"],
        "dbt_sources": len(manifest["sources"]),
        "dbt_columns": sum(len(item["columns"]) for item in described),
    }


def kept(shop, branch="main"):
    return {
        name: shop.column(f"select count(*) from analytics_ledger.{name}", branch)[0]
        for name in ("dbt_models", "dbt_tests", "dbt_sources", "dbt_columns")
    }


def results_kept(shop, branch="main"):
    invocation = shop.json("run_results.json")["metadata"]["invocation_id"]
    found = shop.rows(
        "select unique_id, status from analytics_ledger.dbt_run_results"
        f" where invocation = '{invocation}'",
        branch,
    )
    return dict(found)


def results_of_dbt(shop):
    return {
        result["unique_id"]: result["status"]
        for result in shop.json("run_results.json")["results"]
        if not result["unique_id"].startswith("operation.")
    }


def test_what_it_keeps_is_what_dbt_knows(shop):
    ran = shop.dbt("build")
    assert "shows no columns" not in ran.said
    assert kept(shop) == graph(shop)
    assert min(graph(shop).values()) > 0
    assert results_kept(shop) == results_of_dbt(shop)
    checksums = {
        node["unique_id"]: node["checksum"]["checksum"]
        for node in shop.json("manifest.json")["nodes"].values()
        if node["resource_type"] == "model"
    }
    assert dict(shop.rows("select unique_id, checksum from analytics_ledger.dbt_models")) == (
        checksums
    )
    (note,) = shop.column(
        "select description from analytics_ledger.dbt_columns where unique_id ="
        " 'source.shop.made.orders.price'"
    )
    assert note == "it's \\ in euros"


def test_its_temporary_tables_are_gone(shop):
    assert set(shop.kinds()) == {"orders", "totals", "late", "names", "history"}
    assert set(shop.kinds("analytics_ledger")) == {
        "dbt_columns", "dbt_invocations", "dbt_models", "dbt_run_results", "dbt_sources",
        "dbt_tests", "failures",
    }  # fmt: skip


@pytest.mark.parametrize("command", ["run", "seed", "snapshot", "test", "build"])
def test_every_command_fills_them_in(shop, command):
    shop.remove("models/kept/late.sql") if command == "run" else None
    shop.dbt(command)
    assert kept(shop) == graph(shop)
    assert results_kept(shop) == results_of_dbt(shop)


def test_a_run_that_fails_keeps_them_on_its_branch(shop):
    before = kept(shop)
    shop.write({"models/broken.sql": TABLE + "select nope from {{ ref('orders') }}"})
    shop.dbt("run", "--select", "orders", "broken", ok=False)
    branch = shop.run_branch()
    assert kept(shop) == before
    assert kept(shop, branch) == graph(shop)
    assert results_kept(shop, branch) == results_of_dbt(shop)
    assert shop.rows("select unique_id, path from analytics_ledger.failures", branch) == [
        ("model.shop.broken", "models/broken.sql")
    ]
    shop.remove("models/broken.sql")


def test_freshness_is_noted_as_any_other_command(shop):
    before = len(shop.rows("analytics_ledger.dbt_invocations"))
    shop.dbt("source", "freshness")
    commands = Counter(shop.column("select command from analytics_ledger.dbt_invocations"))
    assert sum(commands.values()) == before + 1
    assert commands == {
        "build": 2, "run": 1, "seed": 1, "snapshot": 1, "test": 1, "freshness": 1,
    }  # fmt: skip
    assert kept(shop) == graph(shop)


def test_it_can_be_the_first_thing_that_is_built(make_project):
    project = make_project(
        {
            "packages.yml": f"packages: [{{local: '{LEDGER}'}}]",
            "models/orders.sql": TABLE + "select 1 as id",
        }
    )
    project.dbt("deps")
    project.dbt("run", "--select", "package:ledger")
    assert kept(project)["dbt_models"] == graph(project)["dbt_models"] > 1
    # The profile's schema, in which the package's temporary tables were.
    assert project.kinds() == {}


def test_commands_that_run_no_hooks_keep_nothing(shop):
    head = shop.head()
    for command in (["compile"], ["docs", "generate"]):
        said = shop.dbt(*command).said
        for hook in ("ledger-on-run-start-0", "ledger-on-run-end-0"):
            assert said.count(f"changes that operation.ledger.{hook} makes while it is") == 1
    shop.dbt("ls")
    shop.dbt("parse")
    shop.dbt("show", "--select", "failures")
    assert shop.head() == head
