"""Runs that don't end by themselves: killed, interrupted, or two at once."""

from __future__ import annotations

import json
import re
import shlex
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from itertools import takewhile
from pathlib import Path

import pytest
from dbt.cli.main import dbtRunner

from dbt.adapters.vcs.core.errors import ConflictError
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.workspace.run_branch import Status, check_mergeable, discard
from tests.functional.life.shop import Shop, make_shop

pytestmark = pytest.mark.spark

HANGS = 240
"""Seconds after which a process hangs: on a busy machine dbt takes a minute to end."""

# Long enough to be interrupted on any machine, and cancelled in an instant.
SLOW = (
    "{{ config(materialized='table') }} "
    "select count(*) as n from range({{ var('rows', 4000000000000) }}) where id % 7 = "
    "(select max(n) from {{ ref('a') }})"
)


@pytest.fixture
def built(tmp_path: Path) -> Shop:
    """A shop whose main holds n = 1, and whose next run takes forever in b."""
    shop = make_shop(tmp_path)
    assert shop.dbt("run", n=1).success
    shop.write({"models/b.sql": SLOW})
    return shop


def wait_for(what: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + 120
    while not what():
        assert process.poll() is None, process.communicate()[0]
        assert time.monotonic() < deadline, "nothing happened for two minutes"
        time.sleep(0.05)


def at_work(shop: Shop) -> Callable[[], bool]:
    """Return whether a run has committed its first node and is still running."""
    return lambda: any(r.status is Status.OPEN and r.head != r.fork for r in shop.runs())


def test_sigkill_leaves_the_target_and_a_branch_to_collect(built: Shop) -> None:
    before = built.head()
    process = built.start("run", n=2)
    wait_for(at_work(built), process)
    process.send_signal(signal.SIGKILL)
    process.communicate()

    assert built.head() == before
    assert built.value("select a.n * 10 + b.n from a, b") == 11
    repository = built.repository
    (killed,) = (run for run in built.runs() if run.status is Status.OPEN)
    assert killed.is_abandoned(repository.clock())
    assert built.value("select n from a", killed.name) == 2
    discard(repository, killed, author="test")
    assert killed.name not in {run.name for run in built.runs()}

    assert built.dbt("run", n=3, rows=10).success
    assert built.value("select n from a") == 3


def test_ctrl_c_cancels_spark_and_retry_goes_on(built: Shop) -> None:
    before = built.head()
    process = built.start("run", n=2)
    wait_for(at_work(built), process)
    process.send_signal(signal.SIGINT)
    try:
        output, _ = process.communicate(timeout=HANGS)
    finally:
        process.kill()

    assert process.returncode != 0
    assert "CANCEL" in output or "cancel" in output
    assert built.head() == before
    interrupted = built.runs()[0]
    assert (interrupted.status, interrupted.note) == (Status.FAILED, "it was interrupted")
    assert built.value("select n from a", interrupted.name) == 2
    with pytest.raises(ConflictError, match="interrupted"):
        check_mergeable(built.repository, interrupted)

    built.write({"models/b.sql": "{{ config(materialized='table') }} select 5 as n"})
    (step,) = re.findall(r"it was interrupted.* Run: (dbt retry.*)", output)
    assert dbtRunner().invoke(shlex.split(step)[1:]).success
    assert built.value("select a.n * 10 + b.n from a, b") == 25
    assert len(list(built.repository.log(built.head()))) == 3


@pytest.mark.parametrize("times", [1, 2])
def test_ctrl_c_while_spark_starts_waits_for_nothing(tmp_path: Path, times: int) -> None:
    shop = make_shop(tmp_path)
    process = shop.start("build", n=2)
    assert process.stdout is not None
    # Spark starts with the first statement, and takes seconds for it.
    said = list(takewhile(lambda line: " START " not in line, process.stdout))
    time.sleep(0.5)
    begun = time.monotonic()
    for _ in range(times):
        process.send_signal(signal.SIGINT)
        time.sleep(0.3)
    try:
        output, _ = process.communicate(timeout=HANGS)
    finally:
        process.kill()
    print(f"ended {time.monotonic() - begun:.1f} s after Ctrl-C")

    assert process.returncode != 0, said
    assert output.count("it was interrupted. main is unchanged") <= 1
    assert "py4j" not in output.lower()
    # Spark did not get as far as the model, and nobody waited for it.
    assert "OK created" not in output
    (interrupted,) = shop.runs()
    assert interrupted.status is Status.FAILED
    assert shop.dbt("retry", n=2).success
    assert shop.value("select a.n * 10 + b.n from a, b") == 22


def test_a_run_whose_record_lacks_nodes_is_not_retried(built: Shop) -> None:
    before = built.head()
    process = built.start("run", "--no-write-json", n=2)
    wait_for(at_work(built), process)
    process.send_signal(signal.SIGINT)
    try:
        process.communicate(timeout=HANGS)
    finally:
        process.kill()
    interrupted = built.runs()[0]
    assert interrupted.status is Status.INTERRUPTED

    # A record of this run without the nodes that have no result, as plain dbt would write it.
    path = built.root / "target" / "run_results.json"
    record = json.loads(path.read_text())
    record["metadata"]["invocation_id"] = interrupted.invocation
    record["results"] = [{**record["results"][0], "status": "error"}]
    path.write_text(json.dumps(record))
    assert not built.dbt("retry").success
    assert built.head() == before

    assert built.dbt("run", n=3, rows=10).success
    assert built.value("select n from a") == 3


def test_two_processes_publish_different_tables_to_one_branch(built: Shop) -> None:
    built.write({"models/c.sql": "{{ config(materialized='table') }} select {{ var('n') }} as n"})
    first = built.start("run", "--select", "a", n=2)
    second = built.start("run", "--select", "c", n=3)
    outputs = [process.communicate(timeout=HANGS)[0] for process in (first, second)]

    assert [first.returncode, second.returncode] == [0, 0], outputs
    assert built.value("select a.n * 100 + b.n * 10 + c.n from a, b, c") == 213
    commits = [commit for _, commit in built.repository.log(built.head())]
    assert [len(commit.parents) for commit in commits] == [1, 1, 1, 0]


def test_readers_see_whole_commits_only(tmp_path: Path) -> None:
    shop = make_shop(tmp_path)
    assert shop.dbt("run", n=0).success
    seen: list[tuple[int, int]] = []
    stop = threading.Event()

    def read() -> None:
        with shop.connect() as client:
            while not stop.is_set():
                (row,) = client.sql("select a.n as a, b.n as b from a cross join b").to_pylist()
                seen.append((row["a"], row["b"]))

    reader = threading.Thread(target=read)
    reader.start()
    try:
        for n in range(1, 5):
            assert shop.dbt("run", n=n).success
    finally:
        stop.set()
        reader.join()

    assert all(a == b for a, b in seen)
    assert seen == sorted(seen)
    assert len(seen) > 4 and seen[-1][0] >= 3


def test_a_reader_in_another_process_sees_whole_commits_only(tmp_path: Path) -> None:
    shop = make_shop(tmp_path)
    assert shop.dbt("run", n=0).success
    repository = Repository.open(shop.repository.blobs)

    def pair() -> set[str]:
        tree = repository.tree(repository.branch("main").head)
        return {
            repository.objects.snapshot(entry.snapshot).origin.invocation or ""  # type: ignore[union-attr]
            for entry in tree.relations("analytics").values()
        }

    process = shop.start("run", n=1)
    seen = [pair()]
    while process.poll() is None:
        seen.append(pair())
        time.sleep(0.01)
    process.communicate()

    assert process.returncode == 0
    assert all(len(invocations) == 1 for invocations in seen)
    assert seen[0] != pair()
