"""Measure how writers of one branch share it: landings, waits, and how even they are.

Each writer is a process with a repository of its own on local disk, and works as fast as it can.
No Spark: statements write a few rows in this process. Each row of the report is checked: every
landing that was acknowledged is in the branch's table, once.
"""

import argparse
import json
import math
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Sequence

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


def main() -> None:
    """Run, check, report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=whole_number, default=15, help="for each row")
    parser.add_argument("--writers", type=whole_number, nargs="*", default=[2, 4, 8])
    parser.add_argument("--works", nargs="*", default=list(WORKS), choices=list(WORKS))
    parser.add_argument("--as", dest="writer", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--at", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.writer is not None:
        write(options.at, options.writer, WORKS[options.works[0]], options.seconds)
        return
    rows = [
        measured(work, count, options.seconds)
        for work in options.works
        for count in options.writers
    ]
    report = Report(
        name="contention",
        title="Writers of one branch, side by side",
        columns=(
            "what each does", "writers", "landings a second", "slowest writer to the mean",
            "median ms", "99th percentile ms", "longest ms", "gave up",
        ),
        rows=[[str(cell) for cell in row] for row in rows],
        notes=[f"{options.seconds} seconds each, local disk with fsync, a process a writer."],
        figures={f"{row[0]}, {row[1]}": row[2:] for row in rows},
    )  # fmt: skip
    report.save()
    print(report.markdown())


def measured(work: str, count: int, seconds: int) -> list[object]:
    """Run writers side by side and check what they left."""
    with tempfile.TemporaryDirectory(prefix="dbt-vcs-bench-") as place:
        repository = Repository.create(open_blobs(place), author="bench")
        workspace = workspace_of(repository)
        landed(workspace, lambda overlay: make_tables(overlay, count), "make the tables")
        words = ["--seconds", str(seconds), "--works", work, "--at", place]
        processes = [
            subprocess.Popen(
                [sys.executable, __file__, "--as", str(number), *words], stdout=subprocess.PIPE
            )
            for number in range(count)
        ]
        found = [json.loads(process.communicate()[0]) for process in processes]
        check(Repository.open(open_blobs(place)), work, found)
    waits = sorted(wait for writer in found for wait in writer["waits"])
    counts = [len(writer["waits"]) for writer in found]
    return [
        work, count, f"{sum(counts) / seconds:.0f}", f"{min(counts) / (sum(counts) / count):.2f}",
        *(f"{1000 * at(waits, share):.0f}" for share in (0.5, 0.99, 1)),
        sum(writer["lost"] for writer in found),
    ]  # fmt: skip


def at(waits: Sequence[float], share: float) -> float:
    """Return a percentile."""
    return waits[max(math.ceil(share * len(waits)) - 1, 0)]


def write(place: str, number: int, work: Callable[[Repository, int], None], seconds: int) -> None:
    """Work until the time is over, and print how long each landing took."""
    repository = Repository.open(open_blobs(place))
    waits, lost, end = [], 0, time.monotonic() + seconds
    while (start := time.monotonic()) < end:
        try:
            work(repository, number)
        except RetryError:
            lost += 1
        else:
            waits.append(time.monotonic() - start)
    print(json.dumps({"waits": waits, "lost": lost}))


def check(repository: Repository, work: str, found: Sequence[dict[str, list[float]]]) -> None:
    """Count the rows of each writer against what was acknowledged."""
    names = [RelationName("shop", f"t{n}") for n in range(len(found))] + [ONE]
    counts = dict.fromkeys(range(len(found)), 0)
    top = 0
    for name in names:
        entry = repository.tree(repository.branch("main").head).entry(name)
        rows = diff(repository, None, repository.objects.snapshot(entry.snapshot)).rows
        for row in rows.to_pylist():
            counts[row["writer"]] = counts.get(row["writer"], 0) + 1
            top = max(top, row["id"])
    wanted = {number: len(writer["waits"]) for number, writer in enumerate(found)}
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

    landed(workspace_of(repository), work, "insert the next number")


def one_row(repository: Repository, number: int) -> None:
    """Replace the one row of the table by the next one."""

    def work(overlay: Overlay) -> None:
        overlay.read.add(str(ONE))
        table = overlay.require_table(ONE)
        rows = diff(repository, None, table).rows.to_pylist()
        append(overlay, ONE, [(max((r["id"] for r in rows), default=0) + 1, number)], whole=True)

    landed(workspace_of(repository), work, "update the row")


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
    blocks = read_blocks(repository.blobs, files, table.schema, ())
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
