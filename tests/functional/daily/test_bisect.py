"""`dbt-vcs bisect` on a project: published runs, their models, and tests as conditions."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from dbt.adapters.vcs.cli import main
from dbt.adapters.vcs.engines.spark.engine import SparkEngine

from .models import TABLE, VIEW

pytestmark = pytest.mark.spark


def orders(amount):
    return TABLE + f"select id, {amount} as amount from range(20)"


SCHEMA = """
    models:
      - name: orders
        columns:
          - name: amount
            data_tests:
              - not_null
              - unique: {name: few_doubles, config: {error_if: "> 5"}}
"""
BROKEN = {
    "models/orders.sql": orders("if(id = 3, -1, id)"),
    "models/doubled.sql": VIEW + "select id, 2 * amount as twice from {{ ref('orders') }}",
}


@pytest.fixture(scope="module")
def shop(make_project):
    """Nine runs: the fifth breaks orders, and orders alone; the third has no doubled."""
    project = make_project(
        {
            "models/schema.yml": SCHEMA,
            "models/orders.sql": orders("id"),
            "models/other.sql": TABLE + "select 0 as n",
            "models/doubled.sql": BROKEN["models/doubled.sql"],
            "tests/no_negative.sql": "select * from {{ ref('orders') }} where amount < 0",
        }
    )
    project.dbt("run")
    project.repository.create_tag("good", project.head(), author="ann")
    for number in range(1, 9):
        files = {"models/other.sql": TABLE + f"select {number} as n"}
        if number == 5:
            files |= BROKEN
        elif number < 5:
            files["models/orders.sql"] = orders(f"id + {number}")
        else:
            files["models/orders.sql"] = orders(f"if(id = {number}, -1, id)")
        project.write(files)
        project.dbt("run")
        if number == 5:
            project.repository.create_tag("broken", project.head(), author="ann")
    project.dbt("compile")
    return project


@pytest.fixture(autouse=True)
def in_the_project(monkeypatch, shop):
    monkeypatch.chdir(shop.folder)


@pytest.fixture
def no_spark(monkeypatch):
    def refuse(self, label):
        raise AssertionError(f"{label} starts Spark")

    monkeypatch.setattr(SparkEngine, "session", refuse)


def bisect(*arguments, code=0):
    done = CliRunner().invoke(main, ["bisect", *arguments, "--json"])
    assert done.exit_code == code, done.output
    return json.loads(done.stdout) if code < 2 else done.output


def check_found(shop, report):
    found = report["first_bad"]
    assert found["commit"] == shop.repository.resolve("broken")
    assert found["invocation"] == shop.repository.objects.commit(found["commit"]).run.invocation
    assert found["nodes"] == ["model.shop.orders"]
    (step,) = found["steps"]
    assert shop.repository.objects.commit(step).summary == "model.shop.orders (success)"


@pytest.mark.parametrize("test", ["no_negative", "test.shop.no_negative"])
def test_a_simple_test_finds_the_model_without_spark(shop, no_spark, test):
    report = bisect("good", "main", "--test", test)
    check_found(shop, report)
    assert report["condition"] == "test.shop.no_negative"
    assert (report["commits"], report["looks"] <= 5) == (8, True)


@pytest.mark.parametrize(
    "sql",
    [
        "select min(twice) >= 0 from doubled",
        "(select min(amount) from analytics.orders) >= 0",
        "with bad as (select * from orders where amount < 0) select id from bad",
    ],
)
def test_spark_looks_at_what_takes_more(shop, sql):
    report = bisect("good", "--sql", sql)
    check_found(shop, report)
    assert 3 <= report["looks"] <= 5


def test_a_test_with_a_limit_is_taken_with_it(shop):
    # No version has more than five doubles.
    said = bisect("good", "main", "--test", "few_doubles", code=2)
    assert "is good at 'main'" in said and "nothing broke it" in said


def test_what_cannot_be_evaluated_is_skipped_and_named(shop):
    repository = shop.repository
    sql = "select twice from doubled where twice < 0 or nope > 1"
    said = bisect("good", "main", "--sql", sql, code=2)
    assert "can't be evaluated at 'good'" in said and "nope" in said
    repository.create_branch("gaps", repository.resolve("good"), author="ann")
    shop.sql("alter table analytics.orders drop column amount", "gaps")
    skipped = repository.resolve("gaps")
    shop.sql("create or replace table analytics.orders as select 1L id, -1L amount", "gaps")
    report = bisect("good", "gaps", "--sql", "select min(amount) >= 0 from orders", code=1)
    assert report["first_bad"] is None
    assert [item["commit"] for item in report["candidates"]] == [
        repository.resolve("gaps"),
        skipped,
    ]
    (reason,) = report["skipped"]
    assert reason["commit"] == skipped and "amount" in reason["reason"]


def test_the_operation_says_the_same(shop):
    ran = shop.dbt(
        "run-operation", "vcs_bisect", "--args", "{good: good, bad: main, test: no_negative}"
    )
    commit = shop.repository.resolve("broken")
    assert f"{commit[:12]} is the first bad commit: dbt run --target dev" in ran.said
    assert "by model.shop.orders" in ran.said
    ran = shop.dbt("run-operation", "vcs_bisect", "--args", "{good: good, test: nope}", ok=False)
    assert "There is no test 'nope'" in ran.said
