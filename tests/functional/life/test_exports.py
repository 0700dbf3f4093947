"""Runs of a project whose target other engines read: what they find after a publish."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyiceberg.catalog import load_catalog
from pyiceberg.table import StaticTable

from dbt.adapters.vcs.iceberg.export_folder import export_folder
from tests.functional.life.shop import Shop
from tests.unit.iceberg.readers import duckdb_connection

pytestmark = pytest.mark.spark

TABLE = """{{{{ config(materialized='table') }}}}
select id, id % 3 as part from range({} * {{{{ var('n') }}}})"""
INCREMENTAL = """{{ config(materialized='incremental', unique_key='id', partition_by='part') }}
select id, part, {{ var('n') }} as at from {{ ref('a') }} where id % 2 = 0"""
VIEW = "{{ config(materialized='view') }} select count(*) as rows from {{ ref('a') }}"
CATALOG = """export:
  main:
    catalog: {{name: lake, type: sql, uri: 'sqlite:///{0}/catalog.db'}}
"""


def counted(shop: Shop, table: str) -> dict[str, int]:
    """Return how many rows each engine finds in a table of the export."""
    folder = export_folder(shop.repository.blobs, "main").path
    location = f"file://{shop.warehouse}/{folder}/analytics/{table}"
    with duckdb_connection() as duck:
        query = f"select count(*) from iceberg_scan('{location}')"
        (found,) = duck.execute(query).fetchall()
    rows = StaticTable.from_metadata(location).scan().to_arrow().num_rows
    return {
        "DuckDB": found[0],
        "PyIceberg": rows,
        "Spark": shop.value(f"select count(*) from {table}"),
    }


def everywhere(rows: int) -> dict[str, Any]:
    return {"DuckDB": rows, "PyIceberg": rows, "Spark": rows}


def test_each_publish_is_seen_by_other_engines(shop: Shop, tmp_path: Path) -> None:
    shop.write(
        {
            "vcs.yml": CATALOG.format(tmp_path),
            "models/a.sql": TABLE.format(10),
            "models/b.sql": INCREMENTAL,
            "models/c.sql": VIEW,
        }
    )
    assert shop.dbt("build", n=1).success
    assert counted(shop, "a") == everywhere(10)
    assert counted(shop, "b") == everywhere(5)
    assert shop.dbt("build", n=3).success
    assert counted(shop, "a") == everywhere(30)
    assert counted(shop, "b") == everywhere(15)
    lake = load_catalog("lake", type="sql", uri=f"sqlite:///{tmp_path}/catalog.db")
    assert lake.load_table("analytics.b").scan().to_arrow().num_rows == 15
    state = export_folder(shop.repository.blobs, "main").state()
    assert state is not None and list(state.views) == ["analytics.c"]


def test_a_run_that_fails_leaves_the_export_as_it_is(shop: Shop) -> None:
    shop.write({"vcs.yml": "export: {main: iceberg}", "models/a.sql": TABLE.format(10)})
    assert shop.dbt("run", "--select", "a", n=1).success
    shop.write({"models/a.sql": "{{ config(materialized='table') }} select no_such_column"})
    assert not shop.dbt("run", "--select", "a", n=1).success
    assert counted(shop, "a") == everywhere(10)


def test_a_catalog_that_fails_does_not_undo_the_publish(shop: Shop, tmp_path: Path) -> None:
    shop.write(
        {
            "vcs.yml": CATALOG.format(tmp_path / "missing"),
            "models/a.sql": TABLE.format(10),
        }
    )
    assert shop.dbt("run", "--select", "a", n=1).success
    assert counted(shop, "a") == everywhere(10)
