"""Descriptions, properties and query comments reach the branch as they were written."""

from __future__ import annotations

import pytest
import yaml

from .models import config

pytestmark = pytest.mark.spark

TEXT = 'It\'s "quoted", a\\path\\n, `ticks`,\ntwo lines, 100 %s {x} /* c */ -- d; 🦆'
COLUMN = "the 'id' of\na \\ thing; --"


@pytest.fixture(scope="module")
def shop(make_project):
    described = [
        {
            "name": name,
            "description": TEXT,
            "columns": [
                {"name": "id", "description": COLUMN},
                {"name": "Some Name", "description": TEXT, "quote": True},
                {"name": "absent", "description": "no such column"},
            ],
        }
        for name in ("a_table", "a_view", "grown")
    ]
    seeds = [
        {"name": "a_seed", "description": TEXT, "columns": [{"name": "id", "description": COLUMN}]}
    ]
    select = "select 1 as id, 'x' as `Some Name`"
    properties = {"it's": 'a "value"', "back\\slash": "a\\b", "number": 7}
    project = make_project(
        {
            "models/schema.yml": yaml.safe_dump({"models": described, "seeds": seeds}).encode(),
            "models/a_table.sql": config(materialized="table", tblproperties=properties)
            + "select id, 'x' as `Some Name` from {{ ref('a_seed') }}",
            "models/a_view.sql": config(materialized="view") + select,
            "models/grown.sql": config(materialized="incremental") + select,
            "seeds/a_seed.csv": "id\n1\n",
        },
        config={
            "models": {"+persist_docs": {"relation": True, "columns": True}},
            "seeds": {"+persist_docs": {"relation": True, "columns": True}},
            "query-comment": {
                "comment": "by {{ node.unique_id if node else 'nobody' }} -- it's me",
                "append": True,
            },
        },
    )
    project.dbt("build")
    return project


@pytest.mark.parametrize("name", ["a_table", "grown"])
def test_tables_are_described(shop, name):
    snapshot = shop.snapshot(name)
    assert snapshot.comment == TEXT
    assert {f.name: f.comment for f in snapshot.schema.fields} == {
        "id": COLUMN,
        "Some Name": TEXT,
    }


def test_views_are_described(shop):
    view = shop.view("a_view")
    assert view.comment == TEXT
    assert {c.name: c.comment for c in view.columns} == {"id": COLUMN, "Some Name": TEXT}
    assert shop.rows("a_view") == [(1, "x")]


def test_seeds_are_described(shop):
    snapshot = shop.snapshot("a_seed")
    assert snapshot.comment == TEXT
    assert [f.comment for f in snapshot.schema.fields] == [COLUMN]


def test_properties_are_kept(shop):
    assert shop.snapshot("a_table").properties == {
        "it's": 'a "value"',
        "back\\slash": "a\\b",
        "number": "7",
    }


def test_comments_do_not_hide_the_lineage(shop):
    (read,) = shop.snapshot("a_table").origin.inputs
    assert (read.relation, read.snapshot) == ("analytics.a_seed", shop.entry("a_seed").snapshot)


def test_described_rebuilds_are_the_same(shop):
    head = shop.head()
    shop.dbt("build", "--select", "a_view", "a_seed")
    assert shop.head() == head
    shop.dbt("run", "--select", "grown")
    assert shop.snapshot("grown").comment == TEXT
    assert shop.snapshot("grown").rows == 2
