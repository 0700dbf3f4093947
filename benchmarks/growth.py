"""Time what a command costs as repositories grow, on local disk, without Spark and without Java.

One repository per size is made of manifests only. Each measurement opens it again, as a
command would, so nothing is cached; and each result is checked.
"""

import argparse
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import operations as op
from arguments import whole_number
from fit import exponent, spread
from operations import POINTERS, Site, Trial
from plots import Chart
from report import Report, median, seconds
from synthetic import Shape, make_repository

TARGET = 0.020
ENOUGH = 4.0
"""Seconds that one operation is repeated for, at most."""


@dataclass(frozen=True, slots=True)
class Dimension:
    """One thing that grows.

    Attributes:
        name: What it is, in one word.
        title: What it is.
        sizes: The numbers to measure, in order.
        shape: The repository of a size.
        operations: The operations to time before the pointers, which leave branches behind.
    """

    name: str
    title: str
    sizes: Sequence[int]
    shape: Callable[[int], Shape]
    operations: Mapping[str, Callable[[Site], Trial]]


DIMENSIONS = (
    Dimension(
        "tables",
        "number of tables",
        (10, 100, 1_000, 10_000, 100_000, 1_000_000),
        lambda size: Shape(tables=size),
        {
            "status": op.status,
            "list the tables": op.tables,
            "diff of one table": op.diff_one_table,
            "log of 20 commits": op.log,
            "merge base": op.merge_base_far,
            "publish one table": op.publish,
            "merge two tables apart": op.merge_apart,
        },
    ),
    Dimension(
        "commits",
        "number of commits",
        (10, 100, 1_000, 10_000),
        lambda size: Shape(commits=size),
        {
            "log of 20 commits": op.log,
            "merge base 10 commits back": op.merge_base_near,
            "merge base at the first commit": op.merge_base_far,
            "publish one table": op.publish,
            "merge two tables apart": op.merge_apart,
        },
    ),
    Dimension(
        "blocks",
        "number of blocks of a table",
        (10, 1_000, 10_000, 100_000),
        lambda size: Shape(blocks=size),
        {
            "fast-forward to a new table": op.fast_forward_rebuild,
            "merge two tables apart": op.merge_apart,
            "plan a diff of one block": op.plan_a_diff,
            "plan a read": op.plan_a_read,
            "commit one row": op.commit_a_row,
        },
    ),
    Dimension(
        "branches",
        "number of branches",
        (10, 100, 1_000, 10_000, 100_000, 1_000_000),
        lambda size: Shape(branches=size),
        {
            "status": op.status,
            "log of 20 commits": op.log,
            "list 20 branches": op.some_branches,
            "list the branches": op.branches,
            "gc, nothing to delete": op.collection,
            "publish one table": op.publish,
            "merge two tables apart": op.merge_apart,
        },
    ),
    Dimension(
        "depth",
        "depth of branch on branch",
        (1, 10, 100, 1_000),
        lambda size: Shape(depth=size),
        {"plan a read of the deepest": op.plan_a_deep_read},
    ),
)


def main() -> None:
    """Run, check, report."""
    names = [dimension.name for dimension in DIMENSIONS]
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--repeat", type=whole_number, default=20, help="measurements each (default 20)"
    )
    parser.add_argument("--only", choices=names, help="what grows (default: each in turn)")
    parser.add_argument("--largest", type=whole_number, help="leave larger sizes out")
    options = parser.parse_args()
    for dimension in DIMENSIONS:
        if options.only in (None, dimension.name):
            largest = options.largest or max(dimension.sizes)
            sizes = [size for size in dimension.sizes if size <= largest]
            report = summarize(dimension, measure(dimension, sizes, options.repeat))
            report.save()
            print(report.markdown())


def measure(
    dimension: Dimension, sizes: Sequence[int], repeat: int
) -> dict[str, dict[int, list[float]]]:
    """Time each operation in a repository of each size.

    Returns:
        Seconds by operation, by size.
    """
    figures: dict[str, dict[int, list[float]]] = {}
    for size in sizes:
        with tempfile.TemporaryDirectory(prefix="dbt-vcs-bench-") as folder:
            print(f"{dimension.title}: {size:,}", file=sys.stderr)
            make_repository(Path(folder), dimension.shape(size))
            site = Site(Path(folder))
            for name, make in (dimension.operations | POINTERS).items():
                figures.setdefault(name, {})[size] = timed(site, name, make, repeat)
    return figures


def timed(site: Site, name: str, make: Callable[[Site], Trial], repeat: int) -> list[float]:
    """Time one operation, after one that warms up the process; fail if any did it wrong."""
    times: list[float] = []
    while len(times) <= repeat and sum(times) < ENOUGH:
        trial = make(site)
        times.append(seconds(trial.work))
        if not trial.is_right():
            raise SystemExit(f"{name}: what is there afterwards is not what should be")
    return times[1:] or times


def summarize(dimension: Dimension, figures: Mapping[str, Mapping[int, list[float]]]) -> Report:
    """Put medians into a table, one column a size, with how they grow."""
    medians = {
        name: {size: median(times) for size, times in found.items()}
        for name, found in figures.items()
    }
    sizes = list(next(iter(medians.values())))
    worst = max(
        (found[size], name, size)
        for name, found in medians.items()
        if name in POINTERS
        for size in sizes
    )
    return Report(
        name=f"growth_{dimension.name}",
        title=f"What commands cost by {dimension.title}",
        columns=["operation", *[f"{size:,}" for size in sizes], "max / min", "exponent"],
        rows=[
            [
                name + (" *" if name in POINTERS else ""),
                *[f"{found[size] * 1000:.2f} ms" for size in sizes],
                f"{spread(found):.1f}",
                f"{exponent(found):.2f}",
            ]
            for name, found in medians.items()
        ],
        notes=[
            "Medians, the repository opened anew each time, on local disk with fsync. No Spark.",
            "exponent: slope of log(cost) over log(size); 0 is flat, 1 is linear.",
            f"* is to stay under {TARGET * 1000:.0f} ms whatever the size; the slowest is "
            f"{worst[1]!r} at {worst[2]:,}: {worst[0] * 1000:.1f} ms.",
        ],
        figures={
            name: {str(size): v for size, v in found.items()} for name, found in figures.items()
        },
        chart=Chart(
            x=sizes,
            series={
                name: [found[size] * 1000 for size in sizes] for name, found in medians.items()
            },
            x_label=dimension.title,
            y_label="ms",
            log_x=True,
            log_y=True,
        ),
    )


if __name__ == "__main__":
    main()
