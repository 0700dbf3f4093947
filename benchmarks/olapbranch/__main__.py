"""Measure branches as OlapBranchBench and BranchBench do: `make bench-branches`.

No Spark: DuckDB computes the rows, and the client reads and writes them. What each part leaves is
checked. On S3's protocol a real server of this machine answers (`chaos/gateway.py`).
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from arguments import scale_factor, whole_number
from report import RESULTS, Report

from chaos.gateway import KEY, SECRET, gateway
from olapbranch.creation import MODES, PUBLISHED, create_branches
from olapbranch.depth import Read, read_at_depths
from olapbranch.site import Site, Times, make_tables
from olapbranch.workloads import WORKLOADS, Agent, run

PLACES = {"disk": "local disk with fsync", "s3": "S3's protocol, on loopback"}


def main() -> None:
    """Run, check, report."""
    parser = argparse.ArgumentParser(prog="olapbranch", description=__doc__.splitlines()[0])
    parser.add_argument("--on", nargs="*", choices=PLACES, default=["disk"], help="stores")
    parser.add_argument("--scale", type=scale_factor, default=0.01, help="of TPC-H (default 0.01)")
    parser.add_argument("--branches", type=whole_number, default=100, help="of part 1")
    parser.add_argument("--workers", type=whole_number, default=8, help="threads (default 8)")
    parser.add_argument("--steps", type=whole_number, default=16, help="batches (default 16)")
    parser.add_argument("--commits", type=whole_number, default=5, help="after the bad one")
    parser.add_argument("--depths", type=whole_number, nargs="*", default=[1, 10, 100, 1_000])
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder of the reports")
    options = parser.parse_args()
    created, worked, read = {}, {}, {}
    for place in options.on:
        with site_on(place) as site:
            make_tables(site, options.scale)
            for mode in MODES:
                told(f"{site.name}: {mode}")
                created[site.name, mode] = create_branches(
                    site, mode, options.branches, options.workers
                )
            for name in WORKLOADS:
                told(f"{site.name}: {name}")
                start = time.perf_counter()
                steps = options.commits if name == "fixing" else options.steps
                agent = run(site, name, workers=options.workers, steps=steps)
                worked[site.name, name] = time.perf_counter() - start, agent
            told(f"{site.name}: depth")
            read[site.name] = read_at_depths(site, options.depths)
    for report in (
        creations(created, options.workers),
        workloads(worked, options.scale),
        depths(read),
    ):
        report.save(options.results)
        print(report.markdown())


@contextmanager
def site_on(place: str) -> Iterator[Site]:
    """Give a place for a repository, and clean up."""
    with tempfile.TemporaryDirectory(prefix="dbt-vcs-bench-") as folder:
        if place == "disk":
            yield Site(name=PLACES[place], uri=f"{folder}/warehouse")
            return
        with gateway(Path(folder), "warehouse") as endpoint:
            storage = {
                "aws_endpoint": endpoint,
                "aws_region": "us-east-1",
                "aws_access_key_id": KEY,
                "aws_secret_access_key": SECRET,
                "allow_http": "true",
            }
            yield Site(name=PLACES[place], uri="s3://warehouse/bench", storage=storage)


def told(line: str) -> None:
    """Say what is going on."""
    print(line, file=sys.stderr)


def mean(values: Sequence[float]) -> float:
    """Return the mean."""
    return sum(values) / len(values)


def p95(values: Sequence[float]) -> float:
    """Return the 95th percentile."""
    return sorted(values)[max(0, -(-95 * len(values) // 100) - 1)]


def creations(found: dict[tuple[str, str], Times], workers: int) -> Report:
    """Put part 1 beside the published figures."""
    rows = []
    for (place, mode), times in found.items():
        create, delete = times.found["create"], times.found["delete"]
        rows.append([mode, f"dbt-vcs, {place}", *(
            f"{1000 * figure(values):.1f} ms"
            for values in (create, delete) for figure in (mean, p95)
        )])  # fmt: skip
    for mode, platforms in PUBLISHED.items():
        rows += [
            [mode, f"{name}, published", *(f"{1000 * each:,.0f} ms" for each in both), "", ""]
            for name, both in platforms.items()
        ]
    return Report(
        name="olapbranch_creation",
        title="OlapBranchBench, part 1: branches of a whole repository",
        columns=("mode", "system", "create, mean", "95 %", "delete, mean", "95 %"),
        rows=sorted(rows, key=lambda row: MODES.index(row[0])),
        notes=[
            f"Parallel: {workers} threads of one process here; 4 there, unless told otherwise.",
            "Published: over a network, to services that check rights and record what is done. "
            "Here nothing but the store is asked, so the figures say what the design costs, not "
            "which service is faster.",
        ],
        figures={f"{place}, {mode}": times.found for (place, mode), times in found.items()},
    )


def workloads(found: dict[tuple[str, str], tuple[float, Agent]], scale: float) -> Report:
    """Show the time of each workload, and of its operations."""
    operations = ("create_branch", "run", "delete_branch", "merge_branch")
    rows = [
        [name, place, f"{seconds:.1f} s", f"{agent.attempts}, {agent.kept}", *(
            f"{1000 * mean(agent.times.found[each]):.0f} ms" if each in agent.times.found else ""
            for each in operations
        )]
        for (place, name), (seconds, agent) in found.items()
    ]  # fmt: skip
    return Report(
        name="olapbranch_workloads",
        title=f"OlapBranchBench, part 2: workloads at scale factor {scale:g}",
        columns=("workload", "store", "in all", "attempts, kept", *operations),
        rows=rows,
        notes=[
            "Means. In all: with the fixture and the check at the end, which aren't in the rest."
        ],
        figures={
            f"{place}, {name}": agent.times.found for (place, name), (_, agent) in found.items()
        },
    )


def depths(found: dict[str, dict[str, dict[int, Read]]]) -> Report:
    """Show reads by depth."""
    sizes = list(next(iter(next(iter(found.values())).values())))
    return Report(
        name="olapbranch_depth",
        title="Reads by depth: a branch of a branch",
        columns=("what is read", "store", *(f"depth {size:,}" for size in sizes)),
        rows=[
            [what, place, *(
                f"{1000 * read.seconds:.1f} ms, {read.requests} requests"
                for read in reads.values()
            )]
            for place, kinds in found.items()
            for what, reads in kinds.items()
        ],
        notes=[
            "Medians of cold reads of all rows: the repository is opened, nothing is cached.",
            "Requests: calls of the store; a listing counts once, however many pages it has.",
        ],
        figures={
            f"{place}, {what}": {
                size: (read.seconds, read.requests) for size, read in reads.items()
            }
            for place, kinds in found.items()
            for what, reads in kinds.items()
        },
    )  # fmt: skip


if __name__ == "__main__":
    main()
