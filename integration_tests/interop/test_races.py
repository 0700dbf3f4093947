"""Clients append to one table and delete from it at the same time: nothing is lost or doubled."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from dbt.adapters.vcs.client.lazy_table import open_table
from dbt.adapters.vcs.commands.fsck import check_repository
from dbt.adapters.vcs.core.model import RelationName
from tests.unit.iceberg.lake import Lake
from tests.unit.serve.server_process import ServerProcess, serving

from .iceberg_spark import IcebergSpark, SparkError, served
from .write_cases import MODES

ROUNDS = 8
WORKER = Path(__file__).with_name("race_worker.py")
RETRIES = "'commit.retry.num-retries' = '20', 'commit.retry.min-wait-ms' = '20'"


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    return Lake(tmp_path_factory.mktemp("races") / "ware house")


@pytest.fixture(scope="module")
def server(lake: Lake) -> Iterator[ServerProcess]:
    with serving(Path(lake.blobs.uri)) as running:
        yield running


@pytest.fixture(scope="module")
def spark(server: ServerProcess) -> Iterator[IcebergSpark]:
    with IcebergSpark({"vcs": served(server.url, "main")}) as session:
        yield session


class Racer:
    """PyIceberg in a process of its own."""

    def __init__(self, url: str, table: str, first: int) -> None:
        command = [sys.executable, WORKER, url, "main", table, str(first), str(ROUNDS)]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)

    def told(self) -> list[dict[str, Any]]:
        """Wait for its end, and return what became of its changes."""
        out, _ = self._process.communicate(timeout=300)
        assert self._process.returncode == 0
        return [json.loads(line) for line in out.splitlines()]


def there(lake: Lake, table: str) -> pa.Table:
    head = lake.repository.branch("main").head
    return open_table(lake.repository, RelationName("s", table), head, None).to_arrow()


def outcome(found: pa.Table | SparkError) -> str:
    """Return what became of a statement; a refusal that isn't one of a race is an error."""
    if not isinstance(found, SparkError):
        return "done"
    if "CommitStateUnknown" in str(found):
        return "unknown"
    lost = ("CommitFailed", "ValidationException", "Others changed")
    assert any(word in str(found) for word in lost), found
    return "refused"


@pytest.mark.parametrize("mode", MODES)
def test_each_acknowledged_commit_is_there_once(
    spark: IcebergSpark, server: ServerProcess, lake: Lake, mode: str
) -> None:
    name = f"raced_{mode.replace('-', '_')}"
    modes = ", ".join(f"'write.{word}.mode' = '{mode}'" for word in ("delete", "update", "merge"))
    spark.sql(
        f"create table vcs.s.{name} (id bigint, who string) using iceberg"
        f" tblproperties ({modes}, {RETRIES})"
    )
    spark.sql(f"insert into vcs.s.{name} select id, 'first' from range(20)")
    racers = [Racer(server.url, f"s.{name}", first) for first in (1_000, 2_000)]
    told: list[dict[str, Any]] = []
    for number in range(ROUNDS):
        new = [3_000 + 2 * number, 3_001 + 2 * number]
        answers = spark.at_once(
            *(f"insert into vcs.s.{name} values ({id}, 'spark')" for id in new),
            f"delete from vcs.s.{name} where id = {number}",
        )
        changes = [("append", new[0]), ("append", new[1]), ("delete", number)]
        told += [
            {"did": did, "id": id, "outcome": outcome(found)}
            for (did, id), found in zip(changes, answers, strict=True)
        ]
    for racer in racers:
        told += racer.told()

    result = {(item["did"], item["id"]): item["outcome"] for item in told}
    found = Counter(there(lake, name)["id"].to_pylist())
    assert set(found.values()) == {1}
    everything = {*range(20), *(id for did, id in result if did == "append")}
    assert set(found) <= everything
    for id in everything:
        added = result.get(("append", id), "done")
        deleted = result.get(("delete", id), "refused")
        if "unknown" in (added, deleted):
            continue
        assert (id in found) == (added == "done" and deleted != "done"), (id, added, deleted)
    done = Counter((item["did"], item["outcome"]) for item in told)
    assert done["append", "done"] >= 3 * ROUNDS, done
    assert Counter(spark.sql(f"select id from vcs.s.{name}")["id"].to_pylist()) == found
    assert check_repository(lake.repository).problems == ()
