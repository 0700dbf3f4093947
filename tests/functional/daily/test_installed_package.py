"""A package that knows nothing of the adapter works: its hooks, tables, graph and dialects."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from .models import TABLE, config
from .project import BUILT

pytestmark = pytest.mark.spark

AUDIT = Path(__file__).parents[1] / "packages" / "audit"
DIALECTS = (
    "select '{{ audit.nearest() }}' as nearest, '{{ audit.sparks() }}' as sparks,"
    " '{{ audit.anybodys() }}' as anybodys"
)


@pytest.fixture(scope="module")
def shop(make_project):
    project = make_project(
        {
            "packages.yml": f"packages: [{{local: '{AUDIT}'}}]",
            "models/orders.sql": config(materialized="table", meta={"owner": "ann"})
            + "select id, cast(id as double) as price from range(4)",
            "models/totals.sql": config(materialized="view")
            + "select sum(price) as total from {{ ref('orders') }}",
            "models/dialects.sql": TABLE + DIALECTS,
        },
        config={"vars": {"audit_after": ["orders", "totals", "dialects"]}},
    )
    project.dbt("deps")
    project.first = project.dbt("build")
    return project


def nodes(shop, column, invocation, branch="main"):
    """What was kept of each node of a run, hooks left out."""
    found = shop.rows(
        f"select node, {column} from analytics_audit.results where invocation = '{invocation}'"
        " and node not like 'operation.%'",
        branch,
    )
    return {name.split(".")[2]: value for name, value in found}


def last_invocation(shop):
    return shop.json("run_results.json")["metadata"]["invocation_id"]


def test_its_models_seeds_and_tests_are_built_and_pass(shop):
    ran = shop.first
    assert ran.status("inventory") == ran.status("severities") == "success"
    assert ran.status("severities_are_small") == "pass"
    assert ran.status("audit_source_known_status_kept_results_status") == "pass"
    assert shop.kinds("analytics_audit") == {
        "inventory": "table",
        "invocations": "table",
        "latest_results": "view",
        "nodes": "table",
        "results": "table",
        "run_history": "table",
        "severities": "table",
    }


def test_macros_are_dispatched_to_the_nearest_dialect(shop):
    assert shop.rows("dialects") == [("vcs", "spark", "default")]
    assert shop.snapshot("analytics_audit.nodes").properties["made_by"] == "audit"


def test_the_projects_own_dialect_wins_where_it_says_so(shop):
    shop.write({"macros/own.sql": "{% macro spark__sparks() %}{{ return('shop') }}{% endmacro %}"})
    order = [{"macro_namespace": "audit", "search_order": ["shop", "audit"]}]
    shop.configure(dispatch=order)
    ran = shop.dbt("compile", "--select", "dialects")
    shop.remove("macros/own.sql")
    shop.configure(dispatch=[])
    assert "'shop' as sparks" in ran.said


def test_the_results_that_dbt_hands_it_are_kept(shop):
    statuses = {
        name: status.replace("Status.", "") for name, status in shop.first.statuses.items()
    }
    invocation = shop.rows("select invocation from analytics_audit.invocations")[0][0]
    assert nodes(shop, "status", invocation).items() <= statuses.items()
    assert set(nodes(shop, "status", invocation)) >= {"orders", "totals", "inventory"}


def test_the_adapters_response_is_kept_as_packages_do(shop):
    invocation = shop.rows("select invocation from analytics_audit.invocations")[0][0]
    told = nodes(shop, "response", invocation)
    orders = json.loads(told["orders"])
    names = ("rows_affected", "rows_inserted", "rows_updated", "rows_deleted")
    assert [orders[name] for name in names] == [4, 4, 0, 0]
    assert json.loads(told["totals"]).keys().isdisjoint(names)


def test_the_graph_is_kept(shop):
    found = {row[0]: row[1:] for row in shop.rows("analytics_audit.nodes")}
    assert found["model.shop.orders"] == ("model", "table", 0, "ann")
    assert found["model.shop.totals"] == ("model", "view", 1, None)
    assert found["seed.audit.severities"] == ("seed", "seed", 0, None)


def test_it_sees_the_relations_of_the_branch(shop):
    assert shop.rows("analytics_audit.inventory") == [
        ("dialects", "table", "nearest,sparks,anybodys", "string,string,string", True),
        ("orders", "table", "id,price", "bigint,double", True),
        ("totals", "view", "total", "double", True),
    ]


def test_a_run_adds_to_what_its_hooks_made(shop):
    shop.dbt("run", "--vars", "{audit_messages: true, audit_after: [orders, totals, dialects]}")
    invocation = last_invocation(shop)
    assert nodes(shop, "message", invocation)["orders"].startswith("REUSED from a run for main, ")
    fields = shop.snapshot("analytics_audit.results").schema.fields
    assert [field.name for field in fields][-1] == "message"
    assert shop.snapshot("analytics_audit.invocations").rows == 2
    shop.dbt("seed")
    invocation = last_invocation(shop)
    assert nodes(shop, "status", invocation)["severities"] in BUILT


def test_what_it_keeps_of_a_run_that_fails_stays_with_the_run(shop):
    head = shop.head()
    shop.write({"models/broken.sql": TABLE + "select nope from {{ ref('orders') }}"})
    shop.dbt("run", "--select", "orders", "broken", ok=False)
    shop.remove("models/broken.sql")
    assert shop.head() == head
    kept = nodes(shop, "status", last_invocation(shop), shop.run_branch())
    assert kept.pop("orders") in BUILT
    assert kept == {"broken": "error"}
