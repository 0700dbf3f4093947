"""Time forecasts: what open branches will conflict with, and each other.

Each forecast runs in its own process, as a person runs it. The tables are made of manifests of a
million rows a block: only the rows that branches changed can be read.
"""

import argparse
import tempfile
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
import pyarrow as pa
from arguments import whole_number
from report import Report, median
from review import Cost, run, write_block
from synthetic import AUTHOR, COLUMNS, SCHEMA, Shape, make_repository, open_repository, put, stored

from dbt.adapters.vcs.core.model import RelationName, TableEntry
from dbt.adapters.vcs.core.model.snapshot import FILE_COLUMN, POSITION_COLUMN
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.table.files.parquet import write_tombstone
from dbt.adapters.vcs.table.manifests import folder_of, put_segments


class Subject(NamedTuple):
    """So many open branches, each of which changed so many rows of so many tables."""

    branches: int
    tables: int
    rows: int


SUBJECTS = (
    Subject(2, 1, 1_000),
    Subject(10, 1, 1_000),
    Subject(10, 10, 1_000),
    Subject(40, 1, 100),
)


def main() -> None:
    """Run and report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=whole_number, default=3, help="runs each (default 3)")
    options = parser.parse_args()
    rows: list[tuple[str, ...]] = []
    for subject in SUBJECTS:
        with tempfile.TemporaryDirectory(prefix="dbt-vcs-bench-") as folder:
            make(Path(folder) / "r", subject)
            pairs = subject.branches * (subject.branches + 1) // 2
            for what, words, merges in (
                ("one branch", ("dev/0",), subject.branches),
                ("--all", ("--all",), pairs),
            ):
                costs = [
                    run(Path(folder) / "r", "forecast", *words) for _ in range(options.repeat)
                ]
                rows.append((*map(str, subject), what, str(merges), *cells(costs)))
    report = Report(
        name="forecast",
        title="Forecasts of merges",
        columns=(
            "open branches",
            "tables each changed",
            "rows of each",
            "forecast of",
            "merges tried",
            "seconds",
            "of CPU",
            "MiB",
        ),
        rows=rows,
        notes=(
            f"Median of {options.repeat} runs, each in a process of its own, without Java; the "
            "memory is the peak of all. Tables have a million rows, and none of the branches "
            "conflict.",
        ),
    )
    report.save()
    print(report.markdown())


def cells(costs: list[Cost]) -> tuple[str, ...]:
    """Return seconds, seconds of CPU and MiB."""
    seconds, cpu = (median([cost[part] for cost in costs]) for part in (0, 1))
    return f"{seconds:.2f}", f"{cpu:.2f}", f"{max(cost.peak for cost in costs):.0f}"


def make(folder: Path, subject: Subject) -> None:
    """Make tables with a key, and branches that each update other rows of all of them."""
    make_repository(folder, Shape(tables=subject.tables, commits=1, blocks=1, branches=0, depth=0))
    repository = open_repository(folder, fsync=False)
    names = [RelationName(SCHEMA, f"table_{number}") for number in range(subject.tables)]
    keyed = {}
    for name in names:
        entry = repository.tree(repository.branch("main").head).entry(name)
        assert isinstance(entry, TableEntry)
        table = repository.objects.snapshot(entry.snapshot)
        keyed[name] = stored(repository, msgspec.structs.replace(table, primary_key=("column_0",)))
    head = put(repository, "main", keyed)
    repository.delete_branch("old", author=AUTHOR)
    for number in range(subject.branches):
        branch = f"dev/{number}"
        repository.create_branch(branch, head, author=AUTHOR)
        ids = np.arange(number * subject.rows, (number + 1) * subject.rows)
        put(repository, branch, {n: updated(repository, e, ids) for n, e in keyed.items()})


def updated(
    repository: Repository, entry: TableEntry, ids: "np.ndarray[tuple[int], np.dtype[np.int64]]"
) -> TableEntry:
    """Store a version of a table in which rows have another value."""
    table = repository.objects.snapshot(entry.snapshot)
    rows = {field.id: pa.array(ids) for field in COLUMNS.fields[:-1]}
    rows["note"] = pa.array(["some note"] * len(ids))
    block = repository.objects.segment(table.segments[0].id).blocks[0]
    images = {
        FILE_COLUMN: pa.array([block.path] * len(ids)),
        POSITION_COLUMN: pa.array(ids),
        **rows,
    }
    tombstone = write_tombstone(repository.blobs, pa.table(images), folder=folder_of(table.table))
    rows["column_5"] = pa.array(ids * 2 + 1)
    written = write_block(repository, table, pa.table(rows))
    added = put_segments(repository.objects, (written,), [tombstone])
    new = msgspec.structs.replace(
        table,
        segments=(*table.segments, *added),
        parents=(entry.snapshot,),
        operation="update",
    )
    return stored(repository, new)


if __name__ == "__main__":
    main()
