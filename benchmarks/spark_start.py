"""Measure how long a command takes that asks Spark one thing, with and without archived classes.

Both take turns, each in a process of its own, as a person runs them.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from statistics import median
from time import perf_counter

from arguments import whole_number
from report import Report

COMMAND = Path(sys.executable).with_name("dbt-vcs")
QUERY = (
    "create schema if not exists bench; create table if not exists bench.numbers as "
    "select id, id % 7 rest from range(1000); "
    "select rest, sum(id) from bench.numbers group by rest"
)
WITH, WITHOUT = "archived classes", "as installed"


def main() -> None:
    """Prepare, run, report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=whole_number, default=7, help="runs each (default 7)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="dbt-vcs-bench-") as name:
        folder = Path(name)
        caches = {WITHOUT: folder / "nothing", WITH: folder / "cache"}
        place = str(folder / "warehouse")
        prepared = seconds(caches[WITH], "prepare")
        seconds(caches[WITHOUT], "-r", place, "init")
        found: dict[str, list[float]] = {each: [] for each in caches}
        for round_ in range(options.repeat + 1):
            for each, cache in caches.items():
                took = seconds(cache, "-r", place, "sql", QUERY)
                if round_:
                    found[each].append(took)
    report = summarize(found, prepared, options.repeat)
    report.save()
    print(report.markdown())


def seconds(cache: Path, *words: str) -> float:
    """Run a command with a folder of caches; how long it takes."""
    env: Mapping[str, str] = {**os.environ, "XDG_CACHE_HOME": str(cache)}
    began = perf_counter()
    subprocess.run([str(COMMAND), *words], check=True, stdout=subprocess.DEVNULL, env=env)
    return perf_counter() - began


def summarize(found: dict[str, list[float]], prepared: float, repeat: int) -> Report:
    """Put the medians and their ratio into a table."""
    usual = median(found[WITHOUT])
    return Report(
        name="spark_start",
        title="A command that asks Spark one thing, from start to end",
        columns=("classes", "seconds", "ratio"),
        rows=[
            [name, f"{median(values):.1f}", f"{median(values) / usual:.2f}"]
            for name, values in found.items()
        ],
        notes=[
            f"The median of {repeat} runs each, which took turns.",
            f"`dbt-vcs prepare` took {prepared:.0f} s before them.",
        ],
        figures=found,
    )


if __name__ == "__main__":
    main()
