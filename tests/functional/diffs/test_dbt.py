"""Diffs in a dbt project: the macro, tests on diffs, and tests of only the changed rows."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.functional.daily.project import Project

pytestmark = pytest.mark.spark

SCHEMA = """
    models:
      - name: customers
        columns: [{name: id, data_tests: [unique]}]
      - name: orders
        data_tests:
          - diff_is_empty: {name: t_empty}
          - diff_is_empty: {name: t_empty_in_march, config: {where: "month = 3"}}
          - diff_is_empty: {name: t_empty_to_itself, arguments: {compared_to: "dev"}}
          - diff_max_rows: {name: t_rows_4, arguments: {max: 4}}
          - diff_max_rows: {name: t_rows_3, arguments: {max: 3}}
          - diff_max_change_ratio: {name: t_ratio_100, arguments: {max: 1}}
          - diff_max_change_ratio: {name: t_ratio_60, arguments: {max: 0.6}}
          - diff_no_removed: {name: t_removed}
          - diff_only_columns: {name: t_only_amount, arguments: {columns: [amount]}}
          - diff_expression_is_true: {name: t_true, arguments: {expression: "amount > -100"}}
          - diff_expression_is_true: {name: t_false, arguments: {expression: "amount > 0"}}
        columns:
          - name: id
            data_tests:
              - unique: {name: s_unique}
              - not_null: {name: s_id}
              - positive: {name: s_own}
          - name: customer
            data_tests:
              - relationships: {name: s_parents, arguments: {to: ref('customers'), field: id}}
          - name: amount
            data_tests:
              - not_null: {name: s_amount}
              - not_null: {name: s_march, config: {where: "month = 3"}}
      - name: prices
        data_tests:
          - unique: {name: s_names, column_name: name}
          - diff_only_columns: {name: t_only_price, arguments: {columns: price}}
          - diff_only_columns: {name: t_only_name, arguments: {columns: name}}
          - diff_max_change_ratio: {name: t_ratio_prices, arguments: {max: 0.1}}
      - name: seen
        columns: [{name: id, data_tests: [not_null: {name: s_view}]}]
"""
POSITIVE = """
    {% test positive(model, column_name) %}
    select m.* from {{ model }} as m where m.{{ column_name }} <= 0
    {% endtest %}
"""
TABLE = "{{ config(materialized='table', primary_key='id') }}\n"
KEYLESS = "{{ config(materialized='table') }}\n"
VIEW = "{{ config(materialized='view') }}\n"
BEFORE = "(1, 1, 10, 1), (2, 2, null, 1), (3, 1, 5, 3), (-4, 2, 7, 3), (5, 2, 1, 1)"
AFTER = "(1, 1, 11, 1), (2, 2, null, 1), (3, 1, 5, 3), (-4, 2, 7, 3), (6, 1, -1, 2), (7, 9, 3, 2)"


def orders(rows: str) -> str:
    return f"{TABLE}select * from values {rows} as t(id, customer, amount, month)"


def customers(ids: str) -> str:
    return f"{TABLE}select explode(array({ids})) as id"


def prices(rows: str) -> str:
    return f"{KEYLESS}select * from values {rows} as t(name, price)"


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    """`main` was built with the older rows, then `dev` left it and was built with the newer."""
    project = Project(
        tmp_path_factory.mktemp("shop") / "project",
        {
            "models/schema.yml": SCHEMA,
            "macros/positive.sql": POSITIVE,
            "models/customers.sql": customers("1, 2"),
            "models/orders.sql": orders(BEFORE),
            "models/prices.sql": prices("('a', 1), ('b', 2), ('b', 2)"),
            "models/seen.sql": VIEW + "select * from {{ ref('orders') }}",
            "models/changed.sql": VIEW + "select * from "
            "{{ snapshot_diff(ref('orders'), columns=['amount'], where='to_id <> 2') }}",
            "models/news.sql": KEYLESS + "select * from "
            "{{ snapshot_diff(ref('orders'), from='main', to=ref('orders'), "
            "shape='signed') }}",
        },
    )
    project.dbt("run")
    project.output["branch"] = "dev"
    project.configure()
    project.write(
        {
            "models/orders.sql": orders(AFTER),
            "models/prices.sql": prices("('a', 1), ('b', 3), ('b', 3)"),
        }
    )
    project.first = project.dbt("run")
    yield project
    project.close()


def found(project: Project, *arguments: str) -> dict[str, str]:
    return project.dbt("test", *arguments, ok=None).statuses


def test_models_read_diffs(shop: Project) -> None:
    changed = shop.rows("select diff_type, from_id, to_id, to_amount from changed", "dev")
    assert changed == [
        ("added", None, 6, -1),
        ("added", None, 7, 3),
        ("modified", 1, 1, 11),
    ]
    assert shop.rows("select diff_count, id from news", "dev") == [
        (-1, 1),
        (-1, 5),
        (1, 1),
        (1, 6),
        (1, 7),
    ]
    origin = shop.snapshot("news", "dev").origin
    assert [item.relation for item in origin.inputs] == ["analytics.orders"] * 2


def test_tests_on_diffs(shop: Project) -> None:
    assert found(shop, "--select", "t_*") == {
        "t_empty": "fail",
        "t_empty_in_march": "pass",
        "t_empty_to_itself": "pass",
        "t_rows_4": "pass",
        "t_rows_3": "fail",
        "t_ratio_100": "pass",
        "t_ratio_60": "fail",
        "t_removed": "fail",
        "t_only_amount": "fail",
        "t_true": "pass",
        "t_false": "fail",
        "t_only_price": "pass",
        "t_only_name": "fail",
        "t_ratio_prices": "fail",
    }


def test_changed_rows_alone(shop: Project) -> None:
    scoped = found(shop, "--vars", "{vcs_scope: diff}", "--select", "s_*")
    assert scoped == {
        "s_unique": "pass",
        "s_id": "pass",
        "s_own": "pass",
        "s_parents": "fail",
        "s_amount": "pass",
        "s_march": "pass",
        "s_names": "fail",
        "s_view": "pass",
    }
    whole = found(shop, "--select", "s_*")
    assert whole == {**scoped, "s_own": "fail", "s_amount": "fail"}


def test_changed_rows_are_held_against_all_others(shop: Project) -> None:
    shop.write(
        {
            "models/customers.sql": customers("1"),
            "models/prices.sql": prices("('a', 1), ('a', 9), ('b', 2), ('b', 2)"),
        }
    )
    ran = shop.dbt("build", "--vars", "{vcs_scope: diff}", "--exclude", "t_*", ok=False)
    assert ran.message("s_parents").startswith("Got 3 results")
    assert ran.message("s_names").startswith("Got 1 result")


def test_a_record_tells_both_versions(shop: Project) -> None:
    shop.dbt("test", "--select", "t_removed", ok=False)
    record = shop.repository.objects.commit(shop.head(shop.run_branch())).run
    assert record is not None
    (node,) = record.nodes
    ids = {item.snapshot for item in node.inputs}
    assert len(node.inputs) == len(ids) == 2
    entry = shop.entry("orders", "dev")
    assert entry is not None
    assert entry.snapshot in ids


def test_refusals(shop: Project) -> None:
    ran = shop.dbt("test", "--select", "s_id", "--vars", "{vcs_scope: some}", ok=False)
    assert "expected 'diff'" in ran.error


def test_the_operation(shop: Project) -> None:
    arguments = (
        "{revisions: main...dev, relation: analytics.orders, columns: [customer], limit: 1}"
    )
    said = shop.dbt("run-operation", "vcs_diff", "--args", arguments).said
    assert "analytics.orders  +2 -1 ~0" in said
    assert "2 more rows" in said
