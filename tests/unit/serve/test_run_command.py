"""`dbt-vcs run -- COMMAND`: any program as one run, which is published if it succeeds."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from dbt.adapters.vcs.api import connect
from dbt.adapters.vcs.cli import main
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.store.opening import open_blobs
from dbt.adapters.vcs.workspace.run_branch import Status, runs

PYICEBERG = """
import pyarrow as pa
from pyiceberg.catalog import load_catalog

catalog = load_catalog("vcs")
catalog.create_namespace("raw")
rows = pa.table({"id": [1, 2]})
catalog.create_table("raw.orders", rows.schema).append(rows)
"""
DUCKDB = """
import os
from tests.unit.iceberg.readers import duckdb_connection

found = {name: os.environ["DBT_VCS_ICEBERG_" + name] for name in ("URI", "TOKEN", "WAREHOUSE")}
duck = duckdb_connection("httpfs")
duck.execute(f"create secret vcs_token (type iceberg, token '{found['TOKEN']}')")
duck.execute(
    f"attach '{found['WAREHOUSE']}' as vcs "
    f"(type iceberg, endpoint '{found['URI']}', secret vcs_token)"
)
duck.execute("create schema vcs.raw")
duck.execute("create table vcs.raw.orders as select 1 as id union all select 2")
"""
FAILING = PYICEBERG + "raise SystemExit(3)"
PUBLISHING = (
    PYICEBERG
    + """
import sys
from dbt.adapters.vcs.cli import main

main(["-r", sys.argv[1], "run", "publish"], standalone_mode=False)
raise SystemExit(3)
"""
)


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository.create(open_blobs(str(tmp_path / "warehouse")), author="ann")


def ran(repository: Repository, *words: str, options: tuple[str, ...] = ()) -> Result:
    return CliRunner().invoke(main, ["-r", repository.uri, "run", *options, "--", *words])


def ids(repository: Repository, branch: str = "main") -> list[int]:
    with connect(repository.uri, branch) as client:
        found = client.table("raw.orders").to_arrow().column("id").to_pylist()
        return sorted(int(value) for value in found)


@pytest.mark.parametrize("script", [PYICEBERG, DUCKDB], ids=["pyiceberg", "duckdb"])
def test_what_a_program_wrote_is_published_at_once(repository: Repository, script: str) -> None:
    before = repository.branch("main").head
    done = ran(repository, sys.executable, "-c", script)
    assert done.exit_code == 0, done.output
    assert ids(repository) == [1, 2]
    commit = repository.objects.commit(repository.branch("main").head)
    assert commit.parents == (before,)
    (run,) = runs(repository)
    assert run.status is Status.PUBLISHED


def test_what_a_program_wrote_that_failed_is_kept_aside(repository: Repository) -> None:
    before = repository.branch("main").head
    done = ran(repository, sys.executable, "-c", FAILING)
    assert done.exit_code == 3
    assert repository.branch("main").head == before
    (run,) = runs(repository)
    assert (run.status, run.target) == (Status.FAILED, "main")
    assert f"diff main {run.name}" in done.stderr
    assert ids(repository, run.name) == [1, 2]


def test_what_a_program_published_before_it_failed_is_published(repository: Repository) -> None:
    done = ran(repository, sys.executable, "-c", PUBLISHING, repository.uri)
    assert done.exit_code == 3
    (run,) = runs(repository)
    assert run.status is Status.PUBLISHED
    assert ids(repository) == [1, 2]
    assert "Not published" not in done.stderr
    assert f"when the run had been published: dbt-vcs -r {repository.uri} show {run.name}" in (
        done.stderr
    )


def test_another_branch_may_be_meant(repository: Repository) -> None:
    repository.create_branch("dev", repository.branch("main").head, author="ann")
    done = ran(repository, sys.executable, "-c", PYICEBERG, options=("--branch", "dev"))
    assert done.exit_code == 0, done.output
    assert ids(repository, "dev") == [1, 2]
    assert not repository.tree(repository.branch("main").head).schemas()


def test_the_token_opens_the_run_alone(repository: Repository) -> None:
    script = PYICEBERG.replace('load_catalog("vcs")', 'load_catalog("vcs", warehouse="main")')
    done = ran(repository, sys.executable, "-c", script)
    assert done.exit_code == 1
    assert not repository.tree(repository.branch("main").head).schemas()


@pytest.mark.parametrize(
    "words", [[], ["--branch", "main"], ["--"], ["begin", "--", "x"], ["exec"]]
)
def test_what_is_missing_is_said(repository: Repository, words: list[str]) -> None:
    done = CliRunner().invoke(main, ["-r", repository.uri, "run", *words])
    assert done.exit_code == 2
    assert "a command after --" in done.output
    assert not runs(repository)


def test_a_program_that_is_not_there_begins_no_run(repository: Repository) -> None:
    done = ran(repository, "no-such-program")
    assert done.exit_code == 2 and "no-such-program" in done.output
    assert not runs(repository)


def test_a_program_that_is_stopped_leaves_a_failed_run(
    repository: Repository, tmp_path: Path
) -> None:
    started = tmp_path / "started"
    script = f"import pathlib, time; pathlib.Path({str(started)!r}).touch(); time.sleep(60)"
    code = "from dbt.adapters.vcs.cli import main; main()"
    process = subprocess.Popen(
        [sys.executable, "-c", code, "-r", repository.uri, "run", "--",
         sys.executable, "-c", script],
        start_new_session=True,
        stderr=subprocess.PIPE,
        text=True,
    )  # fmt: skip
    while not started.exists():
        assert process.poll() is None
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)
    said = process.communicate(timeout=60)[1]
    assert process.returncode == 130, said
    (run,) = runs(repository)
    assert run.status is Status.FAILED
