"""Time what a branch costs in repositories of 10 and of 2,000 tables, on local disk.

Every measurement opens the repository anew, as a command would, so nothing is cached.
"""

import argparse
import tempfile
from collections.abc import Callable, Iterable
from itertools import count, islice

from report import Report, median, seconds

from dbt.adapters.vcs.core.ids import SegmentId, SnapshotId, new_table_id, new_write_id
from dbt.adapters.vcs.core.model import (
    Block,
    Field,
    RelationName,
    Schema,
    Segment,
    SegmentRef,
    Snapshot,
    TableEntry,
)
from dbt.adapters.vcs.core.repository import Repository, SchemaInfo, TreeChanges
from dbt.adapters.vcs.core.store import open_blobs

SIZES = (10, 2_000)
AUTHOR = "benchmark"
COLUMNS = Schema.of(Field(id="", name=f"column_{n}", type="bigint") for n in range(20))


def main() -> None:
    """Run, check, report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=50, help="measurements each (default 50)")
    repeat = parser.parse_args().repeat
    figures = {}
    for tables in SIZES:
        with tempfile.TemporaryDirectory(prefix="dbt-vcs-bench-") as folder:
            figures[tables] = measure(folder, tables, repeat)
    report = summarize(figures, repeat)
    report.save()
    print(report.markdown())


def measure(folder: str, tables: int, repeat: int) -> dict[str, list[float]]:
    """Fill a repository, then time each operation in it.

    Returns:
        Seconds by operation; ``create repository`` was done once.
    """
    figures = {"create a repository": [seconds(lambda: opened(folder))]}
    figures["fill it in one commit"] = [seconds(lambda: fill(opened(folder), range(tables)))]
    for name, work in operations(folder).items():
        figures[name] = [seconds(work) for _ in range(repeat)]
    check(opened(folder), tables, repeat)
    return figures


def operations(folder: str) -> dict[str, Callable[[], object]]:
    """Name what is measured; each call opens the repository and does the thing once."""
    numbers = count()

    def create_branch() -> None:
        repository = opened(folder)
        head = repository.branch("main").head
        repository.create_branch(f"feature/{next(numbers)}", head, author=AUTHOR)

    def publish() -> None:
        fill(opened(folder), [0])

    def log() -> None:
        repository = opened(folder)
        list(islice(repository.log(repository.branch("main").head), 20))

    def list_tables() -> None:
        repository = opened(folder)
        repository.tree(repository.branch("main").head).relations("analytics")

    return {
        "create a branch": create_branch,
        "publish one changed table": publish,
        "log of 20 commits": log,
        "list the tables": list_tables,
    }


def opened(folder: str) -> Repository:
    """Open the repository, or make it."""
    return Repository.open_or_create(open_blobs(folder), author=AUTHOR)


def fill(repository: Repository, numbers: Iterable[int]) -> None:
    """Put a new version of each numbered table on ``main``, in one commit."""
    head = repository.branch("main").head
    changes = TreeChanges(
        schemas={"analytics": SchemaInfo()},
        relations={
            RelationName("analytics", f"table_{number}"): new_version(repository)
            for number in numbers
        },
    )
    tree = repository.edit(repository.tree(head).id, changes)
    repository.land("main", base=head, tree=tree, author=AUTHOR, message="Publish")


def new_version(repository: Repository) -> TableEntry:
    """Store the manifests of a table with one block of a million rows; nothing reads the block."""
    table = new_table_id()
    path = f"data/{table}/w={new_write_id()}/part-0.parquet"
    block = Block(path=path, rows=1_000_000, bytes=100_000_000)
    segment = SegmentId(repository.objects.put(Segment(blocks=(block,))))
    snapshot = Snapshot(
        table=table,
        schema=COLUMNS,
        segments=(SegmentRef(id=segment, blocks=1, rows=block.rows, bytes=block.bytes),),
        created_at=repository.clock(),
        operation="create",
    )
    return TableEntry(snapshot=SnapshotId(repository.objects.put(snapshot)))


def check(repository: Repository, tables: int, repeat: int) -> None:
    """Fail unless the repository holds what the measurements were to leave in it."""
    main = repository.branch("main").head
    found = len(repository.tree(main).relations("analytics"))
    branches = [branch for branch in repository.branches() if branch.name.startswith("feature/")]
    commits = sum(1 for _ in repository.log(main))
    if (found, len(branches), commits) != (tables, repeat, repeat + 2):
        raise SystemExit(
            f"expected {tables} tables, {repeat} branches and {repeat + 2} commits; "
            f"found {found}, {len(branches)} and {commits}"
        )
    first = min(branches, key=lambda branch: branch.ref.move.at)
    if len(repository.tree(first.head).relations("analytics")) != tables:
        raise SystemExit(f"{first.name} does not show the {tables} tables of main")


def summarize(figures: dict[int, dict[str, list[float]]], repeat: int) -> Report:
    """Put medians into a table, one column a size."""
    names = list(next(iter(figures.values())))
    return Report(
        name="branches",
        title="What a branch costs",
        columns=["operation", *[f"{tables:,} tables" for tables in figures]],
        rows=[
            [name, *[f"{median(found[name]) * 1000:.2f} ms" for found in figures.values()]]
            for name in names
        ],
        notes=[
            f"Medians of {repeat} on local disk, nothing cached; the first two were done once.",
            "No Spark, no Java. All tables are in one schema, which is the hardest case.",
        ],
        figures={str(tables): found for tables, found in figures.items()},
    )


if __name__ == "__main__":
    main()
