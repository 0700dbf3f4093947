"""A repository with tables of every shape, served to a Spark with Iceberg."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from dbt.adapters.vcs.api import Client, connect
from tests.guardian import pytest_configure  # noqa: F401 - a hook
from tests.unit.iceberg.lake import Lake
from tests.unit.serve.server_process import ServerProcess, serving

from .iceberg_spark import IcebergSpark, served

SPARK = {
    "spark.master": "local[2]",
    "spark.driver.memory": "1g",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.enabled": "false",
}


@pytest.fixture(scope="session")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """The repository, as what needs no engine sees it."""
    return Lake(tmp_path_factory.mktemp("interop") / "ware house")


@pytest.fixture(scope="session")
def main(lake: Lake) -> Iterator[Client]:
    """The branch main, with the Spark of this package."""
    with connect(lake.blobs.uri, schema="s", spark=SPARK, author="ann") as client:
        yield client


@pytest.fixture(scope="session")
def server(lake: Lake) -> Iterator[ServerProcess]:
    """The catalog, in a process of its own."""
    with serving(Path(lake.blobs.uri)) as running:
        yield running


@pytest.fixture(scope="session")
def spark(server: ServerProcess) -> Iterator[IcebergSpark]:
    """Spark with Iceberg, with a catalog of each kind of revision."""
    shown = {"main": "main", "tax": "feature/tax", "tag": "v1", "before": "main~1"}
    catalogs = {name: served(server.url, revision) for name, revision in shown.items()}
    with IcebergSpark({**catalogs, "every": served(server.url)}) as session:
        yield session


@pytest.fixture(scope="module")
def shop(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """A repository of the module's own, for cases that change it."""
    lake = Lake(tmp_path_factory.mktemp(request.module.__name__.rpartition(".")[2]) / "ware house")
    head = lake.repository.branch("main").head
    lake.repository.create_branch("dev", head, author="ann")
    return lake


@pytest.fixture(scope="module")
def dev(shop: Lake) -> Iterator[Client]:
    """The branch that is changed, with the Spark of this package."""
    with connect(shop.blobs.uri, "dev", schema="s", spark=SPARK, author="ann") as client:
        yield client
