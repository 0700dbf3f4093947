"""Incremental strategies that change single rows, and what configs leave on a table."""

from __future__ import annotations

import pytest

from .models import config

pytestmark = pytest.mark.spark


def model(first: str, later: str, **settings: object) -> str:
    """Return an incremental model with one query for the first run and one for later runs."""
    head = config(materialized="incremental", **settings)
    return f"{head}{{% if is_incremental() %}}{later}{{% else %}}{first}{{% endif %}}"


def rows(*values: str, names: str = "id, name, day") -> str:
    return f"select * from values {', '.join(values)} as t({names})"


FIRST = rows("(1, 'a', 1)", "(2, 'b', 2)", "(3, 'c', 3)")
LATER = rows("(2, 'B', 20)", "(4, 'D', 4)")
OF_ITSELF = rows("(2, 'x', 3)", "(3, 'y', 3)", "(4, 'z', 4)")
MODELS = {
    "keyed": model(FIRST, LATER, unique_key="id"),
    "plain": model(FIRST, LATER),
    "pairs": model(
        FIRST, rows("(2, 'b', 20)", "(2, 'B', 2)"), incremental_strategy="merge",
        unique_key=["id", "name"],
    ),
    "updating": model(
        FIRST, LATER, incremental_strategy="merge", unique_key="id", merge_update_columns=["name"]
    ),
    "excluding": model(
        FIRST, LATER, incremental_strategy="merge", unique_key="id", merge_exclude_columns=["NAME"]
    ),
    "predicated": model(
        FIRST, rows("(1, 'A', 10)", "(3, 'C', 30)"), incremental_strategy="merge",
        unique_key="id", incremental_predicates=["DBT_INTERNAL_DEST.day > 1"],
    ),
    "keyless": model(FIRST, LATER, incremental_strategy="merge"),
    "nulls": model(
        rows("(1, 'a', 1)", "(null, 'n', 0)"), rows("(1, 'A', 1)", "(null, 'n', 0)"),
        incremental_strategy="merge", unique_key="id",
    ),
    "replaced": model(
        rows("(1, 'a', 1)", "(2, 'b', 1)", "(3, 'c', 2)", "(4, 'd', null)"),
        rows("(5, 'e', 1)", "(5, 'e', 1)", "(6, 'f', 3)", "(7, 'g', null)"),
        incremental_strategy="delete+insert", unique_key="day",
    ),
    "replaced_pairs": model(
        rows("(1, 'a', 1)", "(1, 'b', 1)"), rows("(1, 'a', 2)", "(2, 'b', 2)"),
        incremental_strategy="delete+insert", unique_key=["id", "name"],
    ),
    "replaced_late": model(
        FIRST, "select * from (" + OF_ITSELF + ") where day >= (select max(day) from {{ this }})",
        incremental_strategy="delete+insert", unique_key="id",
    ),
    "replaced_partly": model(
        FIRST, rows("(1, 'A', 10)", "(3, 'C', 30)"), incremental_strategy="delete+insert",
        unique_key="id", incremental_predicates=["day > 1"],
    ),
    "listed": model(
        FIRST, rows("(9, 'z', 2)"), incremental_strategy="insert_overwrite",
        partition_by="day", partitions=["2", "3"],
    ),
    "lacking": model(
        FIRST, rows("(2, 20, 'new')", "(4, 4, 'new')", names="id, day, more"),
        unique_key="id", on_schema_change="append_new_columns",
    ),
    "ignoring": model(
        FIRST, rows("(2, 'B', 20, 'new')", names="id, name, day, more"), unique_key="id"
    ),
    "widening": model(
        FIRST, rows("(2, 20L)", "(4, 5000000000L)", names="id, day"),
        unique_key="id", on_schema_change="sync_all_columns",
    ),
    "own": model(FIRST, LATER, incremental_strategy="insert_missing", unique_key="id"),
}  # fmt: skip
MACRO = """
    {% macro get_incremental_insert_missing_sql(arg_dict) %}
      insert into {{ arg_dict['target_relation'] }}
      select * from {{ arg_dict['temp_relation'] }} as new
      where new.id not in (select id from {{ arg_dict['target_relation'] }})
    {% endmacro %}
"""


@pytest.fixture(scope="module")
def shop(make_project):
    files = {f"models/{name}.sql": text for name, text in MODELS.items()}
    project = make_project(files | {"macros/own.sql": MACRO}, output={"threads": 8})
    project.dbt("run")
    project.first = {name: project.entry(name).snapshot for name in MODELS}
    project.dbt("run")
    found = project.json("run_results.json")["results"]
    project.told = {item["unique_id"].split(".")[-1]: item["adapter_response"] for item in found}
    return project


MERGED = [(1, "a", 1), (2, "B", 20), (3, "c", 3), (4, "D", 4)]
WANTED = {
    "keyed": MERGED,
    "plain": [(1, "a", 1), (2, "B", 20), (2, "b", 2), (3, "c", 3), (4, "D", 4)],
    "pairs": [(1, "a", 1), (2, "B", 2), (2, "b", 20), (3, "c", 3)],
    "updating": [(1, "a", 1), (2, "B", 2), (3, "c", 3), (4, "D", 4)],
    "excluding": [(1, "a", 1), (2, "b", 20), (3, "c", 3), (4, "D", 4)],
    "predicated": [(1, "A", 10), (1, "a", 1), (2, "b", 2), (3, "C", 30)],
    "keyless": [(1, "a", 1), (2, "B", 20), (2, "b", 2), (3, "c", 3), (4, "D", 4)],
    "nulls": [(None, "n", 0), (None, "n", 0), (1, "A", 1)],
    "replaced": [
        (3, "c", 2), (4, "d", None), (5, "e", 1), (5, "e", 1), (6, "f", 3), (7, "g", None),
    ],
    "replaced_pairs": [(1, "a", 2), (1, "b", 1), (2, "b", 2)],
    "replaced_late": [(1, "a", 1), (2, "x", 3), (3, "y", 3), (4, "z", 4)],
    "replaced_partly": [(1, "A", 10), (1, "a", 1), (2, "b", 2), (3, "C", 30)],
    "listed": [(1, "a", 1), (9, "z", 2)],
    "lacking": [
        (1, "a", 1, None), (2, "b", 20, "new"), (3, "c", 3, None), (4, None, 4, "new"),
    ],
    "ignoring": [(1, "a", 1), (2, "B", 20), (3, "c", 3)],
    "widening": [(1, 1), (2, 20), (3, 3), (4, 5_000_000_000)],
    "own": [(1, "a", 1), (2, "b", 2), (3, "c", 3), (4, "D", 4)],
}  # fmt: skip


@pytest.mark.parametrize("name", MODELS)
def test_a_second_run_leaves_what_its_strategy_says(shop, name):
    assert shop.rows(name) == WANTED[name]


COUNTS = {
    "keyed": (1, 1, 0), "plain": (2, 0, 0), "pairs": (1, 1, 0), "predicated": (1, 1, 0),
    "nulls": (1, 1, 0), "replaced": (4, 0, 2), "replaced_partly": (2, 0, 1), "listed": (1, 0, 2),
    "ignoring": (0, 1, 0), "own": (1, 0, 0),
}  # fmt: skip


@pytest.mark.parametrize("name", COUNTS)
def test_dbt_is_told_how_many_rows_were_inserted_updated_and_deleted(shop, name):
    told = shop.told[name]
    names = ("rows_inserted", "rows_updated", "rows_deleted")
    assert tuple(told.get(name) for name in names) == COUNTS[name]


@pytest.mark.parametrize("name", sorted(set(MODELS) - {"lacking", "widening"}))
def test_a_run_makes_one_version(shop, name):
    assert shop.snapshot(name).parents == (shop.first[name],)


def test_nothing_but_the_models_is_left(shop):
    assert shop.kinds() == dict.fromkeys(MODELS, "table")


def test_configs_are_kept_with_the_table_and_follow_the_model(shop):
    kept = {
        "on_conflict": "skip",
        "write_mode": "merge_on_read",
        "tblproperties": {"owner": "o'n"},
    }
    shop.write({"models/told.sql": model(FIRST, LATER, unique_key="id", **kept)})
    shop.dbt("run", "--select", "told")
    assert shop.snapshot("told").properties == {
        "owner": "o'n",
        "vcs.on_conflict": "skip",
        "vcs.unique_key": "id",
        "vcs.write_mode": "merge_on_read",
    }
    told = {"primary_key": "id", "enforce_primary_key": False, "on_conflict": "CELL"}
    shop.write({"models/told.sql": model(FIRST, LATER, unique_key="id", **told)})
    shop.dbt("run", "--select", "told")
    assert shop.snapshot("told").properties == {
        "owner": "o'n",
        "primary_key": "id",
        "vcs.enforce_primary_key": "false",
        "vcs.on_conflict": "cell",
    }
    assert shop.snapshot("told").primary_key == ("id",)
    assert shop.rows("told") == MERGED
    head = shop.head()
    shop.write({"models/told.sql": model(FIRST, LATER, unique_key="id", on_conflict="ask")})
    ran = shop.dbt("run", "--select", "told", ok=False)
    wanted = "cell_skip, cell_accept; found: ask"
    assert wanted in ran.message("told")
    assert shop.head() == head
    shop.remove("models/told.sql")


def test_what_a_merge_can_not_tell_apart_is_an_error_that_names_it(shop):
    head = shop.head()
    twice = rows("(2, 'x', 1)", "(2, 'y', 2)")
    shop.write({"models/keyed.sql": model(FIRST, twice, unique_key="id")})
    ran = shop.dbt("run", "--select", "keyed", ok=False)
    assert "id = 2" in ran.message("keyed")
    narrow = rows("(2, 20, 1)", names="id, name, day")
    settings = {"unique_key": "id", "on_schema_change": "sync_all_columns"}
    shop.write({"models/keyed.sql": model(FIRST, narrow, **settings)})
    ran = shop.dbt("run", "--select", "keyed", ok=False)
    assert "string" in ran.message("keyed")
    bounds = {"incremental_strategy": "insert_overwrite", "partition_by": "day"}
    shop.write({"models/listed.sql": model(FIRST, FIRST, partitions=["2", "3"], **bounds)})
    ran = shop.dbt("run", "--select", "listed", ok=False)
    assert "day" in ran.message("listed")
    shop.write({"models/listed.sql": model(FIRST, FIRST, partitions="2", **bounds)})
    ran = shop.dbt("run", "--select", "listed", ok=False)
    assert "partitions must list values" in ran.message("listed")
    assert shop.head() == head
