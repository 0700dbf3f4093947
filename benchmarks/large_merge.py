"""Merge two branches that each changed a third of a table, and diff them, within little memory.

DuckDB merges in the process of the command, or Spark, which computes on an executor of its own
(`local-cluster`), as on a cluster; statements are always Spark's. Each step is a process of its
own, whose peaks of memory are those of the step: of Python, and of Spark's driver.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

from arguments import whole_number

from dbt.adapters.vcs.api import Client, connect

OVERLAP = 3_000
"""One row of so many is changed on both sides."""


def load(client: Client, rows: int, mode: str) -> Any:
    """Write the table."""
    client.sql("create schema if not exists shop")
    client.sql(
        "create table shop.t tblproperties ('primary_key' = 'id', "
        f"'vcs.write_mode' = '{mode}') as select id, "
        "id % 1000 customer, cast(id % 99991 as decimal(12, 2)) amount, "
        "concat('note ', id % 777) note, date_add(date'2026-01-01', cast(id % 365 as int)) day "
        f"from range({rows})"
    )
    client.create("dev")
    return rows


def change_main(client: Client, rows: int, mode: str) -> Any:
    """Change a third of the rows on one branch, and some of the other third."""
    condition = f"id % 3 = 1 or id % {OVERLAP} = 0"
    found = client.sql(f"update shop.t set note = 'main' where {condition}")
    return found.to_pylist()


def change_dev(client: Client, rows: int, mode: str) -> Any:
    """Change a third of the rows on the other branch."""
    found = client.sql("update shop.t set amount = -1 where id % 3 = 0")
    return found.to_pylist()


def merge(client: Client, rows: int, mode: str) -> Any:
    """Merge the second branch into the first."""
    report = client.merge("dev", on_conflict="skip")
    return [
        (item.how, item.added, item.removed, item.modified, item.conflicts)
        for item in report.relations
    ]


def diff(client: Client, rows: int, mode: str) -> Any:
    """Count the rows that differ between the branches as they were before the merge."""
    [found] = client.diff("main~1..dev", "shop.t", limit=1).relations
    return [found.rows_added, found.rows_removed, found.rows_modified]


def check(client: Client, rows: int, mode: str) -> Any:
    """Compare the merged table with what the updates say, computed from the numbers alone."""
    ours = f"(id % 3 = 1 or id % {OVERLAP} = 0)"
    [found] = client.sql(
        f"select count(*) n, count(distinct id) keys, count_if((note = 'main') <> {ours} or "
        f"(amount = -1) <> (id % 3 = 0 and not {ours})) wrong from shop.t"
    ).to_pylist()
    if found != {"n": rows, "keys": rows, "wrong": 0}:
        raise SystemExit(f"The merged table is wrong: {found}")
    return found


STEPS: dict[str, Callable[[Client, int, str], Any]] = {
    "load": load,
    "change_main": change_main,
    "change_dev": change_dev,
    "merge": merge,
    "diff": diff,
    "check": check,
}


def main() -> None:
    """Run the steps, and report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--rows",
        type=lambda text: whole_number(str(int(float(text)))),
        default=60_000_000,
        help="rows of the table (default 60e6)",
    )
    parser.add_argument(
        "--engine", choices=["duckdb", "spark"], default="duckdb", help="what merges"
    )
    parser.add_argument(
        "--memory", default="2GiB", help="what a merge without Spark may take (default 2GiB)"
    )
    parser.add_argument("--driver", default="1g", help="memory of the driver (default 1g)")
    parser.add_argument(
        "--executor", type=whole_number, default=4096, help="MiB of the executor (default 4096)"
    )
    parser.add_argument("--mode", default="auto", help="the table's write_mode (default auto)")
    parser.add_argument("--step", choices=STEPS, help=argparse.SUPPRESS)
    parser.add_argument("--folder", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.step:
        run(options)
        return
    print(f"{options.rows:,} rows, {options.rows // 3:,} changed on each side")
    with tempfile.TemporaryDirectory(prefix="dbt-vcs-bench-") as folder:
        for step in STEPS:
            subprocess.run(
                [sys.executable, *sys.argv, "--step", step, "--folder", folder], check=True
            )


def run(options: argparse.Namespace) -> None:
    """Run one step, and print what it took."""
    import pyspark

    os.environ |= {"DBT_VCS_ENGINE": options.engine, "DBT_VCS_MEMORY": options.memory}
    os.environ.setdefault("SPARK_HOME", str(Path(pyspark.__file__).parent))
    settings = {
        "spark.master": f"local-cluster[1,2,{options.executor}]",
        "spark.executor.memory": f"{options.executor}m",
        "spark.driver.memory": options.driver,
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.shuffle.partitions": str(max(8, options.rows // 500_000)),
        "spark.local.dir": f"{options.folder}/spark",
    }
    branch = "dev" if options.step == "change_dev" else "main"
    with connect(f"{options.folder}/warehouse", branch, create=True, spark=settings) as client:
        client.sql("select 1")
        start = perf_counter()
        found = STEPS[options.step](client, options.rows, options.mode)
        seconds = perf_counter() - start
        java = [pid for pid in map(int, filter(str.isdigit, os.listdir("/proc"))) if is_java(pid)]
        print(
            f"{options.step}: {seconds:.1f} s, Python {peak(os.getpid()):,} MiB, "
            f"Spark's driver {max(map(peak, java)):,} MiB: {json.dumps(found, default=str)}",
            flush=True,
        )


def is_java(pid: int) -> bool:
    """Return whether a process is a Java process that this one started: Spark's driver."""
    try:
        parent = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1]
        return int(parent) == os.getpid() and b"java" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def peak(pid: int) -> int:
    """Return the most memory that a process has had, in MiB."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    [line] = [line for line in lines if line.startswith("VmHWM")]
    return int(line.split()[1]) // 1024


if __name__ == "__main__":
    main()
