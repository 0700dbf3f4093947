"""Time reviews of a branch, and how much memory they take.

Each review runs in its own process, as a person runs it. The large table is made of manifests: of
its blocks only those are read that the branch changed, and a review that read another one would
fail, since they are empty.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from arguments import whole_number
from report import Report, median
from synthetic import AUTHOR, COLUMNS, LARGE, Shape, make_repository, open_repository, put, stored

from dbt.adapters.vcs.core.ids import new_table_id
from dbt.adapters.vcs.core.model import Block, Field, RelationName, Schema, Snapshot, TableEntry
from dbt.adapters.vcs.core.model.snapshot import FILE_COLUMN, POSITION_COLUMN
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.table.files.parquet import write_tombstone
from dbt.adapters.vcs.table.manifests import folder_of, put_segments

COMMAND = Path(sys.executable).with_name("dbt-vcs")
SMALL_COLUMNS = Schema.of(
    [
        Field(id="", name="id", type="bigint"),
        Field(id="", name="amount", type="bigint"),
        Field(id="", name="price", type="double"),
        Field(id="", name="city", type="string"),
    ]
)
LARGE_BAR = 5.0
MEMORY_BAR = 1024.0


class Cost(NamedTuple):
    """What a review cost: seconds in all and of CPU, peak MiB, bytes printed."""

    seconds: float
    cpu: float
    peak: float
    bytes: int


def main() -> None:
    """Run, check, report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--blocks", type=whole_number, default=60, help="millions of rows of the large table"
    )
    parser.add_argument("--changed", type=whole_number, default=1_000, help="of them changed")
    parser.add_argument("--tables", type=whole_number, default=500, help="tables that changed")
    parser.add_argument(
        "--rows", type=whole_number, default=2_000, help="rows of each of them, all changed"
    )
    parser.add_argument("--repeat", type=whole_number, default=3, help="runs each (default 3)")
    options = parser.parse_args()
    rows: list[tuple[str, ...]] = []
    slow: list[str] = []
    with tempfile.TemporaryDirectory(prefix="dbt-vcs-bench-") as folder:
        large, many = Path(folder) / "large", Path(folder) / "many"
        make_large(large, options.blocks, options.changed)
        make_many(many, options.tables, options.rows)
        subjects = (
            (f"{options.changed:,} of {options.blocks} million rows", large, LARGE_BAR),
            (f"{options.tables} tables, {options.tables * options.rows:,} rows", many, None),
        )
        for what, place, bar in subjects:
            for form in ("markdown", "json"):
                costs = [
                    run(place, "review", "main...dev", "--format", form)
                    for _ in range(options.repeat)
                ]
                seconds = median([cost.seconds for cost in costs])
                cpu = median([cost.cpu for cost in costs])
                peak = max(cost.peak for cost in costs)
                size = f"{costs[0].bytes // 1024}"
                rows.append((what, form, f"{seconds:.2f}", f"{cpu:.2f}", f"{peak:.0f}", size))
                # A machine that does other things takes longer, and not more of its CPU.
                if bar is not None and min(seconds, cpu) > bar:
                    slow.append(f"{what}: {seconds:.2f} s, at most {bar} s are expected")
                if peak > MEMORY_BAR:
                    slow.append(f"{what}: {peak:.0f} MiB, at most {MEMORY_BAR:.0f} are expected")
    report = Report(
        name="review",
        title="Reviews of a branch",
        columns=("what changed", "form", "seconds", "of CPU", "MiB", "KiB printed"),
        rows=rows,
        notes=(
            f"Median of {options.repeat} runs, each in a process of its own, without Java; the "
            "memory is the peak of all.",
            "The large table is made of manifests: only what the branch changed can be read.",
        ),
    )
    report.save()
    print(report.markdown())
    if slow:
        sys.exit("\n".join(slow))


def run(folder: Path, *words: str) -> Cost:
    """Run a command on a repository, in a process of its own."""
    line = (COMMAND, "-r", str(folder), *words)
    start = perf_counter()
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(line, stdout=output)
        _, status, used = os.wait4(process.pid, 0)
        seconds = perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            sys.exit(f"{words} ended with {process.returncode}")
        return Cost(seconds, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, output.tell())


def make_large(folder: Path, blocks: int, changed: int) -> None:
    """Make a table of manifests, of which the branch `dev` updates a few rows."""
    make_repository(folder, Shape(tables=2, commits=1, blocks=blocks))
    repository = open_repository(folder, fsync=False)
    entry = repository.tree(repository.branch("main").head).entry(LARGE)
    assert isinstance(entry, TableEntry)
    keyed = msgspec.structs.replace(
        repository.objects.snapshot(entry.snapshot), primary_key=("column_0",)
    )
    put(repository, "main", {LARGE: stored(repository, keyed)})
    head = repository.branch("main").head
    repository.create_branch("dev", head, author=AUTHOR)
    rows = {field.id: pa.array(np.arange(changed)) for field in COLUMNS.fields[:-1]}
    rows["note"] = pa.array(["some note"] * changed)
    block = repository.objects.segment(keyed.segments[0].id).blocks[0]
    images = {
        FILE_COLUMN: pa.array([block.path] * changed),
        POSITION_COLUMN: pa.array(np.arange(changed)),
        **rows,
    }
    tombstone = write_tombstone(repository.blobs, pa.table(images), folder=folder_of(keyed.table))
    rows["column_5"] = pa.array(np.arange(changed) * 2)
    written = write_block(repository, keyed, pa.table(rows))
    added = put_segments(repository.objects, (written,), [tombstone])
    new = msgspec.structs.replace(keyed, segments=(*keyed.segments, *added), operation="update")
    put(repository, "dev", {LARGE: stored(repository, new)})


def make_many(folder: Path, tables: int, rows: int) -> None:
    """Make tables of which the branch `dev` changes every row."""
    make_repository(folder, Shape(tables=2, commits=1, blocks=1))
    repository = open_repository(folder, fsync=False)
    ids = np.arange(rows)
    cities = pa.array([f"city {number % 20}" for number in range(rows)])
    sides: list[dict[RelationName, TableEntry]] = [{}, {}]
    for number in range(tables):
        table = Snapshot(
            table=new_table_id(),
            schema=SMALL_COLUMNS,
            segments=(),
            created_at=repository.clock(),
            operation="create",
            primary_key=("id",),
        )
        for side, entries in enumerate(sides):
            values = pa.table([ids, ids * 7 % 1000 + side, ids / 3.0, cities], SMALL_COLUMNS.names)
            block = write_block(repository, table, values)
            segments = put_segments(repository.objects, (block,), ())
            version = msgspec.structs.replace(table, segments=tuple(segments))
            entries[RelationName("analytics", f"small_{number}")] = stored(repository, version)
    head = put(repository, "main", sides[0])
    repository.create_branch("dev", head, author=AUTHOR)
    put(repository, "dev", sides[1])


def write_block(repository: Repository, version: Snapshot, rows: pa.Table) -> Block:
    """Write one block of a table."""
    sink = pa.BufferOutputStream()
    pq.write_table(rows, sink)
    data = sink.getvalue().to_pybytes()
    path = f"{folder_of(version.table)}/part-0.parquet"
    repository.blobs.create(path, data)
    return Block(path=path, rows=rows.num_rows, bytes=len(data))


if __name__ == "__main__":
    main()
