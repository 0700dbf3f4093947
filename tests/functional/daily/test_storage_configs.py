"""Configs of other storages, which packages bring along: refused at once, or left out as asked."""

from __future__ import annotations

import re

import pytest
import yaml

from .models import TABLE, VIEW, config, incremental

pytestmark = pytest.mark.spark

PACKAGE = {
    "name": "foreign",
    "version": "1.0",
    "config-version": 2,
    "models": {"foreign": {"+file_format": "delta"}},
    "seeds": {"foreign": {"+file_format": "iceberg"}},
    "snapshots": {"foreign": {"+file_format": "hudi", "+location_root": "/tmp/elsewhere"}},
}
HISTORY = """
    {% snapshot history %}
      {{ config(unique_key='id', strategy='check', check_cols='all') }}
      select * from {{ ref('facts') }}
    {% endsnapshot %}
"""
FILES = {
    "packages.yml": "packages: [{local: foreign}]",
    "foreign/dbt_project.yml": yaml.safe_dump(PACKAGE),
    "foreign/models/facts.sql": TABLE + "select id, id * 2 as twice from range(4)",
    "foreign/models/shown.sql": VIEW + "select * from {{ ref('facts') }}",
    "foreign/models/grown.sql": incremental(
        "merge", "select id from range(3)", "select id from range(2, 5)", unique_key="id"
    ),
    "foreign/seeds/names.csv": "id,name\n1,one\n2,two\n",
    "foreign/snapshots/history.sql": HISTORY,
    "models/plain.sql": TABLE + "select 1 as id",
    "models/unsaid.sql": config(materialized="table", file_format="") + "select 1 as id",
    "models/unsaid_too.sql": config(materialized="incremental", file_format="", unique_key="id")
    + "select 1 as id",
}
OWN = {
    "models/bucketed.sql": config(materialized="table", clustered_by=["id"], buckets=4)
    + "select id from range(5)",
    "models/half.sql": config(materialized="table", clustered_by="id") + "select 1 as id",
    "models/located.sql": config(materialized="table", location_root="/tmp/elsewhere")
    + "select 1 as id",
    "models/avro.sql": config(materialized="incremental", file_format="avro") + "select 1 as id",
    "tests/few.sql": config(store_failures=True, file_format="delta", severity="warn")
    + "select * from {{ ref('plain') }}",
    "tests/many.sql": config(file_format="delta") + "select 1 where false",
}
ROWS = {"facts": 4, "grown": 3, "names": 2, "history": 4, "plain": 1, "unsaid": 1, "unsaid_too": 1}


def counts(shop):
    """Rows by table, views left out."""
    return {
        name: shop.column(f"select count(*) from analytics.{name}")[0]
        for name, kind in shop.kinds().items()
        if kind == "table"
    }


@pytest.fixture(scope="module")
def shop(make_project):
    project = make_project(FILES)
    project.dbt("deps")
    return project


def test_all_of_them_are_listed_before_anything_runs(shop):
    shop.write(OWN)
    ran = shop.dbt("build", ok=False)
    assert ran.nodes == {}
    listed = dict(re.findall(r"^ +(\w+\.\S+) \(\S+\): (.+)$", ran.error, re.MULTILINE))
    assert listed == {
        "model.foreign.facts": "file_format: delta",
        "model.foreign.grown": "file_format: delta",
        "seed.foreign.names": "file_format: iceberg",
        "snapshot.foreign.history": "file_format: hudi, location_root: /tmp/elsewhere",
        "model.shop.bucketed": "clustered_by: ['id'], buckets: 4",
        "model.shop.located": "location_root: /tmp/elsewhere",
        "model.shop.avro": "file_format: avro",
        "test.shop.few": "file_format: delta",
    }
    assert "8 nodes ask for a storage" in ran.error
    assert not shop.root.exists()
    shop.remove(*OWN)


def test_only_nodes_that_are_to_run_count(shop):
    shop.dbt("build", "--select", "plain", "unsaid", "unsaid_too")
    shop.dbt("run", "--select", "unsaid", "unsaid_too")
    assert counts(shop) == {"plain": 1, "unsaid": 1, "unsaid_too": 1}
    for command in (["compile"], ["docs", "generate"], ["ls"], ["test"]):
        shop.dbt(*command)


def test_what_the_message_says_to_write_is_enough(shop):
    ran = shop.dbt("build", ok=False)
    lines = re.findall(r"^ +(\w+: \{foreign: .*\})$", ran.error, re.MULTILINE)
    wanted = yaml.safe_load("\n".join(lines))
    assert set(wanted) == {"models", "seeds", "snapshots"}
    shop.configure(**wanted)
    try:
        said = shop.dbt("build").said
    finally:
        for kind in wanted:
            shop.config.pop(kind)
        shop.configure()
    assert "storage_configs" not in said
    assert counts(shop) == ROWS


def test_a_profile_may_leave_them_out_with_one_warning(make_project):
    shop = make_project({**FILES, **OWN}, output={"storage_configs": "ignore"})
    shop.dbt("deps")
    said = shop.dbt("build").said
    assert said.count("storage_configs: ignore") == 1
    assert said.count("file_format: delta of model.foreign.facts") == 1
    assert counts(shop) == {**ROWS, "bucketed": 5, "half": 1, "located": 1, "avro": 1}
    assert shop.column("select id from analytics.bucketed") == [0, 1, 2, 3, 4]
    assert shop.rows("analytics_dbt_test__audit.few") == [(1,)]
    assert {block.path.rpartition(".")[2] for block in shop.blocks("facts")} == {"parquet"}

    said = shop.dbt("run").said
    assert said.count("storage_configs: ignore") == 1
    assert shop.column("select id from analytics.grown") == [0, 1, 2, 3, 4]
    assert len(shop.rows("avro")) == 2


def test_an_unknown_mode_is_an_error(make_project):
    shop = make_project({"models/m.sql": "select 1 as n"}, output={"storage_configs": "maybe"})
    ran = shop.dbt("run", ok=False)
    assert "storage_configs: maybe is unknown; expected one of refuse, ignore." in (
        ran.error + ran.said
    )
