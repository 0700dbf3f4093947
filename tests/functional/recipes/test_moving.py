"""The page on moving: its commands typed as printed, its code run, on tables that others left."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from dbt.adapters.factory import reset_adapters
from pyiceberg.catalog import load_catalog
from pyiceberg.utils.config import Config

from tests.functional.life.shop import SPARK
from tests.functional.recipes.conftest import reader_of
from tests.functional.recipes.page import Block, Reader, block, blocks, in_folder

pytestmark = pytest.mark.spark

PAGE = "moving.md"
OLD = pa.table({"id": pa.array([1, 2], pa.int64()), "amount": [10.0, 20.0]})
MODEL = """{{ config(materialized='incremental', unique_key='id') }}
select cast(3 as bigint) as id, cast(30 as double) as amount
"""


@pytest.fixture
def mover(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Reader]:
    """Somebody with an incremental model whose older inputs are gone, and tables elsewhere."""
    folder = tmp_path / "shop"
    (folder / "models").mkdir(parents=True)
    profile = yaml.safe_load(block(PAGE, "From dbt-spark", "yaml").text)
    profile["shop"]["outputs"]["dev"] |= {"threads": 2, "spark_config": SPARK}
    for name, text in {
        "dbt_project.yml": "name: shop\nversion: '1.0'\nprofile: shop\n",
        "profiles.yml": yaml.safe_dump(profile),
        "models/orders.sql": MODEL,
    }.items():
        (folder / name).write_text(text)
    for place in ("old/orders", "new", "lake"):
        (tmp_path / "data" / place).mkdir(parents=True)
    pq.write_table(OLD, tmp_path / "data/old/orders/part-0.parquet")
    monkeypatch.setenv("PYICEBERG_CATALOG__LAKE__TYPE", "sql")
    monkeypatch.setenv("PYICEBERG_CATALOG__LAKE__URI", f"sqlite:///{tmp_path}/lake.db")
    monkeypatch.setenv("PYICEBERG_CATALOG__LAKE__WAREHOUSE", f"file://{tmp_path}/data/lake")
    # PyIceberg reads the environment as it is imported.
    monkeypatch.setattr("pyiceberg.catalog._ENV_CONFIG", Config())
    yield reader_of(folder)
    reset_adapters()


def at(folder: Path, block: Block) -> Block:
    """Return a block with this machine's folder in place of the page's."""
    return replace(block, text=block.text.replace("/data/", f"{folder.parent}/data/"))


def ids(table: pa.Table) -> list[int]:
    return sorted(table["id"].to_pylist())


def test_moving(mover: Reader, tmp_path: Path) -> None:
    shown = [part for part in blocks(PAGE) if part.language in ("console", "python")]
    lake = load_catalog("lake")
    lake.create_namespace("old")
    lake.create_table("old.orders", OLD.schema).append(OLD)
    for part in shown:
        if part.language == "console":
            mover.follow(at(mover.folder, part))
        elif "deltalake" not in part.text:
            with in_folder(mover.folder):
                exec(at(mover.folder, part).text, {})
        if part.heading == "From Iceberg":
            # Twice the same table comes in: from plain files, and from Iceberg.
            assert sorted(mover.type("dbt-vcs cat analytics.orders").split()[1:]) == [
                "1,10", "1,10", "2,20", "2,20", "3,30",
            ]  # fmt: skip
            mover.type("dbt-vcs restore analytics.orders --to main~1")

    for place in ("orders.parquet", "orders"):
        assert ids(pq.read_table(tmp_path / "data/new" / place)) == [1, 2, 3]
    assert ids(lake.load_table("new.orders").scan().to_arrow()) == [1, 2, 3]
    assert ids(pq.read_table(tmp_path / "data/old/orders")) == [1, 2]
