"""Copies of the integration project that each engine can build, each in a folder of its own."""

import csv
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

import pyarrow as pa
import pyarrow.parquet
import yaml

ROOT = Path(__file__).resolve().parents[1]
PROJECT = ROOT / "integration_tests"
SCHEMA = "analytics"
TABLES = (
    "holidays",
    "delay_bands",
    "fct_flights",
    "carrier_delays",
    "daily_summary",
    "delay_distribution",
    "route_statistics",
    "rating_overview",
    "flown_flights",
    "monthly_traffic",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Copy:
    """One copy of the project and the target that builds it."""

    folder: Path
    target: str

    def build(self, loaded_until: str) -> float:
        """Run ``dbt build``; its wall time in seconds, start of Python and of Java included.

        Args:
            loaded_until: the last day that the incremental models load.
        """
        arguments = ["--target", self.target, "--vars", f"loaded_until: '{loaded_until}'"]
        start = perf_counter()
        _run(self.folder, "-m", "dbt.cli.main", "--quiet", "build", *arguments)
        return perf_counter() - start

    @property
    def repository(self) -> Path:
        """Where the copy for ``vcs`` keeps its branches."""
        return self.folder / "warehouse"


def copy_for_vcs(folder: Path) -> Copy:
    """Copy the project; it builds on ``main`` with its own profile."""
    _copy(folder)
    return Copy(folder=folder, target="prod")


def copy_for_plain(folder: Path, settings: Mapping[str, str]) -> Copy:
    """Copy the project for plain dbt-spark (session, parquet), raw tables and metastore ready.

    Args:
        folder: where to; metastore and warehouse come to lie in it.
        settings: Spark settings of the profile.
    """
    _copy(folder)
    output = {
        "type": "spark",
        "method": "session",
        "host": "NA",
        "schema": SCHEMA,
        "threads": 4,
        "server_side_parameters": {"spark.sql.session.timeZone": "UTC", **settings},
    }
    profile = {"flights": {"target": "plain", "outputs": {"plain": output}}}
    (folder / "profiles.yml").write_text(yaml.safe_dump(profile), encoding="utf-8")
    _run(folder, str(ROOT / "benchmarks" / "plain_spark.py"), "prepare")
    return Copy(folder=folder, target="plain")


def plain_results(copy: Copy) -> dict[str, pa.Table]:
    """Read every table that plain dbt-spark built."""
    _run(copy.folder, str(ROOT / "benchmarks" / "plain_spark.py"), "results", SCHEMA, *TABLES)
    return {name: pa.parquet.read_table(copy.folder / f"{name}.parquet") for name in TABLES}


def vcs_results(copy: Copy) -> dict[str, pa.Table]:
    """Read every table that ``vcs`` built from its branch."""
    from dbt.adapters.vcs.api import connect

    with connect(str(copy.repository), branch="main", schema=SCHEMA) as branch:
        return {name: branch.sql(f"select * from {SCHEMA}.{name}") for name in TABLES}


def _copy(folder: Path) -> None:
    leave_out = shutil.ignore_patterns("target", "logs", "warehouse", "demo", "__pycache__", ".*")
    shutil.copytree(PROJECT, folder, ignore=leave_out)
    _simplify(folder / "seeds" / "holidays.csv")


def _simplify(seed: Path) -> None:
    """Take out of a seed what plain dbt-spark can't load: quotes, and text that is NULL."""
    with seed.open(newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))
    with seed.open("w", newline="", encoding="utf-8") as file:
        cells = [[c.replace("'", "").replace('"', "") or "none" for c in row] for row in rows]
        csv.writer(file, lineterminator="\n").writerows(cells)


def _run(folder: Path, *arguments: str) -> None:
    environment = {**os.environ, "DBT_PROFILES_DIR": str(folder), "PYTHONWARNINGS": "ignore"}
    for name in ("DBT_VCS_REPOSITORY", "DBT_PROJECT_DIR", "DBT_TARGET_PATH", "DBT_LOG_PATH"):
        environment.pop(name, None)
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env=environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(arguments)} failed in {folder}:\n{done.stdout}")
