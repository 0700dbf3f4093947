"""Trino as a client of a catalog that is served."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

from .fetch import java, trino

_SECONDS = 180
_OPTIONS = ("-Xmx1500M", "-Djdk.attach.allowAttachSelf=true")
_VECTORS = "jdk.incubator.vector"


class TrinoError(Exception):
    """What Trino refused, in its words."""


class Trino:
    """A server of Trino, for one thread at a time."""

    def __init__(self, url: str) -> None:
        self._url = url

    def sql(self, text: str) -> list[list[Any]]:
        """Run a statement, and return its rows.

        Raises:
            TrinoError: Trino refused it.
        """
        rows: list[list[Any]] = []
        data = text.encode()
        request = Request(f"{self._url}/v1/statement", data, {"X-Trino-User": "ann"})
        while True:
            with urlopen(request, timeout=60) as answer:
                page = json.load(answer)
            rows += page.get("data", [])
            if "error" in page:
                raise TrinoError("\n".join(_messages(page["error"]["failureInfo"])))
            if "nextUri" not in page:
                return rows
            request = Request(page["nextUri"], headers={"X-Trino-User": "ann"})


def _messages(failure: dict[str, Any] | None) -> Iterator[str]:
    """Yield what Trino says, and what it says that it comes from."""
    while failure is not None:
        yield str(failure.get("message"))
        failure = failure.get("cause")


@contextmanager
def trino_at(catalog_url: str, folder: Path) -> Iterator[Trino]:
    """Start Trino with the catalogs `vcs`, of main, and `every`, of all branches."""
    home, java_home, port = trino(), java(), _free_port()
    etc, plugins = folder / "etc", folder / "plugin"
    (etc / "catalog").mkdir(parents=True)
    plugins.mkdir()
    (plugins / "iceberg").symlink_to(home / "plugin" / "iceberg")
    _properties(
        etc / "config.properties",
        {
            "coordinator": "true",
            "node-scheduler.include-coordinator": "true",
            "http-server.http.port": str(port),
            "discovery.uri": f"http://127.0.0.1:{port}",
            "plugin.dir": str(plugins),
        },
    )
    common = {
        "connector.name": "iceberg",
        "iceberg.catalog.type": "rest",
        "iceberg.rest-catalog.uri": catalog_url,
        "fs.hadoop.enabled": "true",
    }
    main = {**common, "iceberg.rest-catalog.warehouse": "main"}
    _properties(etc / "catalog" / "vcs.properties", main)
    every = {**common, "iceberg.rest-catalog.nested-namespace-enabled": "true"}
    _properties(etc / "catalog" / "every.properties", every)
    node = {"config": etc / "config.properties", "node.environment": "test", "node.id": "a"}
    node |= {"node.data-dir": folder / "data"}
    node |= {"node.bind-ip": "127.0.0.1", "node.internal-address": "127.0.0.1"}
    command = [
        java_home / "bin" / "java",
        *_OPTIONS,
        *_modules(java_home),
        *(f"-D{name}={value}" for name, value in node.items()),
        *("-cp", f"{home}/lib/*", "io.trino.server.TrinoServer"),
    ]
    log = folder / "log"
    with log.open("w") as out:
        environment = {**os.environ, "JAVA_HOME": str(java_home)}
        process = subprocess.Popen(
            command, stdout=out, stderr=subprocess.STDOUT, env=environment, cwd=folder
        )
        try:
            yield _started(process, f"http://127.0.0.1:{port}", log)
        finally:
            process.terminate()
            try:
                process.wait(60)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _started(process: subprocess.Popen[bytes], url: str, log: Path) -> Trino:
    end = time.monotonic() + _SECONDS
    while process.poll() is None and time.monotonic() < end:
        try:
            with urlopen(f"{url}/v1/info", timeout=10) as answer:
                if not json.load(answer)["starting"]:
                    return Trino(url)
        except OSError:
            pass  # It doesn't listen yet.
        time.sleep(0.5)
    raise AssertionError(f"Trino didn't start:\n{log.read_text()[-5_000:]}")


def _modules(java_home: Path) -> list[str]:
    """Return the option for a module that Trino wants, unless a small runtime lacks it."""
    command = [java_home / "bin" / "java", "--list-modules"]
    held = subprocess.run(command, check=True, capture_output=True, text=True)
    return [f"--add-modules={_VECTORS}"] if f"{_VECTORS}@" in held.stdout else []


def _properties(file: Path, settings: dict[str, str]) -> None:
    file.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])
