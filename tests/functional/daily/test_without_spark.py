"""Commands that ask about tables and read no row are answered without Spark."""

from __future__ import annotations

import datetime as dt

import pytest

from dbt.adapters.vcs.core.ids import datetime_of
from dbt.adapters.vcs.engines.spark.engine import SparkEngine

from .models import TABLE, config

pytestmark = pytest.mark.spark

SOURCES = """
    sources:
      - name: made
        schema: analytics
        config: {freshness: {warn_after: {count: 1, period: day}}}
        tables:
          - name: orders
          - {name: by_column, identifier: orders, config: {loaded_at_field: at}}
          - {name: totals}
          - {name: absent}
      - name: files
        config:
          meta: {external_location: "data/{name}.csv"}
          freshness: {warn_after: {count: 1, period: day}}
        tables:
          - {name: silent}
          - name: telling
            config: {loaded_at_query: "select max(at) from {{ this }}"}
"""
ORDERS = TABLE + "select id, timestamp'2026-01-01 12:00:00' as at from range(9)"


@pytest.fixture(scope="module")
def shop(make_project):
    project = make_project(
        {
            "models/sources.yml": SOURCES,
            "models/orders.sql": ORDERS,
            "models/totals.sql": config(materialized="view", meta={"owner": "ann"})
            + "select count(*) as orders from {{ ref('orders') }}",
            "models/looking.sql": TABLE
            + "select {{ adapter.get_columns_in_relation(ref('orders')) | length }} as columns,"
            " '{{ load_relation(ref('orders')) }}' as relation from {{ ref('orders') }}",
            "seeds/names.csv": "id,name\n1,one\n",
            "data/silent.csv": "id\n1\n",
            "data/telling.csv": "id,at\n1,2026-01-03 12:00:00\n",
        }
    )
    project.dbt("build")
    return project


def refused(self, label):
    raise AssertionError(f"{label} starts Spark")


@pytest.fixture
def no_spark(monkeypatch):
    """Whoever asks for Spark fails."""
    monkeypatch.setattr(SparkEngine, "session", refused)


def catalog_of(shop):
    shop.dbt("docs", "generate")
    catalog = shop.json("catalog.json")
    assert not catalog["errors"]
    return {id.rpartition(".")[2]: node for id, node in catalog["nodes"].items()}


def told(node):
    return {id: item["value"] for id, item in node["stats"].items() if item["include"]}


@pytest.mark.parametrize(
    "command",
    [
        ("ls",),
        ("ls", "--select", "source:made+", "--output", "json"),
        ("parse",),
        ("compile",),
        ("compile", "--select", "looking"),
        ("docs", "generate", "--select", "orders"),
    ],
    ids=" ".join,
)
def test_it_starts_no_spark(shop, no_spark, command):
    head = shop.head()
    shop.dbt(*command)
    assert shop.head() == head


def test_what_is_compiled_knows_the_branch(shop, no_spark):
    ran = shop.dbt("compile", "--select", "looking")
    assert "select 2 as columns, 'analytics.orders'" in ran.said.replace("`", "")


def test_docs_tell_rows_bytes_and_where_a_relation_comes_from(shop, no_spark):
    found = catalog_of(shop)
    snapshot, entry = shop.snapshot("orders"), shop.entry("orders")
    commit = shop.repository.objects.commit(shop.head())
    common = {
        "branch": "main",
        "commit": shop.head()[:12],
        "committed_at": datetime_of(commit.committed_at).isoformat(" ", "seconds"),
        "author": commit.author,
        "message": "dbt build --target dev",
        "invocation": commit.run.invocation,
    }
    assert told(found["orders"]) == {
        **common,
        "rows": 9,
        "stale": "no",
        "bytes": snapshot.bytes,
        "files": len(shop.blocks("orders")),
        "last_modified": datetime_of(snapshot.created_at).isoformat(" ", "seconds"),
        "snapshot": entry.snapshot[:12],
    }
    assert told(found["totals"]) == common
    assert found["names"]["columns"]["name"]["type"] == "string"
    manifest = shop.json("manifest.json")["nodes"]["model.shop.totals"]
    assert manifest["config"]["meta"] == {"owner": "ann"}


def test_docs_of_a_part_are_of_that_part(shop, no_spark):
    shop.dbt("docs", "generate", "--select", "orders")
    catalog = shop.json("catalog.json")
    assert set(catalog["nodes"]) == {"model.shop.orders"}
    assert told(catalog["nodes"]["model.shop.orders"])["rows"] == 9


def test_each_relation_has_the_commit_that_made_it(shop):
    before = shop.head()
    shop.write({"models/orders.sql": ORDERS.replace("range(9)", "range(7)")})
    shop.dbt("run", "--select", "orders")
    found = catalog_of(shop)
    assert told(found["orders"])["commit"] == shop.head()[:12]
    assert told(found["orders"])["message"] == "dbt run --target dev"
    assert told(found["totals"])["commit"] == before[:12]


def test_a_branch_that_is_not_there_yet_shows_its_base(shop, no_spark):
    shop.output["branch"] = "feature/new"
    shop.configure()
    try:
        assert told(catalog_of(shop)["orders"])["branch"] == "main"
    finally:
        shop.output["branch"] = "main"
        shop.configure()
    assert "feature/new" not in shop.refs()


def test_a_tables_freshness_is_its_manifests(shop, no_spark):
    ran = shop.dbt("source", "freshness", "--select", "source:made.orders")
    (result,) = shop.json("sources.json")["results"]
    loaded = dt.datetime.fromisoformat(result["max_loaded_at"])
    assert loaded == datetime_of(shop.snapshot("orders").created_at), ran.said
    assert result["status"] == "pass"


def test_what_has_no_such_time_says_what_to_do(shop, no_spark):
    names = ["source:made.totals", "source:made.absent", "source:files.silent"]
    ran = shop.dbt("source", "freshness", "--select", *names, ok=False)
    assert ran.statuses == dict.fromkeys(("totals", "absent", "silent"), "runtime error")
    for name, words in {
        "totals": "analytics.totals is a view, and only a table's manifest has",
        "absent": "There is no table or view analytics.absent here",
        "silent": f"files.silent refers to files at {shop.folder}/data/silent.csv",
    }.items():
        assert words in ran.said, name
    assert ran.said.count("loaded_at_field") == 2


def test_a_column_or_a_query_tells_as_ever(shop):
    names = ["source:made.by_column", "source:files.telling"]
    shop.dbt("source", "freshness", "--select", *names)
    results = shop.json("sources.json")["results"]
    assert {result["unique_id"]: result["max_loaded_at"] for result in results} == {
        "source.shop.made.by_column": "2026-01-01T12:00:00+00:00",
        "source.shop.files.telling": "2026-01-03T12:00:00+00:00",
    }
    assert {result["status"] for result in results} == {"warn"}


TESTED = {
    "models/orders.sql": config(materialized="table", primary_key="id")
    + "select id, if(id = 3, null, 'x') as kind, 'x' as state from range(9)",
    "models/seen.sql": config(materialized="view") + "select * from {{ ref('orders') }}",
    "models/schema.yml": """
        models:
          - name: orders
            columns:
              - {name: id, data_tests: [unique, not_null]}
              - {name: kind, data_tests: [not_null]}
              - name: state
                data_tests:
                  - not_null: {config: {severity: warn, warn_if: ">= 1", limit: 5}}
          - name: seen
            columns: [{name: id, data_tests: [not_null]}]
    """,
}
KNOWN = ("unique_orders_id", "not_null_orders_id", "not_null_orders_state")


def test_tests_that_pass_by_the_manifests_start_no_spark(make_project, monkeypatch):
    shop = make_project(TESTED)
    shop.dbt("run")
    with monkeypatch.context() as patched:
        patched.setattr(SparkEngine, "session", refused)
        ran = shop.dbt("test", "--select", *KNOWN)
    assert ran.statuses == dict.fromkeys(KNOWN, "pass")
    # The record says what was read, whoever read it.
    run = shop.repository.objects.commit(shop.head(shop.run_branch())).run
    assert [node.inputs for node in run.nodes] == [run.nodes[0].inputs] * len(KNOWN)
    assert [item.relation for item in run.nodes[0].inputs] == ["analytics.orders"]
    assert shop.dbt("test", ok=False).statuses == {
        **dict.fromkeys((*KNOWN, "not_null_seen_id"), "pass"),
        "not_null_orders_kind": "fail",
    }
