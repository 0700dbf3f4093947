"""A Spark Connect server of PySpark's own jars, on a free port of the loopback interface."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pyspark

from dbt.adapters.vcs.engines.java import with_archive

_CLASS = "org.apache.spark.sql.connect.service.SparkConnectServer"
_SECONDS = 120


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@contextmanager
def connect_server(
    folder: Path, *, properties: Path | None = None, settings: Mapping[str, str] | None = None
) -> Iterator[str]:
    """Start a server; yield its address, and stop it by its process id.

    Args:
        folder: Where its log and its warehouse are.
        properties: A file of Spark's settings.
        settings: More of them; by default Spark runs in the server's own process.
    """
    home = Path(pyspark.__file__).parent
    port = free_port()
    all_settings = {
        "spark.master": "local[2]",
        "spark.driver.memory": "1g",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": str(port),
        **(settings or {}),
    }
    env = {**os.environ, "SPARK_HOME": str(home), "PYSPARK_PYTHON": sys.executable}
    command = [str(home / "bin" / "spark-submit")]
    if properties is not None:
        command += ["--properties-file", str(properties)]
    for key, value in with_archive(all_settings, env).items():
        command += ["--conf", f"{key}={value}"]
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "server.log").open("wb") as log:
        # spark-submit becomes Java: the process has the id that is stopped.
        process = subprocess.Popen(
            [*command, "--class", _CLASS, "spark-internal"],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd=folder,
            env=env,
        )
    try:
        _wait(process, port, folder / "server.log")
        yield f"sc://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(30)


def _wait(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    end = time.monotonic() + _SECONDS
    while time.monotonic() < end and process.poll() is None:
        with socket.socket() as tried:
            if tried.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.2)
    raise AssertionError(f"The server did not start:\n{log.read_text()[-2000:]}")
