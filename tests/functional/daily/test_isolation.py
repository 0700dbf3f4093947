"""Nodes that run at once see their own versions of a name, never each other's."""

from __future__ import annotations

import threading

import pytest

from dbt.adapters.vcs.core.model import Origin
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.store.opening import open_blobs
from dbt.adapters.vcs.engines.spark.engine import SparkEngine
from dbt.adapters.vcs.workspace.lines.line_workspace import Workspace
from dbt.adapters.vcs.workspace.lines.lines import BranchLine

from .project import SPARK

pytestmark = pytest.mark.spark

ROUNDS = 6


@pytest.fixture
def workspace(tmp_path):
    blobs = open_blobs(str(tmp_path / "warehouse"))
    repository = Repository.create(blobs, author="me")
    settings = {key: str(value) for key, value in SPARK.items()}
    made = Workspace(
        repository,
        BranchLine(repository, "main", "me"),
        lambda: SparkEngine(blobs, settings=settings),
        schema="analytics",
    )
    overlay = made.begin()
    made.connect("setup").execute("create schema analytics", overlay, origin=Origin())
    made.line.land(overlay, "setup")
    yield made
    made.close()


def test_versions_of_one_name_never_mix(workspace):
    mixed: list[object] = []

    def work(name: str) -> None:
        connection, overlay = workspace.connect(name), workspace.begin()

        def run(text: str) -> list[tuple[object, ...]]:
            outcome = connection.execute(text, overlay, origin=Origin())
            return outcome.rows.fetch() if outcome.rows is not None else []

        try:
            run(f"create table shared as select '{name}' as n")
            run("create table log (n string)")
            for _ in range(ROUNDS):
                run(f"create or replace table read_{name} as select * from shared")
                run("create or replace view seen as select * from shared")
                run("create or replace temporary view passing as select * from seen")
                run("insert into log select n from passing")
                run("insert overwrite log select n from log union all select n from seen")
                mixed.extend(row for row in run(f"select n from read_{name}") if row != (name,))
            mixed.extend(row for row in run("select distinct n from log") if row != (name,))
            assert len(run("select n from log")) == 2 * ROUNDS
        except Exception as error:
            mixed.append(error)

    threads = [threading.Thread(target=work, args=(name,)) for name in ("a", "b", "c")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert mixed == []
