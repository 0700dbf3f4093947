"""Tables, views and ephemeral models: what a branch holds after each build."""

from __future__ import annotations

import pytest

from .models import TABLE, VIEW, config

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def shop(make_project):
    project = make_project(
        {
            "models/raw.sql": config(materialized="ephemeral") + "select 1 as id, 'ann' as name",
            "models/people.sql": TABLE
            + "select * from {{ ref('raw') }} union all select 2, 'bob'",
            "models/names.sql": VIEW + "select name from {{ ref('people') }}",
            "models/counted.sql": TABLE + "select count(*) as n from {{ ref('names') }}",
            "models/other.sql": config(materialized="table", schema="Finance", alias="Ledger")
            + "select cast(3 as bigint) as id",
        }
    )
    project.dbt("run")
    return project


def test_each_materialization_is_what_it_says(shop):
    assert shop.kinds() == {"people": "table", "names": "view", "counted": "table"}
    assert shop.kinds("analytics_finance") == {"ledger": "table"}
    assert shop.rows("people") == [(1, "ann"), (2, "bob")]
    assert shop.column("names") == ["ann", "bob"]
    assert shop.column("counted") == [2]
    assert shop.column("select id from analytics_finance.ledger") == [3]


def test_rebuild_keeps_the_lineage_of_a_table(shop):
    before, before_entry = shop.snapshot("people"), shop.entry("people")
    ledger = shop.entry("analytics_finance.ledger")
    shop.write(
        {
            "models/people.sql": TABLE
            + "select 'x' as extra, cast(id as bigint) as id, name from {{ ref('raw') }}",
        }
    )
    shop.dbt("run")
    after = shop.snapshot("people")
    assert after.table == before.table
    assert after.parents == (before_entry.snapshot,)
    assert after.operation == "rebuild"
    ids = {field.name: field.id for field in before.schema.fields}
    assert {f.name: f.id for f in after.schema.fields} == {**ids, "extra": "extra"}
    assert shop.rows("people") == [("x", 1, "ann")]
    assert shop.column("counted") == [1]
    # Nothing that it is made of has changed.
    assert shop.entry("analytics_finance.ledger") == ledger


def test_views_and_tables_change_places(shop):
    shop.write(
        {
            "models/people.sql": VIEW + "select id, name from {{ ref('raw') }}",
            "models/names.sql": TABLE + "select name from {{ ref('people') }}",
        }
    )
    shop.dbt("run")
    assert shop.kinds() == {"people": "view", "names": "table", "counted": "table"}
    assert shop.rows("people") == [(1, "ann")]
    shop.write(
        {
            "models/people.sql": TABLE + "select id, name from {{ ref('raw') }}",
            "models/names.sql": VIEW + "select upper(name) as name from {{ ref('people') }}",
        }
    )
    shop.dbt("run")
    assert shop.kinds() == {"people": "table", "names": "view", "counted": "table"}
    assert shop.column("names") == ["ANN"]


def test_unchanged_views_make_no_commit(shop):
    head = shop.head()
    shop.dbt("run", "--select", "names")
    assert shop.head() == head
