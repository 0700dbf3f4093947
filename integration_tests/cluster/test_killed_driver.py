"""dbt is killed while it writes or publishes: readers see the branch before, or after."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from dbt.adapters.vcs.api import connect
from tests.functional.life.shop import Shop, make_shop

from .daemons import wait_for
from .drivers import check
from .spark_cluster import SparkCluster

ROWS = 20_000
MODELS = {
    "models/a.sql": (
        "{{ config(materialized='table') }} "
        f"select id, id * {{{{ var('n') }}}} as v from range(0, {ROWS}, 1, 4)"
    ),
    "models/b.sql": (
        "{{ config(materialized='incremental', unique_key='id', "
        "incremental_strategy='merge') }} select id, v + 1 as v from {{ ref('a') }}"
    ),
}

# Its tasks have opened their files long before they end.
SLOW = (
    "{{ config(materialized='table') }} "
    "select id, id * {{ var('n') }} as v from range(0, 400000000000, 1, 4) "
    "where id % 1000000 = 1"
)

# dbt, which kills itself at one of the writes with which it publishes.
PROGRAM = """
import os, signal, sys
from pathlib import Path
from dbt.adapters.vcs.core.store.local import LocalBlobs
from dbt.adapters.vcs.project.run import RunLife
from dbt.cli.main import cli

moment, notes = sys.argv.pop(1), Path(sys.argv.pop(1))
publish, put = RunLife._publish, LocalBlobs._put
publishing = False


def die_at(here):
    if publishing and moment == here:
        notes.write_text(here)
        os.kill(os.getpid(), signal.SIGKILL)


def published(self, *arguments):
    global publishing
    publishing = True
    publish(self, *arguments)


def stored(self, blobs, folders):
    moves = any(path.startswith("refs/heads/main/") for path in blobs)
    die_at("before the move" if moves else "before an object")
    created = put(self, blobs, folders)
    if moves:
        die_at("after the move")
    return created


RunLife._publish, LocalBlobs._put = published, stored
cli()
"""
SECONDS = 400


@pytest.fixture(scope="module")
def shop(cluster: SparkCluster, tmp_path_factory: pytest.TempPathFactory) -> Shop:
    """A project that was built once on the cluster."""
    folder = tmp_path_factory.mktemp("killed")
    made = make_shop(folder, MODELS, spark_config=cluster.settings())
    assert run(made, n=1) == 0
    assert contents(made) == expected(1)
    return made


def run(shop: Shop, n: int) -> int:
    """Run dbt to its end, and return its exit code."""
    process = shop.start("build", n=n)
    output, _ = process.communicate(timeout=SECONDS)
    print(output)
    return process.returncode


def contents(shop: Shop) -> dict[str, dict[int, int]]:
    """Read both tables as the branch shows them, without Spark."""
    with connect(str(shop.warehouse)) as client:
        found = {name: client.table(name).to_arrow().to_pylist() for name in "ab"}
    tables = {name: {row["id"]: row["v"] for row in rows} for name, rows in found.items()}
    assert {name: len(rows) for name, rows in found.items()} == {"a": ROWS, "b": ROWS}
    return tables


def expected(n: int) -> dict[str, dict[int, int]]:
    return {
        "a": {id: id * n for id in range(ROWS)},
        "b": {id: id * n + 1 for id in range(ROWS)},
    }


def goes_on(cluster: SparkCluster, shop: Shop, n: int) -> None:
    """Check that the killed application has left the cluster, and that the next run works."""
    cluster.wait_for_applications(0)
    check(shop.repository)
    assert run(shop, n=n) == 0
    assert contents(shop) == expected(n)
    check(shop.repository)


@pytest.mark.parametrize(
    ("number", "moment", "is_published"),
    [
        (10, "before an object", False),
        (20, "before the move", False),
        (30, "after the move", True),
    ],
)
def test_a_kill_while_publishing_leaves_the_branch_before_or_after(
    cluster: SparkCluster,
    shop: Shop,
    tmp_path: Path,
    number: int,
    moment: str,
    is_published: bool,
) -> None:
    before, rows, notes = shop.head(), contents(shop), tmp_path / "killed_at"
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, moment, str(notes), "build", *shop._flags({"n": number})],
        cwd=shop.root,
        env={**os.environ, "DBT_SEND_ANONYMOUS_USAGE_STATS": "false"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    output, _ = process.communicate(timeout=SECONDS)
    assert process.returncode == -signal.SIGKILL, output
    assert notes.read_text() == moment
    assert (shop.head() != before) == is_published
    assert contents(shop) == (expected(number) if is_published else rows)
    goes_on(cluster, shop, number + 1)


def test_a_kill_while_spark_writes_leaves_the_branch_as_it_was(
    cluster: SparkCluster, shop: Shop
) -> None:
    before, rows = shop.head(), contents(shop)
    shop.write({"models/a.sql": SLOW})
    with (shop.root / "said.log").open("wb") as said:
        process = subprocess.Popen(
            [sys.executable, "-m", "dbt.cli.main", "build", *shop._flags({"n": 40})],
            cwd=shop.root,
            stdout=said,
            stderr=said,
        )

    def writing() -> bool:
        assert process.poll() is None, (shop.root / "said.log").read_text()
        return any(shop.warehouse.glob("data/*/w=*/_temporary/0/_temporary/*/**/part-*"))

    try:
        wait_for(
            writing,
            lambda: f"nothing is written: {(shop.root / 'said.log').read_text()}",
            seconds=SECONDS,
        )
    finally:
        process.kill()
        process.wait(SECONDS)
    assert shop.head() == before
    assert contents(shop) == rows
    shop.write(MODELS)
    goes_on(cluster, shop, 41)
