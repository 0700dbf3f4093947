"""Class archives: which one is used, how one is made, and what is refused."""

import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from dbt.adapters.vcs.core.errors import EngineError
from dbt.adapters.vcs.engines.java import (
    archive_classes,
    archived_classes,
    with_archive,
)
from dbt.adapters.vcs.engines.session_settings import JAVA_OPTIONS

OWN = {"spark.master": "local[2]", JAVA_OPTIONS: "-XX:+UseParallelGC"}

# Java, as it ends: writes its archive where it was told to.
WRITES = """
import os, re
[path] = re.findall(r'"-XX:ArchiveClassesAtExit=([^"]*)"', os.environ["SPARK_SUBMIT_OPTS"])
open(path, "w").write("classes")
"""


def work(code: str) -> list[str]:
    return [sys.executable, "-c", code]


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    """A Java, a Spark with one jar, and a folder of caches with a space in its name."""
    (tmp_path / "jdk" / "bin").mkdir(parents=True)
    (tmp_path / "jdk" / "lib").mkdir()
    (tmp_path / "jdk" / "bin" / "java").touch()
    (tmp_path / "jdk" / "lib" / "modules").write_text("17.0.1")
    (tmp_path / "spark" / "jars").mkdir(parents=True)
    (tmp_path / "spark" / "jars" / "spark-core.jar").write_text("core")
    return {
        "JAVA_HOME": str(tmp_path / "jdk"),
        "SPARK_HOME": str(tmp_path / "spark"),
        "XDG_CACHE_HOME": str(tmp_path / "the cache"),
        "PATH": os.environ["PATH"],
    }


def test_without_an_archive_settings_are_as_they_were(env: Mapping[str, str]) -> None:
    assert archived_classes(env) is None
    assert with_archive(OWN, env) == OWN


def test_an_archive_is_used_beside_other_options(env: Mapping[str, str]) -> None:
    archive = archive_classes(work(WRITES), env)
    assert archive.read_text() == "classes"
    assert archived_classes(env) == archive
    found = with_archive(OWN, env)
    assert found == OWN | {
        JAVA_OPTIONS: "-XX:+UseParallelGC -XX:+VerifySharedSpaces "
        "-XX:+UnlockDiagnosticVMOptions -XX:ArchiveRelocationMode=0 "
        f'"-XX:SharedArchiveFile={archive}"'
    }
    assert [each.name for each in archive.parent.iterdir()] == [archive.name]


@pytest.mark.parametrize("file", ["jdk/lib/modules", "spark/jars/spark-core.jar"])
def test_another_java_or_another_spark_needs_another_one(
    env: Mapping[str, str], tmp_path: Path, file: str
) -> None:
    archive_classes(work(WRITES), env)
    (tmp_path / file).write_text("a newer one")
    assert archived_classes(env) is None


def test_a_new_jar_needs_another_one(env: Mapping[str, str], tmp_path: Path) -> None:
    archive_classes(work(WRITES), env)
    (tmp_path / "spark" / "jars" / "more.jar").touch()
    assert archived_classes(env) is None


@pytest.mark.parametrize("content", ["class", "classes and more", ""])
def test_one_of_another_size_is_not_used(env: Mapping[str, str], content: str) -> None:
    """Java dies of an archive that was cut short."""
    archive = archive_classes(work(WRITES), env)
    archive.write_text(content)
    assert archived_classes(env) is None
    assert with_archive(OWN, env) == OWN
    assert archive_classes(work(WRITES), env).read_text() == "classes"


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("spark.driver.extraJavaOptions", "-Xshare:off"),
        ("spark.driver.defaultJavaOptions", "-XX:SharedArchiveFile=/mine.jsa"),
        ("SPARK_SUBMIT_OPTS", "-XX:ArchiveClassesAtExit=/mine.jsa"),
        ("PYSPARK_SUBMIT_ARGS", "--driver-java-options -Xshare:off pyspark-shell"),
        ("JAVA_TOOL_OPTIONS", "-XX:SharedArchiveFile=/mine.jsa"),
    ],
)
def test_who_chooses_an_archive_has_it(env: dict[str, str], name: str, options: str) -> None:
    archive_classes(work(WRITES), env)
    settings = dict(OWN)
    (settings if name.startswith("spark.") else env)[name] = options
    assert with_archive(settings, env) == settings


def test_an_installed_spark_with_settings_keeps_them(env: dict[str, str], tmp_path: Path) -> None:
    archive_classes(work(WRITES), env)
    (tmp_path / "spark" / "conf").mkdir()
    file = tmp_path / "spark" / "conf" / "spark-defaults.conf"
    file.write_text("spark.driver.defaultJavaOptions -Xss4m\n")
    assert with_archive({"spark.master": "yarn"}, env) == {"spark.master": "yarn"}


def test_archives_of_no_use_for_a_month_are_deleted(
    env: Mapping[str, str], tmp_path: Path
) -> None:
    first = archive_classes(work(WRITES), env)
    recent = first.with_name("recent.7.jsa")
    recent.write_text("classes")
    left = first.parent / ".new-of-a-killed-process"
    left.mkdir()
    (left / "classes.jsa").write_text("classes")
    month = time.time() - 31 * 24 * 3600
    os.utime(first, (month, month))
    with_archive(OWN, env)
    assert first.stat().st_mtime > month, "it was used just now"
    os.utime(first, (month, month))
    os.utime(left, (month, month))
    (tmp_path / "spark" / "jars" / "more.jar").touch()
    second = archive_classes(work(WRITES), env)
    assert sorted(second.parent.iterdir()) == sorted([recent, second])


@pytest.mark.parametrize("status", [0, 1])
def test_java_says_why_it_made_none(env: Mapping[str, str], status: int) -> None:
    says = f"""
print("noise")
print("[23.4s][error  ][cds] Error: non-empty directory '/conf/'")
print("Error occurred during initialization of VM")
raise SystemExit({status})
"""
    with pytest.raises(EngineError, match="unset SPARK_CONF_DIR") as caught:
        archive_classes(work(says), env)
    assert "non-empty directory '/conf/'" in str(caught.value)
    assert "noise" not in str(caught.value)
    assert archived_classes(env) is None


def test_what_a_failed_command_wrote_is_not_used(env: Mapping[str, str]) -> None:
    with pytest.raises(EngineError, match="no archive") as caught:
        archive_classes(work(WRITES + "raise SystemExit('the work failed')"), env)
    assert "the work failed" in str(caught.value)
    assert "SPARK_CONF_DIR" not in str(caught.value)
    assert archived_classes(env) is None


def test_without_a_home_there_is_none(
    env: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def homeless() -> Path:
        raise RuntimeError("no home")

    del env["XDG_CACHE_HOME"]
    monkeypatch.setattr(Path, "home", homeless)
    assert with_archive(OWN, env) == OWN
    with pytest.raises(EngineError, match="Set XDG_CACHE_HOME"):
        archive_classes(work(WRITES), env)


def test_a_folder_that_is_none_is_said(env: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    env["XDG_CACHE_HOME"] = str(tmp_path / "file")
    assert archived_classes(env) is None
    with pytest.raises(EngineError, match=r"can't be written.*set XDG_CACHE_HOME to a folder"):
        archive_classes(work(WRITES), env)
