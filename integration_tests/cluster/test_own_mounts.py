"""A worker on a machine of its own, as far as mounts go: it doesn't see the repository."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from dbt.adapters.vcs.core.errors import EngineError, InputError

from .conftest import WORKERS
from .drivers import check, driver, executors, rows_of
from .spark_cluster import SparkCluster, namespace

pytestmark = pytest.mark.skipif(
    namespace() is None,
    reason="this machine gives no mount namespace (unshare -m): run as root on Linux",
)


@pytest.fixture
def shared(tmp_path: Path) -> Iterator[Path]:
    """A folder that stands for a shared disk, which some workers don't mount."""
    folder = tmp_path / "shared"
    folder.mkdir()
    yield folder


def test_a_cluster_that_does_not_see_the_repository_is_refused(
    shared: Path, tmp_path: Path
) -> None:
    logs = tmp_path / "cluster"
    logs.mkdir()
    with SparkCluster(logs) as cluster:
        cluster.start_worker(hidden=shared)
        settings = cluster.settings()
        with driver(settings) as opened, pytest.raises(InputError) as refused:
            opened(shared / "ware house").sql("create table t as select id from range(100)")
        said = str(refused.value)
        assert f"The repository is the folder file:{shared}/ware house of this machine" in said
        assert f"(spark.master: {cluster.url}), where an executor doesn't find its header" in said
        assert "Nothing was computed" in said
        assert not (shared / "ware house" / "data").exists()


def test_a_worker_that_joins_later_and_does_not_see_it_fails_the_write(
    _cluster: SparkCluster, shared: Path
) -> None:
    _cluster.mend(WORKERS)
    with driver(_cluster.settings()) as opened:
        client = opened(shared / "ware house")
        client.sql("create table t as select id, id v from range(0, 1000, 1, 12)")
        executors(WORKERS)
        blind = _cluster.start_worker(hidden=shared)
        executors(WORKERS + 1)
        before = client.repository.branch("main").head
        for text in (
            "create table new as select id from range(0, 100000, 1, 12)",
            "insert into t select id, id from range(1000, 100000, 1, 12)",
            "insert overwrite t select id, id from range(0, 100000, 1, 12)",
        ):
            with pytest.raises(EngineError, match=r"Nothing was changed\. Every machine of the"):
                client.sql(text)
            assert client.repository.branch("main").head == before

        _cluster.stop_worker(blind)
        executors(WORKERS)
        assert rows_of(client, "t") == {id: {"id": id, "v": id} for id in range(1000)}
        client.sql("insert into t select id, id from range(1000, 2000, 1, 12)")
        assert rows_of(client, "t") == {id: {"id": id, "v": id} for id in range(2000)}
        check(client.repository)
