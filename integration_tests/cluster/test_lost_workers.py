"""Workers that are killed in the middle of a write: it ends right, or nothing has changed."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dbt.adapters.vcs.api import Client
from dbt.adapters.vcs.core.errors import EngineError
from tests.functional.engine.faltering import Faltering

from .conftest import WORKERS
from .daemons import wait_for
from .drivers import Open, check, driver, executors, rows_of
from .spark_cluster import SparkCluster

EVERY, TASKS = 10_000, 8
ROWS = EVERY * TASKS
FROM = f"range(0, {ROWS}, 1, {TASKS})"
STATEMENTS = {
    "create table as": f"create table new as select id, slowly(id) v from {FROM}",
    # Rows pass through a shuffle, whose files die with their worker.
    "shuffled": (
        "create table new as select id, slowly(v) v from "
        f"(select /*+ repartition({TASKS}, id) */ id, id v from {FROM})"
    ),
    "insert": f"insert into t select id, slowly(id) from {FROM}",
    "merge": (
        f"merge into t using (select id, slowly(id) v from {FROM}) s on t.id = s.id "
        "when matched then update set v = s.v when not matched then insert (id, v) "
        "values (s.id, s.v)"
    ),
}
NEW = {id: {"id": id, "v": id} for id in range(ROWS)}
SECONDS = 400


class Statement:
    """A statement in a thread of its own."""

    def __init__(self, client: Client, text: str) -> None:
        self.error: EngineError | None = None
        self._thread = threading.Thread(target=self._run, args=(client, text), daemon=True)
        self._thread.start()

    @property
    def is_running(self) -> bool:
        return self._thread.is_alive()

    def wait(self) -> EngineError | None:
        """Wait for its end, and return its error."""
        self._thread.join(SECONDS)
        assert not self.is_running, f"the statement hangs: nothing came in {SECONDS} s"
        return self.error

    def _run(self, client: Client, text: str) -> None:
        try:
            client.sql(text)
        except EngineError as error:
            self.error = error


def in_the_middle(faltering: Faltering, statement: Statement) -> None:
    """Wait until a task of the write has committed its file, and every executor has another."""
    written = "data/*/w=*/_temporary/0/task_*"

    def found() -> bool:
        assert statement.is_running, f"it ended before anything was killed: {statement.error}"
        return any(faltering.folder.glob(written)) and len(faltering.busy()) == WORKERS

    wait_for(found, lambda: "no task of the write has ended while others ran everywhere")


@pytest.fixture
def opened(_cluster: SparkCluster) -> Iterator[Open]:
    """An application for each test, on a cluster that is whole."""
    _cluster.mend(WORKERS)
    with driver(_cluster.settings()) as opened:
        yield opened


def kill_executor(cluster: SparkCluster) -> None:
    """Kill what computes for the application on one worker; the worker starts another."""
    for pid in cluster.workers[0].children(of="CoarseGrainedExecutorBackend"):
        os.kill(pid, signal.SIGKILL)


def kill_worker(cluster: SparkCluster) -> None:
    """Kill a worker with what computes on it; another one is left."""
    cluster.workers[0].kill()


def replace_all(cluster: SparkCluster) -> None:
    """Kill every worker, and start others."""
    for worker in cluster.workers:
        worker.kill()
    cluster.workers.clear()
    cluster.start_worker()


@pytest.mark.parametrize(
    ("kind", "happens"),
    [
        ("create table as", kill_executor),
        ("shuffled", kill_worker),
        ("insert", replace_all),
        ("merge", kill_worker),
    ],
)
def test_a_write_ends_right_or_changes_nothing(
    _cluster: SparkCluster,
    opened: Open,
    tmp_path: Path,
    kind: str,
    happens: Callable[[SparkCluster], None],
) -> None:
    repository = tmp_path / "ware house"
    client = opened(repository)
    client.sql("create table t (id bigint, v bigint) tblproperties ('primary_key' = 'id')")
    old = {id: {"id": id, "v": -id} for id in ([-1, 5] if kind == "merge" else [-1])}
    client.sql("insert into t values " + ", ".join(f"({id}, {-id})" for id in old))
    faltering = Faltering(folder=repository, every=EVERY, trouble="pause")
    client.sql(faltering.statement("slowly"))
    executors(WORKERS)
    before = client.repository.branch("main").head

    statement = Statement(client, STATEMENTS[kind])
    in_the_middle(faltering, statement)
    happens(_cluster)
    error = statement.wait()

    name = "new" if kind in ("create table as", "shuffled") else "t"
    if error is not None:
        assert client.repository.branch("main").head == before
        assert rows_of(client, "t") == old
        client.sql(STATEMENTS[kind])
    assert rows_of(client, name) == (NEW if name == "new" else {**old, **NEW})
    assert faltering.repeated(), "no task ran again"
    check(client.repository)
