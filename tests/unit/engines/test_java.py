"""What Spark starts from: a Java that is new enough, and a Spark that fits PySpark."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from dbt.adapters.vcs.core.errors import EngineError
from dbt.adapters.vcs.engines.java import ensure_address, ensure_java, ensure_spark_home


def fake_java(folder: Path, says: str, *, status: int = 0) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    java = folder / "java"
    java.write_text(f"#!/bin/sh\ncat >&2 <<'END'\n{says}\nEND\nexit {status}\n")
    java.chmod(0o755)
    return java


@pytest.mark.parametrize(
    ("says", "version"),
    [
        ('openjdk version "17.0.15" 2025-04-15', 17),
        ('openjdk version "21" 2023-09-19', 21),
        ('Picked up JAVA_TOOL_OPTIONS: -Xmx1g\nopenjdk version "25-ea" 2025-09-16', 25),
    ],
)
def test_java_home_wins_over_the_path(tmp_path: Path, says: str, version: int) -> None:
    fake_java(tmp_path / "home" / "bin", says)
    fake_java(tmp_path / "path", 'java version "1.8.0_402"')
    env = {"JAVA_HOME": str(tmp_path / "home"), "PATH": f"{tmp_path / 'path'}:/bin:/usr/bin"}
    assert ensure_java(env) == version


def test_the_path_is_searched_without_java_home(tmp_path: Path) -> None:
    fake_java(tmp_path, 'openjdk version "17.0.1" 2021-10-19')
    assert ensure_java({"PATH": f"{tmp_path}:/bin:/usr/bin"}) == 17


@pytest.mark.parametrize(
    ("says", "found"),
    [('java version "1.8.0_402"', "is Java 8"), ('openjdk version "11.0.2" 2019', "is Java 11")],
)
def test_an_older_java_is_refused(tmp_path: Path, says: str, found: str) -> None:
    fake_java(tmp_path, says)
    with pytest.raises(EngineError, match=found) as caught:
        ensure_java({"PATH": f"{tmp_path}:/bin:/usr/bin"})
    assert "apt-get install openjdk-17-jre-headless" in str(caught.value)
    assert "brew install openjdk@17" in str(caught.value)


def test_no_java_at_all(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="JAVA_HOME is not set and there is no `java`") as caught:
        ensure_java({"PATH": str(tmp_path)})
    assert "\n" not in str(caught.value)


def test_a_java_home_without_java(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="where there is no bin/java"):
        ensure_java({"JAVA_HOME": str(tmp_path), "PATH": os.environ["PATH"]})


def test_a_java_that_does_not_tell_its_version(tmp_path: Path) -> None:
    # macOS has such a stub where no Java is installed.
    fake_java(tmp_path, "The operation couldn't be completed. Unable to locate a Java Runtime.")
    with pytest.raises(EngineError, match="does not report its version"):
        ensure_java({"PATH": f"{tmp_path}:/bin:/usr/bin"})


def test_a_java_that_does_not_start(tmp_path: Path) -> None:
    java = tmp_path / "java"
    java.write_bytes(b"\x00\x01")
    java.chmod(0o755)
    with pytest.raises(EngineError, match="does not start"):
        ensure_java({"PATH": str(tmp_path)})


def spark_of(folder: Path, version: str) -> str:
    (folder / "jars").mkdir()
    (folder / "jars" / f"spark-core_2.13-{version}.jar").touch()
    return str(folder)


def test_no_spark_home() -> None:
    ensure_spark_home({}, "4.3.0")
    ensure_spark_home({"SPARK_HOME": ""}, "4.3.0")


def test_the_same_minor_version(tmp_path: Path) -> None:
    ensure_spark_home({"SPARK_HOME": spark_of(tmp_path, "4.3.2")}, "4.3.0")


@pytest.mark.parametrize("version", ["3.5.1", "4.0.0"])
def test_another_version(tmp_path: Path, version: str) -> None:
    with pytest.raises(EngineError, match=f"there is Spark {version}; PySpark here is 4.3.0"):
        ensure_spark_home({"SPARK_HOME": spark_of(tmp_path, version)}, "4.3.0")


def test_a_folder_that_is_no_spark(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="there is no Spark"):
        ensure_spark_home({"SPARK_HOME": str(tmp_path / "gone")}, "4.3.0")


@pytest.mark.parametrize(
    ("resolves", "given", "used"),
    [(True, None, None), (False, None, "127.0.0.1"), (False, "10.0.0.7", "10.0.0.7")],
)
def test_a_machine_whose_name_has_no_address_has_its_own(
    monkeypatch: pytest.MonkeyPatch, resolves: bool, given: str | None, used: str | None
) -> None:
    name = "localhost" if resolves else "no-such-machine.invalid"
    monkeypatch.setattr(socket, "gethostname", lambda: name)
    env = {} if given is None else {"SPARK_LOCAL_IP": given}
    ensure_address(env)
    assert env.get("SPARK_LOCAL_IP") == used
