"""A client on a repository of its own; all of a module share one Spark session."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from dbt.adapters.vcs.api import Client, connect

Sql = Callable[..., list[tuple[Any, ...]]]

SPARK = {
    "spark.master": "local[2]",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.session.timeZone": "UTC",
}


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Client]:
    with connect(
        str(tmp_path / "warehouse"), schema="shop", create=True, spark=SPARK, author="ann"
    ) as client:
        client.sql("create schema shop")
        yield client


@pytest.fixture
def sql(client: Client) -> Sql:
    """Run a statement; return its rows."""

    def run(text: str) -> list[tuple[Any, ...]]:
        return rows_of(client.sql(text))

    return run


def rows_of(table: pa.Table) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in table.to_pylist()]
