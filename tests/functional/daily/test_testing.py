"""dbt's tests: what they find, what they store, and what they hold back."""

from __future__ import annotations

import pytest

from .models import TABLE, VIEW

pytestmark = pytest.mark.spark

SCHEMA = """
    models:
      - name: orders
        columns:
          - name: id
            data_tests:
              - unique: {config: {severity: warn, store_failures: true, alias: double_ids}}
              - not_null
          - name: kind
            data_tests:
              - accepted_values:
                  arguments: {values: ['a', its]}
                  config: {store_failures: true, alias: odd_kinds}
              - relationships:
                  arguments: {to: ref('kinds'), field: kind}
    unit_tests:
      - name: doubles
        model: doubled
        given:
          - input: ref('orders')
            rows:
              - {id: 2, kind: its}
              - {id: 3, kind: null}
        expect:
          rows:
            - {twice: 4, kind: its}
            - {twice: 6, kind: null}
      - name: doubles_from_sql
        model: doubled
        given:
          - input: ref('orders')
            format: sql
            rows: select 1 as id, 'a' as kind
        expect:
          format: csv
          rows: |
            twice,kind
            2,a
"""
GOOD = "select * from values (1, 'a'), (2, 'its'), (2, 'a') as t(id, kind)"
BAD = "select * from values (1, 'a'), (2, 'zzz') as t(id, kind)"


@pytest.fixture(scope="module")
def shop(make_project):
    project = make_project(
        {
            "models/schema.yml": SCHEMA,
            "models/kinds.sql": VIEW + "select explode(array('a', 'its', 'zzz')) as kind",
            "models/orders.sql": TABLE + GOOD,
            "models/doubled.sql": VIEW + "select id * 2 as twice, kind from {{ ref('orders') }}",
            "tests/none_negative.sql": "select * from {{ ref('orders') }} where id < 0",
        }
    )
    project.first = project.dbt("build")
    return project


def test_all_kinds_of_tests_pass_or_warn(shop):
    statuses = shop.first.statuses
    assert statuses.pop("unique_orders_id") == "warn"
    assert statuses.pop("doubles") == statuses.pop("doubles_from_sql") == "pass"
    tests = {
        status for name, status in statuses.items() if name not in ("kinds", "orders", "doubled")
    }
    assert tests == {"pass"}
    assert len(statuses) == 3 + 4


def test_failures_of_a_warning_are_published(shop):
    assert shop.kinds("analytics_dbt_test__audit") == {"double_ids": "table", "odd_kinds": "table"}
    double_ids = "select * from analytics_dbt_test__audit.double_ids"
    assert shop.rows(double_ids) == [(2, 2)]
    assert shop.snapshot("analytics_dbt_test__audit.odd_kinds").rows == 0
    origin = shop.snapshot("analytics_dbt_test__audit.double_ids").origin
    assert origin.node.startswith("test.shop.unique_orders_id")


def test_failures_are_kept_on_the_run_branch(shop):
    head = shop.head()
    shop.write({"models/orders.sql": TABLE + BAD})
    ran = shop.dbt("build", ok=False)
    assert shop.head() == head
    assert shop.rows("orders") != [(1, "a"), (2, "zzz")]
    (name,) = [name for name, status in ran.statuses.items() if status == "fail"]
    assert name.startswith("accepted_values")
    assert ran.status("doubled") == "skipped"
    branch = shop.run_branch()
    assert shop.rows("orders", branch) == [(1, "a"), (2, "zzz")]
    query = "select value_field, n_records from analytics_dbt_test__audit.odd_kinds"
    assert shop.rows(query, branch) == [("zzz", 1)]
    assert shop.rows(query) == []


def test_tests_alone_change_nothing_but_what_they_store(shop):
    shop.write({"models/orders.sql": TABLE + GOOD})
    head, refs = shop.head(), shop.refs()
    ran = shop.dbt("test", "--select", "none_negative", "not_null_orders_id", "kinds")
    assert set(ran.statuses.values()) == {"pass"}
    added = {name: head for name, head in shop.refs().items() if name not in refs}
    assert {name: shop.refs()[name] for name in refs} == refs
    ((record, commit),) = added.items()
    assert record.startswith("runs/")
    assert shop.repository.tree(commit).id == shop.repository.tree(head).id
    run = shop.repository.objects.commit(commit).run
    assert {node.status for node in run.nodes} == {"pass"}
    assert all(node.inputs for node in run.nodes)
    shop.dbt("test", "--select", "orders,test_type:generic", "--store-failures")
    assert shop.head() != head
    assert shop.kinds() == {"kinds": "view", "orders": "table", "doubled": "view"}


def test_a_test_that_can_not_run_says_why(shop):
    shop.write(
        {
            "tests/breaks.sql": "select id from {{ ref('orders') }} "
            "where cast(raise_error('no such day') as boolean)",
            "tests/misspelt.sql": "select no_such_column from {{ ref('orders') }}",
        }
    )
    ran = shop.dbt("test", "--select", "breaks", "misspelt", ok=False)
    assert ran.statuses == {"breaks": "error", "misspelt": "error"}
    assert "no such day" in ran.message("breaks")
    assert "UNRESOLVED_COLUMN" in ran.message("misspelt")
    assert "Traceback" not in ran.said and "py4j" not in ran.said
    shop.remove("tests/breaks.sql", "tests/misspelt.sql")
