"""Commands that only read: they report and leave nothing behind."""

from __future__ import annotations

import json
from datetime import date

import pytest

from .models import TABLE, VIEW, config

pytestmark = pytest.mark.spark

VALUES = """
select
  1 as id,
  named_struct('name', 'ann', 'raw', X'00ff', 'day', date'2026-01-31') as person,
  X'00ff' as bytes,
  array(1, null, 3) as numbers,
  map(date'2026-01-31', cast(1.50 as decimal(5,2))) as prices,
  map(named_struct('k', 1), 'v') as odd,
  cast(null as string) as nothing,
  cast(null as struct<a:int>) as no_struct,
  '' as blank,
  '007' as code,
  timestamp'2026-01-31 23:59:59.123456' as moment,
  interval '1' day as lasting,
  cast(12345678901234567890.5 as decimal(38,2)) as large,
  double('nan') as nan,
  9223372036854775807 as big
"""
DOCUMENTED = """
    models:
      - name: numbers
        description: all numbers
        columns:
          - name: n
            description: the number
"""


@pytest.fixture(scope="module")
def shop(make_project):
    project = make_project(
        {
            "models/values.sql": TABLE + VALUES,
            "models/numbers.sql": config(
                materialized="table", persist_docs={"relation": True, "columns": True}
            )
            + "select id as n, cast(id as string) as t from range(1000)",
            "models/few.sql": VIEW + "select n from {{ ref('numbers') }} where n < 3",
            "models/docs.yml": DOCUMENTED,
            "models/asking.sql": VIEW
            + "{% set found = run_query('select max(n) as m from ' ~ ref('numbers')) %}"
            "{% set names = adapter.get_columns_in_relation(ref('numbers')) %}"
            "select {{ found.columns[0][0] if execute }} as m, "
            "'{{ names | map(attribute='name') | join(',') }}' as names",
        }
    )
    return project


def test_nothing_is_made_where_nothing_is(shop):
    before = {path.name for path in shop.folder.parent.iterdir()}
    shop.dbt("parse")
    shop.dbt("ls")
    shop.dbt("compile", "--select", "numbers", "few")
    shop.dbt("docs", "generate", "--no-compile", "--select", "numbers")
    shown = shop.dbt("show", "--inline", "select 1 as one", "--output", "json")
    assert '"one": 1' in shown.said
    shop.dbt("debug")
    assert {path.name for path in shop.folder.parent.iterdir()} == before


def test_reading_leaves_no_trace(shop):
    shop.dbt("run")
    moves = {name: len(shop.repository.refs.log("heads", name)) for name in shop.refs()}
    files = sorted(path for path in shop.root.rglob("*") if path.is_file())
    shop.dbt("ls", "--select", "numbers+")
    compiled = shop.dbt("compile", "--select", "asking")
    assert "select 999 as m, 'n,t' as names" in compiled.said
    shop.dbt("docs", "generate")
    shop.dbt("show", "--select", "few", "--limit", "2")
    failed = shop.dbt("show", "--inline", "drop table analytics.numbers", ok=False)
    assert failed.said
    shop.dbt("debug")
    shop.dbt("run-operation", "vcs_log")
    assert {n: len(shop.repository.refs.log("heads", n)) for n in shop.refs()} == moves
    assert sorted(path for path in shop.root.rglob("*") if path.is_file()) == files


def test_what_jinja_changes_while_compiling_is_dropped(make_project):
    shop = make_project(
        {
            "models/base.sql": TABLE + "select 1 as n",
            "models/busy.sql": TABLE + "{% set base = ref('base') %}{% if execute %}"
            "{% do run_query('create or replace view analytics.mine as "
            "select n + 1 as n from ' ~ base) %}"
            "{% set found = run_query('select max(n) from analytics.mine').columns[0][0] %}"
            "{% endif %}select {{ found }} as n",
        }
    )
    shop.dbt("run", "--select", "base")
    before = shop.head()
    compiled = shop.dbt("compile", "--select", "busy")
    assert "select 2 as n" in compiled.said
    assert "changes that model.shop.busy makes while it is compiled are dropped" in compiled.said
    assert "model.shop.base" in shop.dbt("docs", "generate").result.nodes
    assert shop.head() == before
    assert shop.kinds() == {"base": "table"}


def test_rows_are_not_written_while_compiling(make_project):
    asking = "{% do run_query('create table analytics.t as select 1 a') %}"
    shop = make_project({"models/m.sql": asking + "select 1 as n"})
    shop.dbt("seed")
    ran = shop.dbt("compile", ok=False)
    assert "Nothing can be changed here: dbt compile only reads." in ran.error + ran.said


def shown(said):
    """Return the rows; dbt 1.12 says something of its own after them."""
    return json.JSONDecoder().raw_decode(said[said.index("{") :])[0]["show"]


def test_show_is_readable(shop):
    ran = shop.dbt("show", "--select", "values", "--output", "json", "--log-format", "text")
    (row,) = shown(ran.said)
    assert json.loads(row["person"]) == {"name": "ann", "raw": "00ff", "day": "2026-01-31"}
    assert row["bytes"] == "00ff"
    assert json.loads(row["numbers"]) == [1, None, 3]
    assert json.loads(row["prices"]) == {"2026-01-31": 1.5}
    assert "odd" in row
    assert row["nothing"] is None
    assert row["no_struct"] is None
    assert row["blank"] == ""
    assert row["code"] == "007"
    assert row["moment"].startswith("2026-01-31T23:59:59.123456")
    assert row["big"] == 2**63 - 1
    table = shop.dbt("show", "--select", "values").said
    assert "00ff" in table and "b'" not in table


def test_show_takes_inline_queries_and_a_limit(shop):
    relations = {"--inline": "{{ ref('numbers') }}", "--inline-direct": "analytics.numbers"}
    for flag, relation in relations.items():
        query = f"select n from {relation} order by n desc"
        ran = shop.dbt("show", flag, query, "--limit", "2", "--output", "json")
        found = shown(ran.said)
        assert found == [{"n": 999}, {"n": 998}]


def test_docs_hold_columns_types_and_sizes(shop):
    shop.dbt("docs", "generate")
    catalog = shop.json("catalog.json")
    assert not catalog["errors"]
    numbers = catalog["nodes"]["model.shop.numbers"]
    assert numbers["metadata"]["type"] == "table"
    assert numbers["metadata"]["comment"] == "all numbers"
    assert [(c["name"], c["type"], c["comment"]) for c in numbers["columns"].values()] == [
        ("n", "bigint", "the number"),
        ("t", "string", None),
    ]
    assert [c["index"] for c in numbers["columns"].values()] == [1, 2]
    stats = {key: stat["value"] for key, stat in numbers["stats"].items()}
    assert stats["rows"] == 1000
    assert stats["bytes"] == sum(block.bytes for block in shop.blocks("numbers"))
    assert stats["has_stats"] is True
    assert date.fromisoformat(stats["last_modified"][:10])
    # What a reader needs comes first on the page of dbt docs, which sorts by label.
    by_label = sorted(numbers["stats"].values(), key=lambda stat: stat["label"])
    assert [stat["label"].strip() for stat in by_label[:3]] == ["Branch", "Rows", "Stale"]
    assert stats["stale"] == "no"
    few = catalog["nodes"]["model.shop.few"]
    assert few["metadata"]["type"] == "view"
    assert [(c["name"], c["type"]) for c in few["columns"].values()] == [("n", "bigint")]
