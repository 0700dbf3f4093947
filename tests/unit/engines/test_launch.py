"""The start of Spark's process: what it is given, and what is left of one that nobody needs."""

import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkRuntimeError

from dbt.adapters.vcs.engines.spark.launch import Launch, Launches

QUIET = {"spark.master": "local[2]", "spark.log.level": "ERROR"}

# Spark's script, as it is called: writes what it was given, and does as it is told.
SUBMIT = """#!{python}
import json, os, sys, time
given = {{"arguments": sys.argv[1:], "connect": os.environ["SPARK_CONNECT_MODE"]}}
print("it was said")
open({log!r} + str(os.getpid()), "w").write(json.dumps(given))
{does}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of temporary files and of what the script writes."""
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    (tmp_path / "spark" / "bin").mkdir(parents=True)
    monkeypatch.setenv("SPARK_HOME", str(tmp_path / "spark"))
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    return tmp_path


def submit(folder: Path, does: str) -> None:
    script = folder / "spark" / "bin" / "spark-submit"
    text = SUBMIT.format(python=sys.executable, log=str(folder / "given-"), does=does)
    script.write_text(text)
    script.chmod(0o755)


def given(folder: Path) -> Iterator[dict[str, object]]:
    return (json.loads(path.read_text()) for path in folder.glob("given-*"))


def test_a_process_that_ends_at_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    submit(folder, "sys.exit(3)")
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", "--driver-class-path 'a b' pyspark-shell")
    launch = Launch({**QUIET, "spark.hadoop.fs.s3a.secret.key": "hidden"})
    with launch.said:
        with pytest.raises(PySparkRuntimeError, match="gateway process exited"):
            launch.gateway()
        assert launch.output() == "it was said\n"
    [told] = given(folder)
    assert told == {
        "arguments": [
            "--conf",
            "spark.master=local[2]",
            "--conf",
            "spark.log.level=ERROR",
            "--driver-class-path",
            "a b",
            "pyspark-shell",
        ],
        "connect": "0",
    }
    assert list((folder / "tmp").iterdir()) == []
    assert "PYSPARK_GATEWAY_PORT" not in os.environ


def test_the_environment_stays_as_it_is_while_a_process_is_taken_up(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = "os.environ['_PYSPARK_DRIVER_CONN_INFO_PATH']"
    told = (7).to_bytes(4, "big") + (1).to_bytes(4, "big") + b"s"
    writes = f"open({path} + '.new', 'wb').write({told!r}); os.rename({path} + '.new', {path})"
    submit(folder, f"{writes}; time.sleep(600)")
    seen = []

    class Gateway:
        jvm = None

        def __init__(self, java_parameters: Any, python_parameters: Any) -> None:
            # dbt reads all of it in other threads, and fails if a variable goes away meanwhile.
            seen.append((java_parameters.port, java_parameters.auth_token, dict(os.environ)))

    monkeypatch.setattr("pyspark.java_gateway.ClientServer", Gateway)
    monkeypatch.setattr("pyspark.java_gateway.java_import", lambda *_: None)
    before = dict(os.environ)
    launch = Launch(QUIET)
    with launch.said:
        gateway = launch.gateway()
        launch.end()
    assert gateway.proc is launch._process
    assert seen == [(7, "s", before)]


def test_no_script(folder: Path) -> None:
    with pytest.raises(OSError, match="spark-submit"):
        Launch(QUIET)
    assert list((folder / "tmp").iterdir()) == []


def test_a_process_with_other_settings_is_ended(folder: Path) -> None:
    submit(folder, "time.sleep(600)")
    launches = Launches()
    launches.begin(QUIET)
    launches.begin({**QUIET, "spark.master": "local[7]"})
    first = launches._found
    assert first is not None
    assert first._process is not None
    other = launches.take({**QUIET, "spark.master": "local[7]"})
    assert other is not first
    assert first._process.returncode is not None
    other.end()
    again = launches.take(QUIET)
    assert again not in (first, other)
    again.end()
    assert list((folder / "tmp").iterdir()) == []


def test_a_process_is_taken_up_once_and_one_that_nobody_needs_ends(folder: Path) -> None:
    submit(folder, "time.sleep(600)")
    launches = Launches()
    launches.begin(QUIET)
    first = launches.take(dict(QUIET))
    while not list(folder.glob("given-*")):
        time.sleep(0.01)
    launches.begin(QUIET)
    second = launches._found
    assert second not in (None, first)
    launches._end()
    assert launches._found is None
    assert second is not None
    assert second._process is not None
    assert second._process.returncode is not None
    assert first._process is not None
    assert first._process.poll() is None
    first.end()
    assert list((folder / "tmp").iterdir()) == []
