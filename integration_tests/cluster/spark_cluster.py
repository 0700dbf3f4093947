"""A standalone cluster of PySpark's own jars, on free ports of the loopback interface."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import subprocess
import sys
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pyspark

from .daemons import Daemon, wait_for

HOME = Path(pyspark.__file__).parent
MASTER = "org.apache.spark.deploy.master.Master"
WORKER = "org.apache.spark.deploy.worker.Worker"
WORKER_MEMORY = "1g"
HOST = "127.0.0.1"
HAS_HOSTS = sys.platform == "linux"
"""Whether every address of the loopback interface, 127.0.0.2 too, can be used as it is."""
USERS = (("unshare", "-m"), ("unshare", "-r", "-m"))
"""Ways to a mount namespace: of root, and of others."""
HIDE = 'mount -t tmpfs -o size=64m tmpfs "$0" && exec "$@"'


class SparkCluster:
    """A master, and workers of one core each.

    Attributes:
        url: The master, `spark://127.0.0.1:port`.
        workers: Those that were started and not stopped, also if they have died since.
    """

    def __init__(self, folder: Path) -> None:
        """Start a master; logs and the workers' files go to the folder."""
        self.folder = folder
        self.workers: list[Daemon] = []
        self._numbers = itertools.count(1)
        self._env = {
            **os.environ,
            "SPARK_HOME": str(HOME),
            "SPARK_DAEMON_MEMORY": "256m",
            "SPARK_LOCAL_IP": HOST,
        }
        self._master = Daemon("master", self._command(MASTER, "--port", "0"), folder, self._env)
        try:
            self.url = self._master.said(r"Starting Spark master at (spark://\S+)")
            self._page = self._master.said(r"MasterWebUI .*started at http://(\S+)")
        except BaseException:
            self._master.stop()
            raise

    def __enter__(self) -> SparkCluster:
        return self

    def __exit__(self, *_: object) -> None:
        for daemon in (*self.workers, self._master):
            daemon.stop()

    def settings(self, **more: str) -> dict[str, str]:
        """Return the settings of an application that takes the whole cluster."""
        return {
            "spark.master": self.url,
            "spark.driver.memory": "1g",
            "spark.driver.host": HOST,
            "spark.driver.bindAddress": HOST,
            "spark.executor.memory": WORKER_MEMORY,
            "spark.sql.shuffle.partitions": "2",
            "spark.sql.session.timeZone": "UTC",
            **more,
        }

    def start_worker(self, *, hidden: Path | None = None) -> Daemon:
        """Start a worker, and wait until the master knows it.

        Args:
            hidden: A folder in whose place the worker sees an empty one of its own, as if it were
                another machine; needs a way to a mount namespace.
        """
        number = next(self._numbers)
        # Spark runs no two attempts of a task on one host.
        host = f"127.0.0.{number}" if HAS_HOSTS else HOST
        command = self._command(
            WORKER,
            *("--port", "0", "--cores", "1", "--memory", WORKER_MEMORY),
            *("--work-dir", str(self.folder / f"work{number}"), self.url),
            host=host,
        )
        if hidden is not None:
            command = [*namespace(), "sh", "-c", HIDE, str(hidden), *command]
        env = self._env | {"SPARK_LOCAL_IP": host}
        worker = Daemon(f"worker{number}", command, self.folder, env)
        self.workers.append(worker)
        worker.said(r"(Successfully registered) with master")
        return worker

    def stop_worker(self, worker: Daemon) -> None:
        """Stop a worker, and wait until the master knows that."""
        self.workers.remove(worker)
        worker.stop()
        self.wait_for_workers()

    def mend(self, workers: int) -> None:
        """Replace the workers that have died, and wait until no application is left."""
        self.workers = [worker for worker in self.workers if worker.is_running]
        while len(self.workers) < workers:
            self.start_worker()
        self.wait_for_workers()
        self.wait_for_applications(0)

    def wait_for_workers(self) -> None:
        """Wait until the master knows exactly the workers that run."""

        def known() -> bool:
            states = [worker["state"] for worker in self.state()["workers"]]
            return states.count("ALIVE") == sum(worker.is_running for worker in self.workers)

        wait_for(known, lambda: f"the master knows other workers: {self.state()['workers']}")

    def wait_for_applications(self, number: int) -> None:
        """Wait until so many applications run."""
        wait_for(
            lambda: len(self.state()["activeapps"]) == number,
            lambda: f"{number} applications were expected: {self.state()['activeapps']}",
        )

    def state(self) -> dict[str, Any]:
        """Return what the master's page shows."""
        host, _, port = self._page.rpartition(":")
        connection = HTTPConnection(host, int(port), timeout=30)
        try:
            connection.request("GET", "/json/")
            state: dict[str, Any] = json.load(connection.getresponse())
            return state
        finally:
            connection.close()

    def _command(self, what: str, *arguments: str, host: str = HOST) -> list[str]:
        common = ("--host", host, "--webui-port", "0")
        return [str(HOME / "bin" / "spark-class"), what, *common, *arguments]


def namespace() -> tuple[str, ...] | None:
    """Return a command that runs another in a mount namespace; None where none works."""
    if sys.platform != "linux" or shutil.which("unshare") is None:
        return None
    for command in USERS:
        tried = [*command, "sh", "-c", HIDE, "/tmp", "true"]
        if subprocess.run(tried, capture_output=True, timeout=30).returncode == 0:
            return (*command, "--propagation", "private")
    return None
