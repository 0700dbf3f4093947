"""Time changes of some rows of lineitem against rewriting the table.

For each number of rows a branch is made, and the rows are updated, deleted or merged there.
Whatever is compared gives the same rows.
"""

import argparse
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from arguments import scale_factor, whole_number
from lineitem import KEY, TABLE, chosen, load, open_branch, scalar
from report import Report, median, seconds

from dbt.adapters.vcs.api import Client
from dbt.adapters.vcs.core.repository import Repository

SIZES = (1_000, 10_000, 100_000, 1_000_000)


@dataclass(frozen=True)
class Change:
    """One way to change rows, and the query that gives the same rows by writing all of them."""

    name: str
    statement: Callable[[str], str]
    rewritten: Callable[[str], str]


def main() -> None:
    """Run, check, report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scale", type=scale_factor, default=1, help="scale factor (default 1)")
    parser.add_argument(
        "--repeat", type=whole_number, default=3, help="measurements each (default 3)"
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="dbt-vcs-bench-") as folder:
        rows = measure(Path(folder), options.scale, options.repeat)
    report = Report(
        name="rows_written",
        title=f"Changing rows: lineitem at SF {options.scale:g}, medians of {options.repeat}",
        columns=("change", "rows", "seconds", "CTAS", "times faster", "rows written"),
        rows=rows,
    )
    report.save()
    print(report.markdown())


def changes() -> list[Change]:
    """Return the changes; the merge's source holds only the changed rows."""
    on = " and ".join(f"t.{name} = s.{name}" for name in KEY)
    updated = "l_quantity + 1 as l_quantity"
    return [
        Change(
            "update",
            lambda p: f"update {TABLE} set l_quantity = l_quantity + 1 where {p}",
            lambda p: f"select * except (l_quantity), if({p}, l_quantity + 1, l_quantity) q",
        ),
        Change(
            "delete",
            lambda p: f"delete from {TABLE} where {p}",
            lambda p: f"select * from {TABLE} where not ({p})",
        ),
        Change(
            "merge",
            lambda p: (
                f"merge into {TABLE} t using (select * except (l_quantity), {updated} "
                f"from {TABLE} where {p}) s on {on} when matched then update set *"
            ),
            lambda p: f"select * except (l_quantity), if({p}, l_quantity + 1, l_quantity) q",
        ),
    ]


def measure(folder: Path, scale: float, repeat: int) -> list[list[str]]:
    """Load the table, then make each change on its own branches."""
    writes = []
    with open_branch(folder) as main_branch:
        total = load(main_branch, scale)
        repository = main_branch.repository
        for size in (item for item in SIZES if item <= total // 4):
            for change in changes():
                predicate = chosen(size, total)
                times = [
                    on_branch(repository, folder, f"{change.name}-{size}-{n}", change, predicate)
                    for n in range(repeat)
                ]
                anew = [rewrite(main_branch, change, predicate) for _ in range(repeat)]
                check(main_branch, folder, f"{change.name}-{size}-0", change, predicate)
                took, ctas = median([time for time, _ in times]), median(anew)
                writes.append(
                    [
                        change.name,
                        f"{size:,}",
                        f"{took:.2f}",
                        f"{ctas:.2f}",
                        f"{ctas / took:.1f}",
                        f"{times[0][1]:,}",
                    ]
                )
    return writes


def on_branch(
    repository: Repository, folder: Path, branch: str, change: Change, predicate: str
) -> tuple[float, int]:
    """Make a change on a new branch; return its seconds and the rows that it wrote."""
    head = repository.branch("main").head
    repository.create_branch(branch, head, author="benchmark")
    with open_branch(folder, branch) as client:
        client.sql(f"select count(*) from {TABLE}")
        time = seconds(lambda: client.sql(change.statement(predicate)))
    return time, written(Repository.open(repository.blobs), branch)


def written(repository: Repository, branch: str) -> int:
    """Return the rows in blocks and tombstones that a branch has and main has not."""
    from dbt.adapters.vcs.core.plan.delta import delta

    def snapshot(name: str) -> object:
        entry = repository.tree(repository.branch(name).head).relations("bench")["lineitem"]
        return repository.objects.snapshot(entry.snapshot)

    change = delta(snapshot("main"), snapshot(branch), repository.objects.segments)
    return sum(block.rows for block in change.added) + sum(d.rows for d in change.deleted)


def rewrite(client: Client, change: Change, predicate: str) -> float:
    """Return the seconds that rewriting the whole table takes."""
    query = change.rewritten(predicate)
    query = query if " from " in query else f"{query} from {TABLE}"
    time = seconds(lambda: client.sql(f"create table bench.anew as {query}"))
    client.sql("drop table bench.anew")
    return time


def check(client: Client, folder: Path, branch: str, change: Change, predicate: str) -> None:
    """Fail unless the changed branch holds what rewriting would give."""
    query = change.rewritten(predicate)
    quantity = "q" if " q" in query else "l_quantity"
    query = query if " from " in query else f"{query} from {TABLE}"
    wanted = scalar(client, f"select sum({quantity} * l_orderkey) + count(*) from ({query})")
    with open_branch(folder, branch) as changed:
        found = scalar(changed, f"select sum(l_quantity * l_orderkey) + count(*) from {TABLE}")
    if found != wanted:
        raise SystemExit(f"{branch}: the change gives {found}, writing anew {wanted}")


if __name__ == "__main__":
    main()
