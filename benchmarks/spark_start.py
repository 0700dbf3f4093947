"""Measure how long `dbt-vcs sql "select 1"` takes, by phase, with and without archived classes.

Both take turns, each in a process of its own, as a person runs them.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median

from arguments import whole_number
from report import Report
from timed_start import PHASES

COMMAND = Path(sys.executable).with_name("dbt-vcs")
TIMED = Path(__file__).resolve().with_name("timed_start.py")
QUERY = "select 1"
WITH, WITHOUT = "archived classes", "as installed"
TOTAL = "in all"
Phases = Mapping[str, Sequence[float]]
"""Seconds of wall time, of CPU of Python and of CPU of Java, by phase."""


def main() -> None:
    """Prepare, run, report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=whole_number, default=7, help="runs each (default 7)")
    parser.add_argument("--cache", type=Path, help="a folder of caches with an archive in it")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="dbt-vcs-bench-") as name:
        folder = Path(name)
        caches = {WITHOUT: folder / "nothing", WITH: options.cache or folder / "cache"}
        place = str(folder / "warehouse")
        prepared = prepare(caches[WITH])
        subprocess.run([COMMAND, "-r", place, "init"], check=True, stdout=subprocess.DEVNULL)
        found: dict[str, list[Phases]] = {each: [] for each in caches}
        for round_ in range(options.repeat + 1):
            for each, cache in caches.items():
                phases = timed(cache, folder / "timed.json", "-r", place, "sql", QUERY)
                if round_:
                    found[each].append(phases)
    report = summarize(found, prepared, options.repeat)
    report.save()
    print(report.markdown())


def prepare(cache: Path) -> float:
    """Make the archive in a folder of caches unless it is there; how long that takes."""
    began = time.perf_counter()
    env = {**os.environ, "XDG_CACHE_HOME": str(cache)}
    subprocess.run([COMMAND, "prepare"], check=True, stdout=subprocess.DEVNULL, env=env)
    return time.perf_counter() - began


def timed(cache: Path, file: Path, *words: str) -> Phases:
    """Run a command with a folder of caches; what each phase took, and all of them."""
    env = {**os.environ, "XDG_CACHE_HOME": str(cache)}
    # The start of Python counts.
    moments = [(time.time(), 0.0, 0.0)]
    subprocess.run(
        [sys.executable, TIMED, file, *words], check=True, stdout=subprocess.DEVNULL, env=env
    )
    moments += json.loads(file.read_text())
    if len(moments) != len(PHASES) + 1:
        raise SystemExit(f"Expected the ends of {len(PHASES)} phases, found {moments}")
    found = {
        name: [b - a for a, b in zip(before, after, strict=True)]
        for name, before, after in zip(PHASES, moments, moments[1:], strict=False)
    }
    return found | {TOTAL: [sum(values) for values in zip(*found.values(), strict=True)]}


def summarize(found: Mapping[str, Sequence[Phases]], prepared: float, repeat: int) -> Report:
    """Put the medians of each phase into a table."""
    rows = []
    for phase in (*PHASES, TOTAL):
        row = [phase]
        for kind in (WITH, WITHOUT):
            columns = zip(*(phases[phase] for phases in found[kind]), strict=True)
            row += [f"{median(values):.2f}" for values in columns]
        rows.append(row)
    return Report(
        name="spark_start",
        title=f'`dbt-vcs sql "{QUERY}"`, from start to end',
        columns=[
            "seconds",
            *[
                f"{kind}: {what}"
                for kind in (WITH, WITHOUT)
                for what in ("wall", "Python", "Java")
            ],
        ],
        rows=rows,
        notes=[
            f"Each figure is the median of {repeat} runs, which took turns.",
            "Python, Java: seconds of CPU time, those of Java's compilers and launcher included.",
            f"`dbt-vcs prepare` took {prepared:.0f} s before them.",
        ],
        figures=found,
    )


if __name__ == "__main__":
    main()
