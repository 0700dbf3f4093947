"""Tasks that run twice at the same time: the files of one attempt are rows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.functional.engine.faltering import Faltering

from .drivers import Open, check, driver, executors, rows_of
from .spark_cluster import HAS_HOSTS, SparkCluster

pytestmark = pytest.mark.skipif(not HAS_HOSTS, reason="needs workers on two addresses: Linux")

EVERY, TASKS = 20_000, 4
ROWS = EVERY * TASKS
QUERY = f"select id, falter(id) v, id % 3 p from range(0, {ROWS}, 1, {TASKS})"
STATEMENTS = {
    "create table as": f"create table t as {QUERY}",
    "partitions": f"create table t partitioned by (p) as {QUERY}",
}
SETTINGS = {
    "spark.speculation": "true",
    "spark.speculation.interval": "100ms",
    "spark.speculation.quantile": "0.5",
    "spark.speculation.multiplier": "1.1",
    "spark.speculation.minTaskRuntime": "500ms",
}


@pytest.fixture(scope="module")
def opened(cluster: SparkCluster) -> Iterator[Open]:
    with driver(cluster.settings(**SETTINGS)) as opened:
        yield opened


@pytest.mark.parametrize("kind", STATEMENTS)
def test_one_of_two_attempts_counts(opened: Open, tmp_path: Path, kind: str) -> None:
    repository = tmp_path / "ware house"
    client = opened(repository)
    faltering = Faltering(folder=repository, every=EVERY, trouble="dawdle", values=[EVERY - 1])
    client.sql(faltering.statement())
    executors(2)
    client.sql(STATEMENTS[kind])
    assert (0, 1) in faltering.attempts()
    if kind != "partitions":
        # Rows of partitions are sorted before the first file is opened.
        assert 0 in faltering.leftovers()
    expected = {id: {"id": id, "v": id, "p": id % 3} for id in range(ROWS)}
    assert rows_of(client, "t") == expected
    check(client.repository)
