"""Measure what the adapter itself costs per node, apart from Spark's work, in a large repository.

dbt builds the same generated project under vcs, in a repository that holds many tables already,
and under plain dbt-spark; with one thread, so that all time that is not spent in Spark is dbt's
and the adapter's. What plain dbt-spark takes stands for dbt itself.
"""

import argparse
import json
import tempfile
from collections.abc import Mapping
from pathlib import Path

from arguments import whole_number
from generated_project import AGAIN, FIRST, made_up, write_project
from models import check_same
from projects import SCHEMA, Copy, plain_output, run_python, settings_of_vcs, vcs_output
from report import Report, median
from synthetic import Shape, make_repository, open_repository

TARGET = 0.030
TIMED = Path(__file__).resolve().with_name("timed_dbt.py")
VARIANTS = ("plain", "vcs")


def main() -> None:
    """Run, check, report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--models", type=whole_number, default=100, help="models built (default 100)"
    )
    parser.add_argument(
        "--tables", type=whole_number, default=2_000, help="tables there (default 2000)"
    )
    parser.add_argument("--rounds", type=whole_number, default=1, help="paired runs (default 1)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="dbt-vcs-bench-") as scratch:
        found = measure(Path(scratch), options.models, options.tables, options.rounds)
    report = summarize(found, options.tables)
    report.save()
    print(report.markdown())


def measure(
    scratch: Path, models: int, tables: int, rounds: int
) -> dict[str, list[Mapping[str, float]]]:
    """Build each variant twice a round, and keep the second build's figures.

    Returns:
        The figures of `timed_dbt` by variant.
    """
    found: dict[str, list[Mapping[str, float]]] = {name: [] for name in VARIANTS}
    for number in range(rounds):
        copies: dict[str, Copy] = {}
        for name in VARIANTS if number % 2 == 0 else reversed(VARIANTS):
            output = vcs_output(1) if name == "vcs" else plain_output(settings_of_vcs(), 1)
            copy = copies[name] = write_project(scratch / f"{number}-{name}", models, name, output)
            if name == "vcs":
                make_repository(copy.repository, Shape(tables=tables))
            copy.build(FIRST)
            found[name].append(timed_build(copy))
    check_same(copies["plain"], copies["vcs"], [model.name for model in made_up(models)])
    check_tables(copies["vcs"], tables + models)
    return found


def timed_build(copy: Copy) -> Mapping[str, float]:
    """Build once more; what it cost a node."""
    variables = f"loaded_until: '{AGAIN}'"
    arguments = ["--quiet", "build", "--target", copy.target, "--vars", variables]
    run_python(copy.folder, str(TIMED), "timed.json", *arguments)
    told: Mapping[str, float] = json.loads((copy.folder / "timed.json").read_text())
    return told


def check_tables(copy: Copy, expected: int) -> None:
    """Fail unless the models are in the repository together with the earlier tables."""
    repository = open_repository(copy.repository)
    found = len(repository.tree(repository.branch("main").head).relations(SCHEMA))
    if found != expected:
        raise SystemExit(f"expected {expected} relations in the repository, found {found}")


def summarize(found: Mapping[str, list[Mapping[str, float]]], tables: int) -> Report:
    """Put medians into a table, and the difference of both."""
    keys = ("spark", "beside", "python")
    costs = {
        name: [median([one[key] for one in told]) for key in keys] for name, told in found.items()
    }
    own = [vcs - plain for vcs, plain in zip(costs["vcs"], costs["plain"], strict=True)]
    rows = [["vcs", *costs["vcs"]], ["plain dbt-spark", *costs["plain"]], ["difference", *own]]
    nodes = found["vcs"][0]["nodes"]
    return Report(
        name="own_cost",
        title=f"What a node costs beside Spark's work, in a repository of {tables:,} tables",
        columns=["", "in Spark", "beside Spark", "of that CPU time of Python"],
        rows=[[name, *[f"{cost * 1000:.1f} ms" for cost in cells]] for name, *cells in rows],
        notes=[
            f"A node, mean of {nodes:.0f} nodes of a second build, one thread; "
            f"median of {len(found['vcs'])} paired runs.",
            f"The adapter's own cost is the difference beside Spark, to be under "
            f"{TARGET * 1000:.0f} ms: dbt itself takes what plain dbt-spark takes.",
            "Both built the same rows.",
        ],
        figures=found,
    )


if __name__ == "__main__":
    main()
