"""Time ``dbt build`` of the integration project under vcs and under plain dbt-spark.

Each round builds both from nothing, and builds both again on what is there; the order alternates.
Afterwards every table must hold the same rows on both sides, or the benchmark fails.
"""

import argparse
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pyarrow as pa
from arguments import whole_number
from flights_project import (
    TABLES,
    Copy,
    copy_for_plain,
    copy_for_vcs,
    fetch_data,
    plain_results,
    vcs_results,
)
from projects import settings_of_vcs
from report import Report, median

VARIANTS: Mapping[str, Callable[[Path], Copy]] = {
    "plain": lambda folder: copy_for_plain(folder, {}),
    "plain, same settings": lambda folder: copy_for_plain(folder, settings_of_vcs()),
    "vcs": copy_for_vcs,
}


def main() -> None:
    """Run, check, report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=whole_number, default=3, help="paired runs (default 3)")
    rounds = parser.parse_args().rounds
    fetch_data()
    with tempfile.TemporaryDirectory(prefix="dbt-vcs-bench-") as scratch:
        times = measure(Path(scratch), rounds)
    report = summarize(times, rounds)
    report.save()
    print(report.markdown())


def measure(scratch: Path, rounds: int) -> dict[str, dict[str, list[float]]]:
    """Build each variant ``rounds`` times and compare what the last ones hold.

    Returns:
        Seconds by variant, by kind of build (``first``, ``again``), in order of rounds.
    """
    times = {name: {"first": [], "again": []} for name in VARIANTS}
    for number in range(rounds):
        order = list(VARIANTS) if number % 2 == 0 else list(reversed(VARIANTS))
        copies = {}
        for name in order:
            copy = VARIANTS[name](
                scratch / f"{number}-{name.replace(', ', '-').replace(' ', '-')}"
            )
            times[name]["first"].append(copy.build("2013-11-30"))
            times[name]["again"].append(copy.build("2013-12-31"))
            copies[name] = copy
    expected = plain_results(copies["plain"])
    check_same(expected, plain_results(copies["plain, same settings"]))
    check_same(expected, vcs_results(copies["vcs"]))
    return times


def check_same(expected: Mapping[str, pa.Table], found: Mapping[str, pa.Table]) -> None:
    """Fail unless each table holds the same columns and rows, in whatever order."""
    for name in expected:
        one, other = _in_order(expected[name]), _in_order(found[name])
        if set(one.column_names) != set(other.column_names):
            raise SystemExit(f"{name}: columns {one.column_names} against {other.column_names}")
        if not one.equals(other.cast(one.schema)):
            raise SystemExit(
                f"{name}: the {one.num_rows} rows of plain dbt-spark are not the "
                f"{other.num_rows} rows found"
            )


def summarize(times: Mapping[str, Mapping[str, list[float]]], rounds: int) -> Report:
    """Put medians and ratios into a table."""
    names = [name for name in VARIANTS if name != "vcs"]
    rows = []
    for kind in ("first", "again"):
        vcs = median(times["vcs"][kind])
        plain = [median(times[name][kind]) for name in names]
        rows.append(
            [kind, f"{vcs:.1f} s"]
            + [cell for value in plain for cell in (f"{value:.1f} s", f"{vcs / value:.2f}")]
        )
    return Report(
        name="dbt_build",
        title="dbt build of the integration project",
        columns=["build", "vcs", *[c for name in names for c in (name, f"vcs / {name}")]],
        rows=rows,
        notes=[
            f"Medians of the wall time of the whole process, {rounds} paired rounds.",
            "first: from nothing, to the end of November. again: incremental models add December.",
            "plain: dbt-spark with method session and parquet, metastore made beforehand.",
            "same settings: with the Spark settings that vcs uses, shuffle partitions above all.",
            "Both sides load a seed without quotes and NULLs: plain dbt-spark can't load those.",
            f"All {len(TABLES)} tables hold the same rows on all sides.",
        ],
        figures=times,
    )


def _in_order(table: pa.Table) -> pa.Table:
    columns = sorted(table.column_names)
    return table.select(columns).sort_by([(column, "ascending") for column in columns])


if __name__ == "__main__":
    main()
