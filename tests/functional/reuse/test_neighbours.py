"""Reuse with its neighbours: configs, comments, hooks, other hands, a table's past."""

from __future__ import annotations

import pytest

from dbt.adapters.vcs.api import connect
from tests.functional.daily.models import TABLE, config, incremental
from tests.functional.daily.project import SPARK

pytestmark = pytest.mark.spark


def reused(ran):
    return {name for name, (_, message) in ran.nodes.items() if message.startswith("REUSED")}


def comments(shop, name):
    schema = shop.snapshot(name).schema
    return {field.name: field.comment for field in schema.fields}


def described(text):
    return (
        "{version: 2, models: [{name: m, description: " + text + ","
        " columns: [{name: id, description: " + text + "}]}]}"
    )


def test_what_describes_a_table_is_applied_to_a_taken_one(make_project):
    shop = make_project(
        {"models/m.sql": TABLE + "select id from range(3)", "models/m.yml": described("Old")},
        config={"models": {"+persist_docs": {"relation": True, "columns": True}}},
    )
    shop.dbt("run")
    assert comments(shop, "m") == {"id": "Old"}
    shop.write({"models/m.yml": described("New")})
    shop.dbt("run")
    assert comments(shop, "m") == {"id": "New"}
    shop.write({"models/m.yml": described("Old")})
    shop.dbt("run")
    assert comments(shop, "m") == {"id": "Old"}
    assert shop.column("m") == [0, 1, 2]


def test_configs_that_shape_a_table_count(make_project):
    query = "select id, id % 2 as half from range(4)"
    shop = make_project({"models/m.sql": TABLE + query})
    shop.dbt("run")
    shop.write({"models/m.sql": config(materialized="table", primary_key="id") + query})
    shop.dbt("run")
    assert shop.snapshot("m").primary_key
    shop.write({"models/m.sql": config(materialized="table", partition_by=["half"]) + query})
    shop.dbt("run")
    assert shop.snapshot("m").partition_by
    assert not shop.snapshot("m").primary_key
    shop.write({"models/m.sql": TABLE + query})
    shop.dbt("run")
    assert not shop.snapshot("m").partition_by
    assert sorted(shop.rows("select id, half from m")) == [(i, i % 2) for i in range(4)]


def test_a_table_that_somebody_changed_is_as_its_model_says_again(make_project):
    shop = make_project(
        {
            "models/m.sql": TABLE + "select id from range(3)",
            "models/after.sql": TABLE + "select count(*) as n from {{ ref('m') }}",
        }
    )
    shop.dbt("run")
    with connect(str(shop.root), spark=SPARK) as client:
        client.sql("delete from analytics.m where id = 1")
    assert shop.column("m") == [0, 2]
    shop.dbt("run", "--select", "after")
    assert shop.column("after") == [2]
    shop.dbt("run")
    assert shop.column("m") == [0, 1, 2]
    assert shop.column("after") == [3]


def test_hooks_that_add_rows_add_them_at_each_build(make_project):
    add = "insert into {{ target.schema }}.journal select 'm', count(*) from {{ this }}"
    shop = make_project(
        {
            "models/m.sql": config(materialized="table", post_hook=add)
            + "-- depends_on: {{ ref('journal') }}\nselect id from range(3)",
            "models/journal.sql": incremental(
                "append",
                "select 'start' as what, 0L as n",
                "select 'again' as what, 0L as n where false",
            ),
        }
    )
    for builds in range(1, 5):
        shop.dbt("run")
        assert sorted(shop.rows("journal")) == sorted([("start", 0)] + [("m", 3)] * builds)


def test_an_incremental_model_that_adds_rows_adds_them_each_time(make_project):
    shop = make_project(
        {"models/m.sql": incremental("append", "select 1 as id", "select 1 as id")}
    )
    for builds in range(1, 5):
        shop.dbt("run")
        assert shop.rows("m") == [(1,)] * builds


def test_a_model_whose_text_depends_on_rows_follows_them(make_project):
    shop = make_project(
        {
            "seeds/kinds.csv": "kind\na\nb\n",
            "models/wide.sql": TABLE
            + "{% set rows = run_query('select distinct kind from ' ~ ref('kinds')"
            " ~ ' order by kind') %}"
            "select {% if execute %}{% for row in rows %}"
            "count_if(kind = '{{ row[0] }}') as {{ row[0] }}{{ ',' if not loop.last }}"
            "{% endfor %}{% else %}1{% endif %} from {{ ref('kinds') }}",
        }
    )
    shop.dbt("build")
    assert "wide" in reused(shop.dbt("build"))
    shop.write({"seeds/kinds.csv": "kind\na\nb\nb\nc\n"})
    shop.dbt("build")
    assert shop.rows("select a, b, c from wide") == [(1, 2, 1)]
    shop.write({"seeds/kinds.csv": "kind\na\nb\n"})
    assert "wide" in reused(shop.dbt("build"))
    assert shop.rows("select * from wide") == [(1, 1)]


def test_seeds_count_by_their_types_and_bytes(make_project):
    shop = make_project({"seeds/s.csv": "id\n1\n2\n"})
    shop.dbt("seed")
    head = shop.head()
    shop.dbt("seed")
    assert shop.head() == head
    shop.configure(seeds={"+column_types": {"id": "string"}})
    shop.dbt("seed")
    assert sorted(shop.rows("s")) == [("1",), ("2",)]
    shop.write({"seeds/s.csv": "id\n1\n02\n"})
    shop.dbt("seed")
    assert sorted(shop.rows("s")) == [("02",), ("1",)]


def test_an_answer_of_a_test_counts_by_the_tests_configs(make_project):
    test = "models: [{name: m, columns: [{name: id, data_tests: [%s]}]}]"
    shop = make_project(
        {
            "models/m.sql": TABLE + "select id from range(3)",
            "models/m.yml": test % "{accepted_values: {arguments: {values: [0, 1]}}}",
        }
    )
    shop.dbt("build", ok=False)
    shop.write({"models/m.yml": test % "{accepted_values: {arguments: {values: [0, 1, 2]}}}"})
    shop.dbt("build")
    shop.write(
        {
            "models/m.yml": test
            % "{accepted_values: {arguments: {values: [0, 1]}, config: {where: id < 2}}}"
        }
    )
    shop.dbt("build")
    shop.write(
        {
            "models/m.yml": test
            % "{accepted_values: {arguments: {values: [0, 1]}, config: {severity: warn}}}"
        }
    )
    ran = shop.dbt("build")
    assert [status for status, _ in ran.nodes.values()].count("warn") == 1


def test_what_was_undone_is_built_again(make_project):
    shop = make_project({"models/m.sql": TABLE + "select id from range(3)"})
    shop.dbt("run")
    with connect(str(shop.root), spark=SPARK) as client:
        client.sql("drop table analytics.m")
    shop.dbt("run")
    assert shop.column("m") == [0, 1, 2]
    with connect(str(shop.root), spark=SPARK) as client:
        client.sql("alter table analytics.m add column more int")
    shop.dbt("run")
    assert [field.name for field in shop.snapshot("m").schema.fields] == ["id"]
