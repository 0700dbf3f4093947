"""Time queries on changed rows, beside Delta's change data feed, which stored them as files.

Each query is asked twice of a clone that was just updated; the sum comes first, so it is the first
to read the changes. Both find the same rows, which the last query compares in all columns.
"""

import argparse
from collections.abc import Mapping

import pyarrow.parquet
from arguments import scale_factor, whole_number
from lineitem import lineitem
from peers import ENTRIES, check, measure
from report import Report, median

CONTENDERS = ("vcs", "delta")


def main() -> None:
    """Run, check, report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scale", type=scale_factor, default=1, help="scale factor (default 1)")
    parser.add_argument(
        "--sizes",
        type=whole_number,
        nargs="+",
        default=[1_000, 100_000, 1_000_000],
        help="rows to change (default 1000 100000 1000000)",
    )
    parser.add_argument(
        "--repeat", type=whole_number, default=5, help="measurements each (default 5)"
    )
    parser.add_argument("--only", nargs="+", choices=CONTENDERS, default=list(CONTENDERS))
    options = parser.parse_args()
    parquet = lineitem(options.scale) / "lineitem.parquet"
    total = pyarrow.parquet.read_metadata(parquet).num_rows
    found = {
        name: measure(ENTRIES[name], parquet, total, options.sizes, options.repeat, "--queries")
        for name in options.only
    }
    check(found)
    report = summarize(found, options)
    report.save()
    print(report.markdown())


def summarize(found: Mapping[str, dict], options: argparse.Namespace) -> Report:
    """Put medians into a table, a row for each query."""
    first = next(iter(found.values()))
    return Report(
        name="change_queries",
        title="Queries on changed rows",
        columns=["query, changed rows", *[one["name"] for one in found.values()]],
        rows=[[key, *[_told(one, key) for one in found.values()]] for key in first["cpu"]],
        notes=[
            f"lineitem at SF {options.scale:g}; medians of {options.repeat} after a round of "
            "warm-up; in brackets the least, and the median of CPU seconds.",
            "Each round updates a clone; the sum is the first query on it, and each query is "
            "asked twice.",
            "All found the same rows.",
            *[
                f"{one['name']}: "
                + ", ".join(f"{name} {number}" for name, number in one["versions"].items())
                for one in found.values()
            ],
        ],
        figures=found,
    )


def _told(one: Mapping, key: str) -> str:
    seconds, cpu = one["seconds"][key], one["cpu"][key]
    return f"{median(seconds):.2f} s ({min(seconds):.2f}; {median(cpu):.2f})"


if __name__ == "__main__":
    main()
