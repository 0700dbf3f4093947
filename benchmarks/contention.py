"""Measure how writers of one branch share it: landings, waits, and how even they are.

Each writer has a repository of its own on local disk, and works as fast as it can. Up to 8 are
processes; more are threads of 8 processes. They begin together, after each did its work a few
times elsewhere. A slow store answers each request that much later. No Spark: statements write a
few rows in this process. Each row of the report is checked: every landing that was acknowledged is
in the branch's table, once.
"""

import argparse
import json
import math
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
from arguments import whole_number
from report import Report

from dbt.adapters.vcs.changes.diffs.difference import diff
from dbt.adapters.vcs.commands.merge import merge
from dbt.adapters.vcs.core.errors import RetryError
from dbt.adapters.vcs.core.ids import SegmentId, TableId
from dbt.adapters.vcs.core.model import Field, RelationName, Schema, Segment, SegmentRef, Snapshot
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.store.blobs import Blobs, MemoryBlobs
from dbt.adapters.vcs.core.store.cloud import AT_ONCE
from dbt.adapters.vcs.core.store.opening import open_blobs
from dbt.adapters.vcs.table.files.footers import read_blocks
from dbt.adapters.vcs.table.files.parquet import write_table
from dbt.adapters.vcs.workspace.lines.line_workspace import Workspace, landed
from dbt.adapters.vcs.workspace.lines.lines import BranchLine
from dbt.adapters.vcs.workspace.overlay import Overlay

ROWS = Schema.of(
    [Field(id="", name="id", type="bigint"), Field(id="", name="writer", type="bigint")]
)
ONE = RelationName("shop", "t")


PROCESSES = 8
MEMORY = "/dev/shm"
"""A folder in memory, if there is one."""

WARM_UP = 3
"""Times that each process does its work before it is measured."""


class Slow:
    """A store that answers late; `Blobs` has the contract."""

    is_near = False

    def __init__(self, blobs: Blobs, seconds: float) -> None:
        """Wrap a store."""
        self._blobs = blobs
        self._seconds = seconds

    def __getattr__(self, name: str) -> Any:
        """Return a request that takes its time; what writes several files takes some at once."""
        found = getattr(self._blobs, name)
        if not callable(found) or name == "sync":
            return found

        def late(*given: Any, **named: Any) -> Any:
            files = len(given[0]) if name in ("create_all", "replace_all") else 1
            time.sleep(self._seconds * math.ceil(files / AT_ONCE))
            return found(*given, **named)

        return late


def store(place: str, late: int) -> Any:
    """Return a folder as a store that answers after some milliseconds."""
    if not late:
        return open_blobs(place)
    return Slow(open_blobs(place, {"fsync": "false"}), late / 1000)


def main() -> None:
    """Run, check, report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=whole_number, default=15, help="for each row")
    parser.add_argument("--writers", type=whole_number, nargs="*", default=[1, 2, 4, 8])
    parser.add_argument("--works", nargs="*", default=list(WORKS), choices=list(WORKS))
    parser.add_argument("--late", type=int, default=50, help="milliseconds")
    parser.add_argument("--late-writers", type=whole_number, nargs="*", default=[8, 32, 96, 256])
    parser.add_argument("--late-works", nargs="*", default=LATE, choices=list(WORKS))
    parser.add_argument("--as", dest="writers_here", type=int, nargs="*", help=argparse.SUPPRESS)
    parser.add_argument("--at", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.writers_here is not None:
        work = WORKS[options.works[0]]
        write(options.at, options.writers_here, work, options.seconds, options.late)
        return
    asked = [(work, count, 0) for work in options.works for count in options.writers]
    asked += [
        (w, count, options.late) for w in options.late_works for count in options.late_writers
    ]
    rows = [measured(*row, options.seconds) for row in asked]
    report = Report(
        name="contention",
        title="Writers of one branch, side by side",
        columns=(
            "what each does", "store", "writers", "landings a second", "moves of the branch",
            "slowest writer to the mean", "CPU ms a landing", "median ms",
            "99th percentile ms", "longest ms",
            "gave up",
        ),
        rows=[[str(cell) for cell in row] for row in rows],
        notes=[f"{options.seconds} seconds each, on local disk with fsync or on a slow store."],
        figures={", ".join(map(str, row[:3])): row[3:] for row in rows},
    )  # fmt: skip
    report.save()
    print(report.markdown())


def measured(work: str, count: int, late: int, seconds: int) -> list[object]:
    """Run writers side by side and check what they left."""
    # A slow store is another machine, whose disk is no work of this one.
    folder = MEMORY if late and Path(MEMORY).is_dir() else None
    with tempfile.TemporaryDirectory(prefix="dbt-vcs-bench-", dir=folder) as place:
        repository = Repository.create(open_blobs(place), author="bench")
        landed(workspace_of(repository), lambda it: make_tables(it, count), "make the tables")
        before = repository.branch("main").ref.seq
        words = ["--seconds", str(seconds), "--works", work, "--at", place, "--late", str(late)]
        processes = [
            subprocess.Popen(
                [
                    sys.executable,
                    __file__,
                    *words,
                    "--as",
                    *map(str, range(first, count, PROCESSES)),
                ],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
            )
            for first in range(min(count, PROCESSES))
        ]
        for process in processes:
            # Each says that it is ready, and hears when all are.
            process.stdout.readline()
        for process in processes:
            process.stdin.write(b"\n")
            process.stdin.flush()
        told = [json.loads(process.communicate()[0]) for process in processes]
        found = {int(number): lots for each in told for number, lots in each["writers"].items()}
        cpu = sum(each["cpu"] for each in told)
        after = Repository.open(open_blobs(place))
        check(after, work, found)
        moves = after.branch("main").ref.seq - before
    waits = sorted(wait for writer in found.values() for wait in writer["waits"])
    counts = [len(writer["waits"]) for writer in found.values()]
    return [
        work, f"{late} ms" if late else "local disk", count, f"{sum(counts) / seconds:.0f}",
        f"{moves / seconds:.0f}", f"{min(counts) / (sum(counts) / count):.2f}",
        f"{1000 * cpu / max(sum(counts), 1):.1f}",
        *(f"{1000 * at(waits, share):.0f}" for share in (0.5, 0.99, 1)),
        sum(writer["lost"] for writer in found.values()),
    ]  # fmt: skip


def at(waits: Sequence[float], share: float) -> float:
    """Return a percentile."""
    return waits[max(math.ceil(share * len(waits)) - 1, 0)]


def write(
    place: str,
    numbers: Sequence[int],
    work: Callable[[Repository, int], None],
    seconds: int,
    late: int,
) -> None:
    """Work until the time is over, and print how long each landing took, and the CPU of all."""
    elsewhere = Repository.create(MemoryBlobs(), author="bench")
    landed(workspace_of(elsewhere), lambda it: make_tables(it, max(numbers) + 1), "make tables")
    for _ in range(WARM_UP):
        work(elsewhere, numbers[0])
    repositories = {number: Repository.open(store(place, late)) for number in numbers}
    print("ready", flush=True)
    sys.stdin.readline()
    cpu = time.process_time()
    end = time.monotonic() + seconds

    def go(number: int) -> dict[str, Any]:
        waits, lost = [], 0
        while (start := time.monotonic()) < end:
            try:
                work(repositories[number], number)
            except RetryError:
                lost += 1
            else:
                waits.append(time.monotonic() - start)
        return {"waits": waits, "lost": lost}

    with ThreadPoolExecutor(len(numbers)) as pool:
        writers = dict(zip(numbers, pool.map(go, numbers), strict=True))
    print(json.dumps({"writers": writers, "cpu": time.process_time() - cpu}))


def check(repository: Repository, work: str, found: Mapping[int, Mapping[str, Any]]) -> None:
    """Count the rows of each writer against what was acknowledged."""
    names = [RelationName("shop", f"t{n}") for n in range(len(found))] + [ONE]
    counts = dict.fromkeys(found, 0)
    top = 0
    for name in names:
        entry = repository.tree(repository.branch("main").head).entry(name)
        rows = diff(repository, None, repository.objects.snapshot(entry.snapshot)).rows
        for row in rows.to_pylist():
            counts[row["writer"]] = counts.get(row["writer"], 0) + 1
            top = max(top, row["id"])
    wanted = {number: len(writer["waits"]) for number, writer in found.items()}
    if work == "one row":
        counts, wanted = {0: top}, {0: sum(wanted.values())}
    if {number: counts[number] for number in wanted} != wanted:
        raise SystemExit(f"{work}: acknowledged {wanted}, found {counts}")


def own_table(repository: Repository, number: int) -> None:
    """Insert a row into a table of the writer's own."""
    insert(repository, number, RelationName("shop", f"t{number}"))


def one_table(repository: Repository, number: int) -> None:
    """Insert a row into the table of all."""
    insert(repository, number, ONE)


def numbered(repository: Repository, number: int) -> None:
    """Insert a row that has the next number: a statement that reads its own table."""

    def work(overlay: Overlay) -> None:
        overlay.read.add(str(ONE))
        append(overlay, ONE, [(overlay.require_table(ONE).rows, number)])

    landed(workspace_of(repository), work, "insert the next number", waits=True)


def one_row(repository: Repository, number: int) -> None:
    """Replace the one row of the table by the next one."""

    def work(overlay: Overlay) -> None:
        overlay.read.add(str(ONE))
        table = overlay.require_table(ONE)
        rows = diff(repository, None, table).rows.to_pylist()
        append(overlay, ONE, [(max((r["id"] for r in rows), default=0) + 1, number)], whole=True)

    landed(workspace_of(repository), work, "update the row", waits=True)


def merged(repository: Repository, number: int) -> None:
    """Insert a row on a branch and merge that."""
    branch = f"w{number}/{uuid.uuid4().hex[:8]}"
    repository.create_branch(branch, repository.branch("main").head, author="bench")
    insert(repository, number, ONE, branch)
    merge(repository, branch, "main", author="bench")
    repository.delete_branch(branch, author="bench")


WORKS = {
    "tables of their own": own_table,
    "one table": one_table,
    "one table, which it reads": numbered,
    "one row": one_row,
    "merges of one table": merged,
}
LATE = ["one table", "merges of one table"]


def workspace_of(repository: Repository, branch: str = "main") -> Workspace:
    """Return a workspace that needs no engine."""

    def engine() -> None:
        raise AssertionError("nothing here needs an engine")

    return Workspace(repository, BranchLine(repository, branch, "bench"), engine, schema="shop")


def make_tables(overlay: Overlay, count: int) -> None:
    """Make a table for all, and one for each writer."""
    overlay.put_schema("shop", comment=None, properties={})
    for name in [ONE, *(RelationName("shop", f"t{number}") for number in range(count))]:
        overlay.put_table(
            name,
            Snapshot(
                table=TableId(name.identifier),
                schema=ROWS,
                segments=(),
                created_at=overlay.repository.clock(),
                operation="create",
            ),
        )


def insert(repository: Repository, number: int, name: RelationName, branch: str = "main") -> None:
    """Insert a row as a statement does."""
    workspace = workspace_of(repository, branch)
    landed(workspace, lambda overlay: append(overlay, name, [(0, number)]), "insert")


def append(
    overlay: Overlay, name: RelationName, rows: Sequence[tuple[int, int]], *, whole: bool = False
) -> None:
    """Write rows and put them into a table; with `whole`, in the place of those it has."""
    repository, table = overlay.repository, overlay.require_table(name)
    entry = overlay.require(name)
    columns = pa.table({"id": [row[0] for row in rows], "writer": [row[1] for row in rows]})
    folder = f"data/{table.table}/w={uuid.uuid4().hex}"
    files = write_table(repository.blobs, columns, folder=folder, schema=table.schema)
    blocks = read_blocks(repository.blobs, files, table.schema, (), files)
    id = SegmentId(repository.objects.put(Segment(blocks=blocks)))
    added = SegmentRef(id=id, blocks=1, rows=len(rows), bytes=sum(block.bytes for block in blocks))
    overlay.put_table(
        name,
        msgspec.structs.replace(
            table,
            segments=(added,) if whole else (*table.segments, added),
            parents=(entry.snapshot,),
            created_at=repository.clock(),
            operation="overwrite" if whole else "append",
        ),
    )


if __name__ == "__main__":
    main()
