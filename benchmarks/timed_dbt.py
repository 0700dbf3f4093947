"""Run dbt in this process, and report the time waiting for Spark and the time of its own work.

Usage: ``python timed_dbt.py <file for the answer> <dbt arguments>``, with one thread: then all
time not spent in Spark is spent in dbt and the adapter.
"""

import json
import sys
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

from dbt.cli.main import dbtRunner
from py4j.clientserver import ClientServerConnection


class Clock:
    """Seconds since the first node ended, in all, in Spark, and of this process's own work."""

    def __init__(self) -> None:
        self.in_spark = 0.0
        self.started: tuple[float, float, float] | None = None

    def hook(self) -> None:
        """Count the time of every call that goes to Spark's process."""
        inner = ClientServerConnection.send_command

        def send_command(connection: Any, command: str) -> Any:
            start = perf_counter()
            try:
                return inner(connection, command)
            finally:
                self.in_spark += perf_counter() - start

        ClientServerConnection.send_command = send_command

    def on_event(self, event: Any) -> None:
        """Start when the first node ends: Spark starts before it, or in it."""
        if event.info.name == "NodeFinished" and self.started is None:
            self.started = perf_counter(), self.in_spark, process_time()

    def read(self, nodes: int) -> dict[str, float]:
        """Return seconds a node."""
        assert self.started is not None and nodes, "dbt ran too few nodes"
        wall, spark, own = self.started
        in_spark = self.in_spark - spark
        return {
            "nodes": nodes,
            "spark": in_spark / nodes,
            "beside": (perf_counter() - wall - in_spark) / nodes,
            "python": (process_time() - own) / nodes,
        }


def main() -> None:
    """Run, and write the answer as JSON."""
    answer, *arguments = sys.argv[1:]
    clock = Clock()
    clock.hook()
    result = dbtRunner(callbacks=[clock.on_event]).invoke(arguments)
    if not result.success:
        raise SystemExit(f"dbt {' '.join(arguments)} failed: {result.exception or result.result}")
    Path(answer).write_text(json.dumps(clock.read(len(result.result.results) - 1)))


if __name__ == "__main__":
    main()
