"""Executors in processes of their own: tasks that fail, one that dies, row changes, a merge.

`make cluster` has more of this, on a standalone cluster.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from dbt.adapters.vcs.api import connect
from dbt.adapters.vcs.commands.fsck import DataCheck, check_repository
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.store.local import LocalBlobs

from .faltering import Faltering

pytestmark = [
    pytest.mark.spark,
    pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs Linux"),
]

EVERY, TASKS = 500, 4
ROWS = EVERY * TASKS
LAST = [EVERY * (task + 1) - 1 for task in range(TASKS)]
SECONDS = 300
PROGRAM = """
import sys
from dbt.adapters.vcs.api import connect

settings = {
    "spark.master": "local-cluster[2,1,512]",
    "spark.executor.memory": "512m",
    "spark.driver.memory": "512m",
    "spark.testing.reservedMemory": "1",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.shuffle.partitions": "2",
}
fails, dies, rows, tasks = sys.argv[2:]
numbers = f"range(0, {rows}, 1, {tasks})"
with connect(sys.argv[1], create=True, spark=settings) as main:
    main.sql("create schema analytics")
    main.sql(fails)
    main.sql(f"create table failed as select id, fails(id) v from {numbers}")
    main.sql(dies)
    main.sql(
        "create table died partitioned by (p) tblproperties ('primary_key' = 'id') "
        f"as select id, dies(id) v, id % 3 p from {numbers}"
    )
    main.sql("update failed set v = -1 where id % 10 = 0")
    main.sql("delete from failed where id % 10 = 1")
    main.sql(
        f"merge into failed t using (select id from {numbers} where id % 10 < 3) s "
        "on t.id = s.id when matched and t.v = -1 then delete "
        "when matched then update set v = -2 when not matched then insert (id, v) values (s.id, 0)"
    )
    with main.create("dev") as dev:
        dev.sql("update died set v = -1 where id % 2 = 0")
    main.sql("update died set v = -2 where id % 3 = 0")
    print(main.merge("dev", on_conflict="accept").relations[0].conflicts)
"""


@pytest.fixture(scope="module")
def functions(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Faltering]:
    """The functions with which tasks fail and die."""
    folder = tmp_path_factory.mktemp("executors") / "ware house"
    return {
        "fails": Faltering(folder=folder, every=EVERY, trouble="fail", values=LAST),
        "dies": Faltering(folder=folder, every=EVERY, trouble="die", values=LAST[:1]),
    }


@pytest.fixture(scope="module")
def said(functions: dict[str, Faltering]) -> str:
    """What the program prints."""
    folder = functions["fails"].folder
    texts = [function.statement(name) for name, function in functions.items()]
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(folder), *texts, str(ROWS), str(TASKS)],
        cwd=folder.parent,
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def rows(folder: Path, name: str) -> list[dict[str, int]]:
    """Read a table without Spark."""
    with connect(str(folder)) as client:
        return client.table(name).to_arrow().sort_by("id").to_pylist()


def test_files_of_failed_attempts_are_not_read(said: str, functions: dict[str, Faltering]) -> None:
    function = functions["fails"]
    assert function.attempts() == [(task, n) for task in range(TASKS) for n in (0, 1)]
    expected = [{"id": id, "v": value} for id in range(ROWS) if (value := changed(id)) is not None]
    assert rows(function.folder, "failed") == expected


def changed(id: int) -> int | None:
    """Return the value after the update, the deletion and the merge."""
    return {0: None, 1: 0, 2: -2}.get(id % 10, id)


def test_files_of_a_dead_executor_are_not_read(said: str, functions: dict[str, Faltering]) -> None:
    function = functions["dies"]
    assert (0, 1) in function.attempts()
    expected = [
        {"id": id, "v": -1 if id % 2 == 0 else -2 if id % 3 == 0 else id, "p": id % 3}
        for id in range(ROWS)
    ]
    assert rows(function.folder, "died") == expected


def test_a_merge_counts_the_rows_that_both_changed(
    said: str, functions: dict[str, Faltering]
) -> None:
    assert said == f"{len(range(0, ROWS, 6))}\n"


def test_nothing_is_damaged(said: str, functions: dict[str, Faltering]) -> None:
    repository = Repository.open(LocalBlobs(functions["fails"].folder))
    assert check_repository(repository, data=DataCheck()).problems == ()
