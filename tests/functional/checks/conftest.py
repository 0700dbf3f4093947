"""One client for all statements here; each test makes its own tables."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from dbt.adapters.vcs.api import Client, connect
from tests.functional.clients import SPARK, Sql, rows_of


@pytest.fixture(scope="package")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    folder = str(tmp_path_factory.mktemp("checks") / "warehouse")
    with connect(folder, schema="shop", create=True, spark=SPARK, author="ann") as client:
        client.sql("create schema shop")
        yield client


@pytest.fixture
def sql(client: Client) -> Sql:
    """Run a statement; return its rows."""
    return lambda text: rows_of(client.sql(text))
