"""What a command costs with all processes that it starts, and whether Spark is one of them."""

import ctypes
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

from projects import environment_of

_SET_CHILD_SUBREAPER = 36
_JAVA = """\
#!/bin/sh
case "$*" in *SparkSubmit*) : >> "$BENCH_STARTED" ;; esac
exec "{java}" "$@"
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What a command took.

    Attributes:
        wall: Seconds until it ended.
        cpu: Seconds of CPU time of its process and of all below it, Spark's among them.
        started_spark: Whether a Spark was started.
    """

    wall: float
    cpu: float
    started_spark: bool


def cost_of(folder: Path, *arguments: str) -> Cost:
    """Run Python in a project's folder; an error ends the benchmark. Linux only.

    Spark's process outlives the one that started it, so it becomes a child of this process, which
    then waits for it.
    """
    if ctypes.CDLL(None).prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        raise SystemExit("The system doesn't hand over processes whose parent has ended.")
    with (
        tempfile.TemporaryDirectory(prefix="dbt-vcs-bench-") as name,
        tempfile.TemporaryFile() as said,
    ):
        started = Path(name) / "started"
        environment = {
            **environment_of(folder),
            "JAVA_HOME": str(_watched_java(Path(name))),
            "BENCH_STARTED": str(started),
        }
        start = perf_counter()
        process = subprocess.Popen(
            [sys.executable, *arguments],
            cwd=folder,
            env=environment,
            stdout=said,
            stderr=subprocess.STDOUT,
        )
        _, status, usage = os.wait4(process.pid, 0)
        wall = perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            said.seek(0)
            text = said.read().decode("utf-8", "replace")
            raise SystemExit(f"{' '.join(arguments)} failed in {folder}:\n{text}")
        cpu = usage.ru_utime + usage.ru_stime + _cpu_of_the_rest()
        return Cost(wall=wall, cpu=cpu, started_spark=started.exists())


def _cpu_of_the_rest() -> float:
    cpu = 0.0
    while True:
        try:
            _, _, usage = os.wait4(-1, 0)
        except ChildProcessError:
            return cpu
        cpu += usage.ru_utime + usage.ru_stime


def _watched_java(folder: Path) -> Path:
    """Return a home of Java that leaves a trace when Spark is started with it."""
    home = os.environ.get("JAVA_HOME")
    java = Path(home) / "bin" / "java" if home else Path(shutil.which("java") or "/nowhere")
    (folder / "bin").mkdir()
    script = folder / "bin" / "java"
    script.write_text(_JAVA.format(java=java))
    script.chmod(0o755)
    return folder
