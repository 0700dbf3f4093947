"""`dbt-vcs prepare` in earnest: a later process takes Spark's classes from the archive."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

pytestmark = pytest.mark.spark

COMMAND = str(Path(sys.executable).with_name("dbt-vcs"))
SESSION = "org.apache.spark.sql.classic.SparkSession"


def command(*words: str, env: Mapping[str, str] = {}) -> str:
    done = subprocess.run(
        [COMMAND, *words], env={**os.environ, **env}, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def source_of(name: str, repository: Path, log: Path, cache: str) -> str:
    """Return where a process that answers a query had a class from."""
    env = {"SPARK_SUBMIT_OPTS": f'"-Xlog:class+load:file={log}"', "XDG_CACHE_HOME": cache}
    text = command("-r", str(repository), "sql", "select sum(id) total from range(4)", env=env)
    assert text.split()[0] == "total"
    assert text.split()[-1] == "6"
    [line] = [each for each in log.read_text().splitlines() if f" {name} source:" in each]
    return line.partition("source: ")[2]


def test_a_later_process_takes_classes_from_the_archive(tmp_path: Path) -> None:
    repository = tmp_path / "repository"
    command("-r", str(repository), "init")
    # As a rule it is there already, for all tests.
    cache = os.environ.get("XDG_CACHE_HOME") or str(tmp_path / "cache")
    made = json.loads(command("prepare", "--json", env={"XDG_CACHE_HOME": cache}))
    archive = Path(made["archive"])
    assert archive.stat().st_size == made["bytes"] > 2**20
    again = json.loads(command("prepare", "--json", env={"XDG_CACHE_HOME": cache}))
    assert again == {**made, "is_new": False}
    found = source_of(SESSION, repository, tmp_path / "with.log", cache)
    assert found == "shared objects file (top)"
    found = source_of(SESSION, repository, tmp_path / "without.log", str(tmp_path / "empty"))
    assert found.endswith(".jar")
