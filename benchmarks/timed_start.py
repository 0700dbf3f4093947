"""Run `dbt-vcs` as a process of its own, and write down what its start of Spark took, by phase.

Usage: timed_start.py <file> <arguments of dbt-vcs>
"""

import functools
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dbt.adapters.vcs.cli import main

PHASES = (
    "Python, until Java is launched",
    "Python, beside Java",
    "waiting for Java",
    "SparkContext",
    "session and catalog",
    "analysis of the first query",
    "its plan, code and job",
)
TICK = os.sysconf("SC_CLK_TCK")


MOMENTS: list[tuple[float, float, float]] = []
"""When the phases ended."""
JAVA: list[int] = []
"""The process of Java, once it is launched."""


def main_timed() -> None:
    """Run the command, and write down the moments at which its phases ended."""
    # What it imports counts, so modules are wrapped as the command loads them.
    sys.meta_path.insert(0, Wrapping())
    main(sys.argv[2:], standalone_mode=False)
    MOMENTS.append(moment())
    Path(sys.argv[1]).write_text(json.dumps(MOMENTS))


def moment() -> tuple[float, float, float]:
    """Return seconds since some moment, and of CPU of Python and of Java until now."""
    return time.time(), time.process_time(), sum(map(cpu_of, JAVA))


def cpu_of(process: int) -> float:
    """Return the seconds of CPU of a process and of its children that ended."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / TICK


def noting(owner: Any, name: str, *, before: bool = False) -> None:
    """Note the moment after the first call of a method, and before it if asked."""
    plain: Callable[..., Any] = getattr(owner, name)

    @functools.wraps(plain)
    def noted(self: Any, *arguments: Any, **options: Any) -> Any:
        setattr(owner, name, plain)
        if before:
            MOMENTS.append(moment())
        found = plain(self, *arguments, **options)
        if name == "_started":
            JAVA.append(found.pid)
        MOMENTS.append(moment())
        return found

    setattr(owner, name, noted)


class Wrapping:
    """An importer that wraps methods of modules as they are loaded."""

    def find_spec(self, name: str, path: Any, target: Any = None) -> Any:
        """Return a module's own spec, whose loader wraps its methods afterwards."""
        if name not in WRAPPED:
            return None
        from importlib.machinery import PathFinder

        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            loader: Any = spec.loader
            plain = loader.exec_module

            def loaded(module: Any) -> None:
                plain(module)
                for kind, method, options in WRAPPED[name]:
                    noting(getattr(module, kind), method, **options)

            loader.exec_module = loaded
        return spec


WRAPPED: dict[str, list[tuple[str, str, dict[str, bool]]]] = {
    "dbt.adapters.vcs.engines.spark.launch": [
        ("Launch", "_started", {}),
        ("Launch", "gateway", {"before": True}),
    ],
    "pyspark.core.context": [("SparkContext", "__init__", {})],
    "dbt.adapters.vcs.engines.spark.engine": [("SparkEngine", "session", {})],
    "dbt.adapters.vcs.engines.spark.session": [("SparkView", "query", {})],
}


if __name__ == "__main__":
    main_timed()
