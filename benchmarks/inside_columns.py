"""Time what it costs to keep partition columns inside files, too, as ratios within one run."""

import argparse
import tempfile
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any
from unittest.mock import patch

import pyarrow as pa
from arguments import whole_number
from report import Report, median
from rounds import take_turns, told

from dbt.adapters.vcs.api import Client, connect
from dbt.adapters.vcs.core.model import RelationName, TableEntry
from dbt.adapters.vcs.core.store.blobs import Blobs
from dbt.adapters.vcs.core.store.opening import open_blobs
from dbt.adapters.vcs.engines.dataframes import writes
from dbt.adapters.vcs.table.files import parquet
from dbt.adapters.vcs.table.files.footers import Footer
from dbt.adapters.vcs.table.files.parquet import parquet_bytes

WITH, WITHOUT = "with", "without"
Works = Mapping[str, Callable[[], float]]


def main() -> None:
    """Run, report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--rows", type=whole_number, default=2_000_000, help="rows of a table (default 2000000)"
    )
    parser.add_argument(
        "--partitions", type=whole_number, default=100, help="partitions (default 100)"
    )
    parser.add_argument("--repeat", type=whole_number, default=5, help="rounds (default 5)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="dbt-vcs-bench-") as folder:
        store = open_blobs(f"{folder}/arrow", {"fsync": "false"})
        works = in_process(store, options.rows, options.partitions)
        found = {"write with Arrow": take_turns("Arrow", works, options.repeat)}
        sizes = with_spark(Path(folder) / "spark", options, found)
    report = summarize(found, sizes, options)
    report.save()
    print(report.markdown())


def timed(work: Callable[[], object]) -> float:
    """Return the seconds of a work."""
    start = perf_counter()
    work()
    return perf_counter() - start


def in_process(store: Blobs, count: int, partitions: int) -> Works:
    """Return works that write with Arrow, with and without the partition column inside."""
    day = pa.array((number % partitions for number in range(count)), pa.int32())
    rows = pa.table({"id": pa.array(range(count)), "day": day})
    numbers = iter(range(1_000_000))

    def write() -> Mapping[str, Footer]:
        folder = f"data/t/w=x{next(numbers)}"
        return parquet.write_rows(store, rows, folder=folder, partition_by=["day"])

    def bare(table: pa.Table, folder: str) -> bytes:
        return parquet_bytes(table.drop_columns(["day"]), folder)

    def bare_write() -> None:
        with patch.object(parquet, "parquet_bytes", bare):
            write()

    return {WITH: partial(timed, write), WITHOUT: partial(timed, bare_write)}


def _alone(frame: Any, partition_by: list[str]) -> tuple[list[str], Any]:
    """Partition by the columns themselves, which Spark then leaves out of the files."""
    return partition_by, frame


def with_spark(
    folder: Path, options: argparse.Namespace, found: dict[str, dict[str, list[float]]]
) -> dict[str, int]:
    """Time Spark's writes and reads; return the bytes of the tables."""
    query = (
        "select id, round(rand(1), 2) amount, concat('note ', id % 5000, ' of an order') note, "
        f"date_add(date'2026-01-01', cast(id % {options.partitions} as int)) day "
        f"from range(0, {options.rows}, 1, 4)"
    )
    alone = patch.object(writes, "_with_copies", _alone)
    with connect(str(folder), schema="shop", create=True, author="bench") as client:
        client.sql("create schema shop")
        # The first statement starts Spark.
        client.sql("create table started as select 1 a")

        def write(name: str, clause: str) -> float:
            text = f"create or replace table {name} partitioned by (day) {clause} as {query}"
            return timed(lambda: client.sql(text))

        def bare(name: str, clause: str) -> float:
            with alone:
                return write(name, clause)

        for kind, clause in (("", ""), (", clustered", "cluster by (id)")):
            works = {WITH: partial(write, "t", clause), WITHOUT: partial(bare, "u", clause)}
            found[f"write with Spark{kind}"] = take_turns("write", works, options.repeat)
        reads = {
            "read all rows": "select sum(xxhash64(id, amount, note, day)) from {}",
            "read one partition": "select sum(id) from {} where day = date'2026-01-02'",
            "group by the partition": "select day, count(*) from {} group by day",
        }
        for kind, text in reads.items():
            times = {
                side: partial(timed, partial(client.sql, text.format(name)))
                for side, name in ((WITH, "t"), (WITHOUT, "u"))
            }
            found[kind] = take_turns("read", times, options.repeat)
        return {WITH: bytes_of(client, "t"), WITHOUT: bytes_of(client, "u")}


def bytes_of(client: Client, table: str) -> int:
    """Return the bytes of a table's files."""
    repository = client.repository
    entry = repository.tree(repository.resolve("main")).entry(RelationName("shop", table))
    assert isinstance(entry, TableEntry)
    return sum(item.bytes for item in repository.objects.snapshot(entry.snapshot).segments)


def summarize(
    found: Mapping[str, Mapping[str, list[float]]],
    sizes: Mapping[str, int],
    options: argparse.Namespace,
) -> Report:
    """Return the table of ratios."""
    lines = []
    for name, times in found.items():
        mine, other = median(times[WITH]), median(times[WITHOUT])
        lines.append([f"{name}, s", f"{mine:.3f}", f"{other:.3f}", f"{mine / other:.2f}"])
    each = (sizes[WITH] - sizes[WITHOUT]) / options.partitions
    lines.append(
        [
            f"bytes ({each:,.0f} more for each partition)",
            f"{sizes[WITH]:,}",
            f"{sizes[WITHOUT]:,}",
            f"{sizes[WITH] / sizes[WITHOUT]:.3f}",
        ]
    )
    return Report(
        name="inside_columns",
        title="What partition columns inside files cost",
        columns=("", "with", "without", "ratio"),
        rows=lines,
        notes=(
            f"{options.rows:,} rows in {options.partitions} partitions by date, on a local disk.",
            told(options.repeat),
        ),
        figures={name: dict(times) for name, times in found.items()} | {"bytes": dict(sizes)},
    )


if __name__ == "__main__":
    main()
