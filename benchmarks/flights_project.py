"""Copies of the integration project, and the rows that a build of one leaves."""

import csv
import shutil
from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
from projects import (
    PLAIN_SPARK,
    SCHEMA,
    Copy,
    plain_output,
    plain_tables,
    run_python,
    vcs_tables,
    write_profile,
)

ROOT = Path(__file__).resolve().parents[1]
PROJECT = ROOT / "integration_tests"
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
_NAMES = tuple(f"{SCHEMA}.{table}" for table in TABLES)


def fetch_data() -> None:
    """Write the files that the project reads, where they aren't there yet."""
    run_python(PROJECT, str(PROJECT / "prepare_data.py"))


def copy_for_vcs(folder: Path) -> Copy:
    """Copy the project; it builds on ``main`` with its own profile."""
    _copy(folder)
    return Copy(folder=folder, target="prod")


def copy_for_plain(folder: Path, settings: Mapping[str, str]) -> Copy:
    """Copy the project for plain dbt-spark (session, parquet), raw tables and metastore ready.

    Args:
        folder: the target folder, which will contain metastore and warehouse.
        settings: Spark settings of the profile.
    """
    _copy(folder)
    write_profile(folder, "flights", {"plain": plain_output(settings)})
    run_python(folder, str(PLAIN_SPARK), "prepare")
    return Copy(folder=folder, target="plain")


def plain_results(copy: Copy) -> dict[str, pa.Table]:
    """Read every table that plain dbt-spark built."""
    return plain_tables(copy, _NAMES)


def vcs_results(copy: Copy) -> dict[str, pa.Table]:
    """Read every table that ``vcs`` built from its branch."""
    return vcs_tables(copy, _NAMES)


def _copy(folder: Path) -> None:
    leave_out = shutil.ignore_patterns("target", "logs", "warehouse", "demo", "__pycache__", ".*")
    shutil.copytree(PROJECT, folder, ignore=leave_out)
    _simplify(folder / "seeds" / "holidays.csv")


def _simplify(seed: Path) -> None:
    """Remove from a seed what plain dbt-spark can't load: quotes, and text that is NULL."""
    with seed.open(newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))
    with seed.open("w", newline="", encoding="utf-8") as file:
        cells = [[c.replace("'", "").replace('"', "") or "none" for c in row] for row in rows]
        csv.writer(file, lineterminator="\n").writerows(cells)
