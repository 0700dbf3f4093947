"""Time ``dbt build`` of a generated project of many models, under vcs and plain dbt-spark.

Each round builds both from nothing, and builds both again on what is there; the order alternates.
Afterwards every model must hold the same rows on both sides, or the benchmark fails.
"""

import argparse
import tempfile
from collections.abc import Mapping
from pathlib import Path

from arguments import whole_number
from generated_project import AGAIN, FIRST, made_up, plain_rows, vcs_rows, write_project
from projects import Copy, plain_output, settings_of_vcs, vcs_output
from report import Report, median

VARIANTS = ("plain", "vcs")


def main() -> None:
    """Run, check, report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", type=whole_number, default=500, help="models (default 500)")
    parser.add_argument("--rounds", type=whole_number, default=1, help="paired runs (default 1)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="dbt-vcs-bench-") as scratch:
        times = measure(Path(scratch), options.models, options.rounds)
    report = summarize(times, options.models, options.rounds)
    report.save()
    print(report.markdown())


def measure(scratch: Path, models: int, rounds: int) -> dict[str, dict[str, list[float]]]:
    """Build each variant ``rounds`` times and compare what the last ones hold.

    Returns:
        Seconds by variant, by kind of build (``first``, ``again``), in order of rounds.
    """
    times = {name: {"first": [], "again": []} for name in VARIANTS}
    for number in range(rounds):
        copies: dict[str, Copy] = {}
        for name in VARIANTS if number % 2 == 0 else reversed(VARIANTS):
            output = vcs_output() if name == "vcs" else plain_output(settings_of_vcs())
            copy = write_project(scratch / f"{number}-{name}", models, name, output)
            times[name]["first"].append(copy.build(FIRST))
            times[name]["again"].append(copy.build(AGAIN))
            copies[name] = copy
    check_same(copies["plain"], copies["vcs"], [model.name for model in made_up(models)])
    return times


def check_same(plain: Copy, vcs: Copy, names: list[str]) -> None:
    """Fail unless every model holds the same rows on both sides."""
    expected, found = plain_rows(plain, names), vcs_rows(vcs, names)
    if not found.cast(expected.schema).equals(expected):
        raise SystemExit(
            f"The {expected.num_rows} rows of plain dbt-spark are not the {found.num_rows} rows "
            f"of vcs; look at {plain.folder} and {vcs.folder}"
        )
    if len(expected.column("model").unique()) != len(names):
        raise SystemExit(f"Some of the {len(names)} models have no rows, so nothing is compared.")


def summarize(times: Mapping[str, Mapping[str, list[float]]], models: int, rounds: int) -> Report:
    """Put medians and ratios into a table."""
    rows = []
    for kind in ("first", "again"):
        vcs, plain = median(times["vcs"][kind]), median(times["plain"][kind])
        cells = [f"{vcs:.1f} s", f"{plain:.1f} s", f"{vcs / plain:.2f}"]
        rows.append([kind, *cells, f"{vcs / models * 1000:.0f} ms"])
    kinds = [model.kind for model in made_up(models)]
    counts = ", ".join(f"{kinds.count(kind)} {kind}s" for kind in dict.fromkeys(kinds))
    return Report(
        name="models",
        title=f"dbt build of {models:,} models",
        columns=["build", "vcs", "plain dbt-spark", "vcs / plain", "vcs per model"],
        rows=rows,
        notes=[
            f"Medians of the wall time of the whole process, {rounds} paired rounds, 4 threads.",
            f"{counts}, each of 100 rows or fewer, so that what is seen is the cost of a node.",
            "first: from nothing. again: all built again, incremental models add rows.",
            "plain: dbt-spark with method session and parquet, with the Spark settings of vcs.",
            "All models hold the same rows on both sides.",
        ],
        figures=times,
    )


if __name__ == "__main__":
    main()
