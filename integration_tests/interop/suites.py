"""The tests that clients of Iceberg bring for catalogs, run at a server of this package."""

from __future__ import annotations

import os
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, Literal

from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.store.local import LocalBlobs
from tests.unit.serve.server_process import serving

from .fetch import NEEDS, PYICEBERG, PYTHON, kit

Outcome = Literal["passed", "skipped", "failed"]

# Of Spark's jars, those that the kit needs.
_SPARKS: Final = ("avro-1", "jackson-", "slf4j-api", "hadoop-client", "Roaring", "aircompressor")
_KIT: Final = ("RESTCompatibilityKitCatalogTests", "RESTCompatibilityKitViewCatalogTests")
_KIT_SETTINGS: Final = (
    "-Dwarehouse=main",
    "-Drck.local=false",
    "-Drck.requires-namespace-create=true",
    "-Drck.supports-serverside-retry=true",
    "-Drck.overrides-requested-location=true",
    "-Drck.supports-names-with-dot=false",
)


@dataclass(frozen=True, slots=True)
class Tried:
    """One test of a suite.

    Attributes:
        suite: The suite's name.
        test: The test's name.
        outcome: What came of it.
        reason: The first line of the message of a test that didn't pass.
    """

    suite: str
    test: str
    outcome: Outcome
    reason: str = ""


def run_suites() -> list[Tried]:
    """Run the compatibility kit and PyIceberg's tests of catalogs."""
    return [*compatibility_kit(), *pyiceberg_tests()]


def compatibility_kit() -> Iterator[Tried]:
    """Yield the results of Iceberg's compatibility kit for REST catalogs."""
    with _served() as (url, folder):
        spark = (PYTHON.parents[1] / "lib").glob("python*/site-packages/pyspark/jars/*.jar")
        jars = [*kit(), *(jar for jar in sorted(spark) if jar.name.startswith(_SPARKS))]
        chosen = [f"--select-class=org.apache.iceberg.rest.{name}" for name in _KIT]
        _quietly(
            "java",
            "-Xmx1g",
            f"-Duri={url}",
            *_KIT_SETTINGS,
            "-cp",
            os.pathsep.join(map(str, jars)),
            "org.junit.platform.console.ConsoleLauncher",
            "execute",
            "--details=none",
            f"--reports-dir={folder}",
            *chosen,
        )
        yield from _results("Iceberg's compatibility kit", folder / "TEST-junit-jupiter.xml")


def pyiceberg_tests() -> Iterator[Tried]:
    """Yield the results of those tests of PyIceberg that take a catalog from outside."""
    with _served() as (url, folder):
        settings = {
            "PYTHONPATH": str(NEEDS),
            "PYICEBERG_TEST_CATALOG": "vcs",
            "PYICEBERG_CATALOG__VCS__TYPE": "rest",
            "PYICEBERG_CATALOG__VCS__URI": url,
            "PYICEBERG_CATALOG__VCS__WAREHOUSE": "main",
        }
        file = folder / "pyiceberg.xml"
        _quietly(
            *(sys.executable, "-m", "pytest", "-o", "addopts=", "-p", "no:cacheprovider"),
            *("tests/integration/test_catalog.py", "-k", "rest_test_catalog"),
            f"--junitxml={file}",
            settings=settings,
            folder=PYICEBERG,
        )
        yield from _results("PyIceberg's tests of catalogs", file)


@contextmanager
def _served() -> Iterator[tuple[str, Path]]:
    """Serve an empty repository; yield its address and a folder for results."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        Repository.create(LocalBlobs(folder / "repository", fsync=False), author="ann")
        with serving(folder / "repository") as server:
            yield server.url, folder


def _quietly(
    *command: str, settings: dict[str, str] | None = None, folder: Path | None = None
) -> None:
    """Run a suite; tests that fail are part of its results."""
    done = subprocess.run(
        command,
        env={**os.environ, **(settings or {})},
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if done.returncode not in (0, 1):
        raise AssertionError(f"{command[0]} ended with code {done.returncode}:\n{done.stdout}")


def _results(suite: str, file: Path) -> Iterator[Tried]:
    for case in ElementTree.parse(file).iter("testcase"):
        outcome, reason = _outcome(case)
        yield Tried(suite, case.get("name", "").partition("[rest_test")[0], outcome, reason)


def _outcome(case: ElementTree.Element) -> tuple[Outcome, str]:
    kinds: tuple[tuple[str, Outcome], ...] = (
        ("failure", "failed"),
        ("error", "failed"),
        ("skipped", "skipped"),
    )
    for tag, outcome in kinds:
        found = case.find(tag)
        if found is not None:
            text = (found.get("message") or found.text or found.get("type") or "").strip()
            return outcome, " ".join(text.split())
    return "passed", ""
