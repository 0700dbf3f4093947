"""Primary keys: each way to name one, and what happens to rows that don't keep to it."""

from __future__ import annotations

import pytest

from dbt.adapters.vcs.changes.writes import checks
from dbt.adapters.vcs.core.errors import InputError

from .models import config, incremental

pytestmark = pytest.mark.spark

GOOD = "select * from values (1, 'a'), (2, 'b') as t(id, name)"
TWICE = "select * from values (2, 'c'), (2, 'd') as t(id, name)"
AGAIN = "select * from values (2, 'c'), (3, 'd') as t(id, name)"
NULLS = "select * from values (cast(null as int), 'c'), (3, 'd') as t(id, name)"

SCHEMA = """
models:
  - name: of_constraint
    config: {contract: {enforced: true}}
    constraints: [{type: primary_key, columns: [id]}]
    columns: [{name: id, data_type: int}, {name: name, data_type: string}]
  - name: of_column
    config: {contract: {enforced: true}}
    columns:
      - {name: id, data_type: int, constraints: [{type: primary_key}]}
      - {name: name, data_type: string}
"""


@pytest.fixture(scope="module")
def shop(make_project):
    table = {"materialized": "table"}
    models = {
        "of_config": config(**table, primary_key="id") + GOOD,
        "of_list": config(**table, primary_key=["id", "name"]) + GOOD,
        "of_odd_names": config(**table, primary_key=["a,b", "`c,d`", "e f"])
        + "select 1 as `a,b`, 2 as `c,d`, 3 as `e f`",
        "of_property": config(**table, tblproperties={"primary_key": "name, id"}) + GOOD,
        "of_constraint": config(**table) + GOOD,
        "of_column": config(**table) + GOOD,
        "of_unique_key": incremental("append", GOOD, AGAIN, unique_key="id"),
        "of_expression": incremental("append", GOOD, GOOD, unique_key="concat(id, name)"),
        "grown": incremental("append", GOOD, AGAIN, primary_key="id"),
        "loose": config(**table, primary_key="id", enforce_primary_key=False) + TWICE,
        "twice": config(**table, primary_key="id") + TWICE,
        "nulls": config(**table, primary_key="id") + NULLS,
        "unknown": config(**table, primary_key="ident") + GOOD,
        "nested": config(**table, primary_key="id") + "select array(1) as id",
    }
    files = {f"models/{name}.sql": text for name, text in models.items()}
    files["seeds/keyed.csv"] = "id,name\n1,a\n2,b\n"
    project = make_project(
        {"models/schema.yml": SCHEMA.encode(), **files}, config={"seeds": {"primary_key": "id"}}
    )
    bad = ["twice", "nulls", "unknown", "nested"]
    project.first = project.dbt("run", "--exclude", *bad)
    project.bad = project.dbt("run", "--select", *bad, ok=False)
    return project


@pytest.mark.parametrize(
    ("model", "key"),
    [
        ("of_config", ("id",)),
        ("of_list", ("id", "name")),
        ("of_odd_names", ("a,b", "c,d", "e f")),
        ("of_property", ("name", "id")),
        ("of_constraint", ("id",)),
        ("of_column", ("id",)),
        ("of_unique_key", ("id",)),
        ("of_expression", ()),
        ("loose", ("id",)),
    ],
)
def test_each_way_to_name_the_key(shop, model, key):
    assert shop.snapshot(model).primary_key == key


@pytest.mark.parametrize(
    ("model", "text"),
    [
        ("twice", "the same primary key (id): 2."),
        ("nulls", "NULL in the primary key (id) of analytics.nulls: NULL."),
        ("unknown", "There is no column 'ident'"),
        ("nested", "array<int> can't be compared"),
    ],
)
def test_rows_that_do_not_keep_to_it_fail_the_model(shop, model, text):
    assert shop.bad.status(model) == "error"
    assert text in shop.bad.message(model)
    assert shop.entry(model) is None


def test_the_check_is_said_to_be_off(shop):
    assert shop.rows("loose") == [(2, "c"), (2, "d")]
    assert "primary_key" not in shop.first.said


def test_a_key_that_is_there_already(shop):
    ran = shop.dbt("run", "--select", "grown", "of_unique_key", ok=False)
    assert "(id) that other rows already have: 2." in ran.message("grown")
    assert ran.status("of_unique_key") == "success"
    assert "unique_key is not the primary key of analytics.of_unique_key" in ran.said
    assert len(shop.rows("grown")) == 2


def test_a_seed_has_a_key_too(shop):
    shop.dbt("seed")
    assert shop.snapshot("keyed").primary_key == ("id",)
    head = shop.head()
    shop.dbt("seed")
    assert shop.head() == head
    shop.write({"seeds/keyed.csv": "id,name\n1,a\n1,b\n"})
    assert "the same primary key (id): 1." in shop.dbt("seed", ok=False).message("keyed")
    assert shop.head() == head


def test_the_engine_finds_the_same(shop, monkeypatch):
    monkeypatch.setattr(checks, "_MOST_NEW", -1)
    name = "analytics.of_list"
    for rows, text in [
        ("(1, 'a'), (9, 'x')", r"already have: \(1, 'a'\)\."),
        ("(9, 'x'), (9, 'x')", r"the same primary key \(id, name\): \(9, 'x'\)\."),
        ("(null, 'x')", r"NULL in .*: \(NULL, 'x'\)\."),
    ]:
        with pytest.raises(InputError, match=text):
            shop.sql(f"insert into {name} values {rows}")
    shop.sql(f"insert into {name} values (9, 'x')")
    assert shop.snapshot("of_list").rows == 3


def test_an_overwrite_is_compared_with_what_stays(shop):
    shop.sql("create table parts (id int, day int, primary key (id)) partitioned by (day)")
    shop.sql("insert into parts values (1, 1), (2, 2)")
    with pytest.raises(InputError, match="already have: 2"):
        shop.sql("insert overwrite parts partition (day = 1) values (2)")
    shop.sql("insert overwrite parts partition (day = 2) values (2), (3)")
    with pytest.raises(InputError, match="the same primary key"):
        shop.sql("insert overwrite parts values (1, 1), (1, 2)")
    assert shop.rows("parts") == [(1, 1), (2, 2), (3, 2)]
