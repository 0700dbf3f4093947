"""The start of Spark's process, which needs no Python meanwhile: other modules load beside it."""

from __future__ import annotations

import atexit
import os
import shlex
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections import ChainMap
from collections.abc import Mapping
from pathlib import Path
from types import FunctionType, SimpleNamespace
from typing import IO, Any, Final, cast

from dbt.adapters.vcs.engines.session_settings import without_secrets

_PORT: Final = "PYSPARK_GATEWAY_PORT"
_SECRET: Final = "PYSPARK_GATEWAY_SECRET"
# How often a start of seconds is looked at. PySpark looks every 100 ms.
_LOOK: Final = 0.01


class Launch:
    """A process of Spark that was started and may not answer yet.

    PySpark's `launch_gateway` does the same, and waits. On Windows it is left to that, which ends
    the children of the process, too.

    Attributes:
        settings: The settings that it was started with.
        said: What the launcher and the JVM print before any log level is set; empty unless the
            log level is ERROR.
    """

    def __init__(self, settings: Mapping[str, str]) -> None:
        """Start the process with the environment of this one."""
        self.settings = dict(settings)
        # Closed by who takes the process up.
        self.said: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115
        self._output = self.said if settings.get("spark.log.level") == "ERROR" else None
        self._folder = tempfile.mkdtemp(prefix="dbt-vcs-")
        self._told = Path(self._folder) / "gateway"
        try:
            self._process = None if os.name == "nt" else self._started()
        except BaseException:
            self._clean_up()
            raise

    def gateway(self) -> Any:
        """Return the gateway to the process, once it answers.

        Raises:
            PySparkRuntimeError: It ended before.
        """
        from pyspark import SparkConf
        from pyspark.java_gateway import launch_gateway

        known: Any = launch_gateway
        if self._process is None:
            self._clean_up()
            shown = SparkConf(loadDefaults=False).setAll(list(self._shown().items()))
            quiet = {"stdout": self._output, "stderr": self._output} if self._output else None
            return known(shown, quiet)
        try:
            port, secret = self._address(self._process)
            # PySpark takes both from the environment. They are not put into that of the process:
            # another thread may be reading all of it, as dbt does for each message, and fails if
            # a variable goes away meanwhile.
            told = {_PORT: str(port), _SECRET: secret}
            seen = SimpleNamespace(environ=ChainMap(told, cast("dict[str, str]", os.environ)))
            connect = FunctionType(known.__code__, {**known.__globals__, "os": seen})
            gateway = connect(None, None)
        except BaseException:
            self.end()
            raise
        self._clean_up()
        gateway.proc = self._process
        return gateway

    def output(self) -> str:
        """Return what was said until now."""
        self.said.seek(0)
        return self.said.read().decode("utf-8", "replace")

    def end(self) -> None:
        """End the process, of which nobody has a gateway, and leave nothing behind."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        self._clean_up()

    def _started(self) -> subprocess.Popen[bytes]:
        from pyspark.find_spark_home import _find_spark_home

        command = [str(Path(_find_spark_home(), "bin", "spark-submit"))]
        for key, value in self._shown().items():
            command += ["--conf", f"{key}={value}"]
        command += shlex.split(os.environ.get("PYSPARK_SUBMIT_ARGS", "pyspark-shell"))
        told = {"SPARK_CONNECT_MODE": "0", "_PYSPARK_DRIVER_CONN_INFO_PATH": str(self._told)}
        return subprocess.Popen(
            command,
            # The process ends when its standard input does.
            stdin=subprocess.PIPE,
            stdout=self._output,
            stderr=self._output,
            env={**os.environ, **told},
            preexec_fn=_ignore_interrupts,
        )

    def _shown(self) -> dict[str, str]:
        # Every user of the machine can read a command line.
        return without_secrets(self.settings)

    def _address(self, process: subprocess.Popen[bytes]) -> tuple[int, str]:
        """Return the port and the secret, as `PythonGatewayServer` writes them at once."""
        from pyspark.errors import PySparkRuntimeError

        while not self._told.exists():
            if process.poll() is not None:
                raise PySparkRuntimeError(errorClass="JAVA_GATEWAY_EXITED", messageParameters={})
            time.sleep(_LOOK)
        told = self._told.read_bytes()
        length = int.from_bytes(told[4:8], "big")
        return int.from_bytes(told[:4], "big"), told[8 : 8 + length].decode()

    def _clean_up(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)


class Launches:
    """The process that was launched before anybody needs it, if there is one."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._found: Launch | None = None
        # Nobody may ever come to need it.
        atexit.register(self._end)

    def begin(self, settings: Mapping[str, str]) -> None:
        """Launch a process, unless there is one."""
        with self._lock:
            if self._found is None:
                self._found = Launch(settings)

    def take(self, settings: Mapping[str, str]) -> Launch:
        """Return a process with these settings, launched now unless it was before."""
        with self._lock:
            found, self._found = self._found, None
        if found is not None and found.settings != settings:
            found.end()
            found = None
        return found or Launch(settings)

    def _end(self) -> None:
        with self._lock:
            found, self._found = self._found, None
        if found is not None:
            found.end()


def _ignore_interrupts() -> None:
    # Ctrl-C cancels statements; the process ends with this one.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
