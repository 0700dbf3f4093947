"""Spark with Iceberg as a client of a catalog that is served."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Any

import pyarrow as pa

from .fetch import JARS, PYTHON

WORKER = Path(__file__).with_name("spark_worker.py")
EXTENSIONS = "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"
SETTINGS = {
    "spark.master": "local[2]",
    "spark.driver.memory": "1g",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.extensions": EXTENSIONS,
}


def served(url: str, warehouse: str | None = None) -> dict[str, str]:
    """Return the settings of a catalog that is served at a URL, of one revision or of all."""
    options = {"type": "rest", "uri": url, "cache-enabled": "false"}
    return options if warehouse is None else {**options, "warehouse": warehouse}


class SparkError(Exception):
    """What Spark refused, in its words."""


class IcebergSpark:
    """A Spark session of another process, for one thread at a time."""

    def __init__(self, catalogs: dict[str, dict[str, str]]) -> None:
        """Start it, with settings of each catalog by the catalog's name."""
        self._folder = TemporaryDirectory()
        settings = {
            **SETTINGS,
            "spark.jars": ",".join(map(str, sorted(JARS.glob("iceberg-spark-runtime-*.jar")))),
            "spark.sql.warehouse.dir": f"{self._folder.name}/warehouse",
        }
        for name, options in catalogs.items():
            key = f"spark.sql.catalog.{name}"
            settings[key] = "org.apache.iceberg.spark.SparkCatalog"
            settings |= {f"{key}.{option}": value for option, value in options.items()}
        # The other Spark must not find this one's files.
        hidden = ("SPARK_HOME", "SPARK_CONF_DIR", "PYTHONPATH", "PYSPARK_PYTHON")
        environment = {name: value for name, value in os.environ.items() if name not in hidden}
        self._process = subprocess.Popen(
            [PYTHON, WORKER, json.dumps(settings)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=self._folder.name,
            env=environment,
        )
        self.version = self._answer()["ready"]

    def __enter__(self) -> IcebergSpark:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(60)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._folder.cleanup()

    def sql(self, text: str) -> pa.Table:
        """Run a statement, and return its rows.

        Raises:
            SparkError: Spark refused it.
        """
        (found,) = self.ask({"sql": text})
        return rows_or_raise(found)

    def read(self, location: str) -> pa.Table:
        """Return the rows of the table whose metadata is in a file."""
        (found,) = self.ask({"path": location})
        return rows_or_raise(found)

    def at_once(self, *texts: str) -> list[pa.Table | SparkError]:
        """Run statements at the same time, and return what became of each."""
        return self.ask(*({"sql": text} for text in texts))

    def ask(self, *requests: dict[str, str]) -> list[pa.Table | SparkError]:
        """Carry requests out at the same time."""
        assert self._process.stdin is not None
        files = [Path(self._folder.name, f"{number}.arrow") for number in range(len(requests))]
        told = [{**each, "to": str(file)} for each, file in zip(requests, files, strict=True)]
        print(json.dumps(told), file=self._process.stdin, flush=True)
        return [_read(a, file) for a, file in zip(self._answer(), files, strict=True)]

    def _answer(self) -> Any:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise AssertionError(f"Spark with Iceberg ended with code {self._process.wait(60)}")
        return json.loads(line)


def _read(answer: dict[str, Any], file: Path) -> pa.Table | SparkError:
    if "error" in answer:
        return SparkError(answer["error"])
    with pa.OSFile(str(file)) as source, pa.ipc.open_file(source) as reader:
        return reader.read_all()


def rows_or_raise(found: pa.Table | SparkError) -> pa.Table:
    """Return the rows, if there are some."""
    if isinstance(found, SparkError):
        raise found
    return found
