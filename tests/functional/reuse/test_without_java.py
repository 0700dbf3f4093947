"""Where nothing is to be computed, dbt builds without Java; where something is, Spark is early."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from dbt.adapters.vcs.engines.spark.engine import SparkEngine
from tests.functional.daily.models import TABLE, VIEW, incremental

pytestmark = pytest.mark.spark

NUMBERS = range(60)
EVERY_KIND = {
    "seeds/rates.csv": "country,rate\nde,19\nfr,20\n",
    "models/orders.sql": TABLE + "select id, if(id % 2 = 0, 'de', 'fr') as country from range(60)",
    "models/taxed.sql": VIEW
    + "select o.id, r.rate from {{ ref('orders') }} o join {{ ref('rates') }} r using (country)",
    "models/late.sql": TABLE + "select id, {{ function('doubled') }}(id) as twice"
    " from {{ ref('taxed') }} where id >= 45",
    "models/grown.sql": incremental(
        "merge",
        "select id from {{ ref('orders') }}",
        "select id from {{ ref('orders') }} where id >= (select max(id) from {{ this }})",
        unique_key="id",
    ),
    "models/thirds.py": """
        import pyspark.sql.functions as F

        def model(dbt, session):
            dbt.config(materialized="table", reuse=True)
            return dbt.ref("orders").where(F.col("id") % 3 == 0).select("id")
    """,
    "functions/doubled.sql": "x * 2",
    "functions/functions.yml": """
        functions:
          - name: doubled
            config: {volatility: deterministic}
            arguments: [{name: x, data_type: bigint}]
            returns: {data_type: bigint}
    """,
    "snapshots/kept.yml": """
        snapshots:
          - name: kept
            relation: ref('orders')
            config: {unique_key: id, strategy: check, check_cols: all}
    """,
    "models/schema.yml": """
        models:
          - name: orders
            config: {post_hook: "select count(*) from {{ this }}"}
            columns: [{name: id, data_tests: [unique, not_null]}]
        unit_tests:
          - name: doubles
            model: late
            given: [{input: ref('taxed'), rows: [{id: 44}, {id: 45}]}]
            expect: {rows: [{id: 45, twice: 90}]}
    """,
    "tests/few.sql": "select * from {{ ref('grown') }} where id >= 60",
}
HOOKS = {"on-run-start": ["select max(rate) from {{ ref('rates') }}"]}
ROWS = {
    "rates": 2,
    "orders": len(NUMBERS),
    "late": sum(number >= 45 for number in NUMBERS),
    "grown": len(NUMBERS),
    "thirds": sum(number % 3 == 0 for number in NUMBERS),
    "kept": len(NUMBERS),
}


def build_without_java(shop):
    """Run dbt build in a process of its own that finds no Java; return what it says."""
    done = subprocess.run(
        [sys.executable, "-m", "dbt.cli.main", "build", "--profiles-dir", "."],
        cwd=shop.folder,
        env={**os.environ, "JAVA_HOME": "/nowhere"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_a_build_of_every_kind_of_node_needs_no_java_where_nothing_is_new(make_project):
    shop = make_project(EVERY_KIND)
    shop.dbt("seed")
    shop.configure(**HOOKS)
    shop.dbt("build")
    shop.dbt("build")
    head = shop.head()
    said = build_without_java(shop)
    assert "Nothing changed" in said
    # dbt 1.12 counts what was reused in between.
    assert "ERROR=0 SKIP=0 " in said and "TOTAL=13" in said
    # The file is another one, so Spark is started early; nobody needs it, so it may fail.
    shop.write({"models/orders.sql": "-- All of them\n" + EVERY_KIND["models/orders.sql"]})
    shop.output["branch"] = "feature"
    shop.configure()
    assert "Created branch feature" in build_without_java(shop)
    assert shop.head() == shop.head("feature") == head
    for name, rows in ROWS.items():
        assert shop.snapshot(name).rows == rows


def test_spark_starts_early_where_nothing_is_known_and_after_a_change(make_project, monkeypatch):
    shop = make_project({"models/m.sql": TABLE + "select 1 as id"})
    prepared = []
    monkeypatch.setattr(SparkEngine, "prepare", lambda self: prepared.append(self))

    def starts(*arguments):
        prepared.clear()
        shop.dbt(*arguments)
        return len(prepared)

    # No branch has a relation, so the first run computes something.
    assert starts("run") == 1
    assert not starts("run")
    shop.write({"models/m.sql": TABLE + "select 2 as id"})
    assert not starts("parse")
    assert not starts("compile")
    assert starts("run") == 1
    assert shop.column("m") == [2]
    assert not starts("run")
