"""Time listings that are printed whole, and how much memory they take.

Each command runs in its own process, as a person runs it, and is read through a pipe. A diff
of two tables whose rows all differ is compared with the same diff printing only numbers; the
difference is what printing costs.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from arguments import whole_number
from report import Report, median
from synthetic import Shape, make_repository

from dbt.adapters.vcs.changes.writes.append import append_arrow
from dbt.adapters.vcs.core.model import Origin, RelationName
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.store.opening import open_blobs
from dbt.adapters.vcs.workspace.lines.line_workspace import Workspace
from dbt.adapters.vcs.workspace.lines.lines import BranchLine

COMMAND = Path(sys.executable).with_name("dbt-vcs")
DIFF = ("diff", "shop.before@main", "shop.after@main")
COLUMNS = "id bigint, customer bigint, amount decimal(12,2), placed date, note string, city string"
CHUNK = 1 << 16


class Cost(NamedTuple):
    """What a command cost: seconds in all, of CPU, to the first byte; peak MiB; lines printed."""

    seconds: float
    cpu: float
    first: float
    peak: float
    lines: int


def main() -> None:
    """Run, check, report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--rows", type=whole_number, default=650_000, help="rows that differ (default 650000)"
    )
    parser.add_argument(
        "--commits", type=whole_number, default=5_000, help="commits of the log (default 5000)"
    )
    parser.add_argument("--repeat", type=whole_number, default=3, help="runs each (default 3)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="dbt-vcs-bench-") as folder:
        tables, history = Path(folder) / "tables", Path(folder) / "history"
        make_tables(tables, options.rows)
        make_repository(history, Shape(commits=options.commits, branches=1_000))
        works = {
            "diff, numbers alone": (tables, (*DIFF, "--stat"), None),
            "diff, 50 rows": (tables, DIFF, None),
            "diff, all rows": (tables, (*DIFF, "-n", "0"), 2 * options.rows + 2),
            "diff, all rows, --json": (tables, (*DIFF, "-n", "0", "--json"), None),
            "diff, all rows, --jsonl": (tables, (*DIFF, "-n", "0", "--jsonl"), 2 * options.rows),
            "log, all commits": (history, ("log", "-n", "0"), None),
            "branch list": (history, ("branch",), None),
        }
        found = {
            name: [measure(where, words, lines) for _ in range(options.repeat)]
            for name, (where, words, lines) in works.items()
        }
    report = summarize(found, options.rows, options.commits)
    report.save()
    print(report.markdown())


def make_tables(folder: Path, rows: int) -> None:
    """Make two tables of the same keys, each row with another amount and another note."""
    repository = Repository.create(open_blobs(str(folder), {"fsync": "false"}), author="bench")
    line = BranchLine(repository, "main", "bench")
    workspace = Workspace(repository, line, no_engine, schema="shop")
    connection = workspace.connect("bench")
    for text in ("create schema shop", *(create(name) for name in ("before", "after"))):
        overlay = workspace.begin()
        connection.execute(text, overlay, origin=Origin())
        line.land(overlay, text)
    for number, name in enumerate(("before", "after")):
        overlay = workspace.begin()
        scope = connection.scope("", overlay, Origin())
        append_arrow(scope, RelationName("shop", name), content(rows, number))
        line.land(overlay, "append")


def create(name: str) -> str:
    """Return the statement for a table."""
    return f"create table shop.{name} ({COLUMNS}) tblproperties ('primary_key' = 'id')"


def content(rows: int, version: int) -> pa.Table:
    """Return the rows of a table."""
    id = np.arange(rows)
    return pa.table(
        {
            "id": id,
            "customer": id * 7919 % 100_003,
            "amount": pa.array((id % 9_973 + version) * 1.0).cast(pa.decimal128(12, 2)),
            "placed": pa.array(id % 10_000, pa.int32()).cast(pa.date32()),
            "note": [f"note {number} of version {version}" for number in range(rows)],
            "city": pa.array(["Bern", "São Paulo", "東京"]).take(pa.array(id % 3)),
        }
    )


def no_engine() -> None:
    """Refuse to start Spark: nothing here needs it."""
    raise AssertionError("a listing needs no engine")


def measure(folder: Path, words: Sequence[str], lines: int | None) -> Cost:
    """Run a command and read all that it prints.

    Args:
        folder: The repository.
        words: The command.
        lines: How many lines it must print; None for one or more.
    """
    start = perf_counter()
    process = subprocess.Popen(
        [str(COMMAND), "-r", str(folder), *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None and process.stderr is not None
    data = os.read(process.stdout.fileno(), CHUNK)
    first = perf_counter() - start
    count = 0
    while data:
        count += data.count(b"\n")
        data = os.read(process.stdout.fileno(), CHUNK)
    told = process.stderr.read().decode()
    _, status, usage = os.wait4(process.pid, 0)
    took = perf_counter() - start
    code = process.returncode = os.waitstatus_to_exitcode(status)
    if code not in (0, 1) or (lines is not None and count != lines) or not count:
        raise SystemExit(f"{' '.join(words)}: exit code {code}, {count} lines\n{told}")
    # Linux counts in KiB.
    return Cost(took, usage.ru_utime + usage.ru_stime, first, usage.ru_maxrss / 1024, count)


def summarize(found: dict[str, list[Cost]], rows: int, commits: int) -> Report:
    """Put medians into a table."""
    return Report(
        name="listing",
        title=f"Listings printed whole: a diff of {rows:,} modified rows, {commits:,} commits",
        columns=("command", "seconds", "of CPU", "to the first line", "peak MiB", "lines"),
        rows=[
            [
                name,
                f"{median([cost.seconds for cost in costs]):.2f}",
                f"{median([cost.cpu for cost in costs]):.2f}",
                f"{median([cost.first for cost in costs]):.2f}",
                f"{median([cost.peak for cost in costs]):,.0f}",
                f"{costs[0].lines:,}",
            ]
            for name, costs in found.items()
        ],
        notes=[
            f"Medians of {len(next(iter(found.values())))} runs, each a process of its own.",
            "The pipe is read as fast as it is written; no line is looked at.",
            f"{2 * rows:,} rows of six columns: each modified row as it was and as it is.",
        ],
        figures={name: [cost._asdict() for cost in costs] for name, costs in found.items()},
    )


if __name__ == "__main__":
    main()
