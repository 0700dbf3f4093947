"""Time what digests and checksums of files of rows cost, as ratios within one run."""

import argparse
import tempfile
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from time import perf_counter
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from arguments import whole_number
from report import Report, median
from rounds import take_turns, told

from dbt.adapters.vcs.api import connect
from dbt.adapters.vcs.commands.fsck import DataCheck, check_repository
from dbt.adapters.vcs.core.model import Block, Field, Schema
from dbt.adapters.vcs.core.store.blobs import Blobs
from dbt.adapters.vcs.core.store.opening import open_blobs
from dbt.adapters.vcs.engines.dataframes import writes
from dbt.adapters.vcs.engines.session_settings import VERIFY_PAGES
from dbt.adapters.vcs.table.files.block_reader import Files
from dbt.adapters.vcs.table.files.footers import check_footers, read_blocks, read_footer
from dbt.adapters.vcs.table.files.parquet import write_table

SCHEMA = Schema.of(
    Field(id="", name=name, type=type_)
    for name, type_ in {"id": "bigint", "amount": "double", "note": "string"}.items()
)
FILES = 1_000
WITH, WITHOUT = "with", "without"
Works = Mapping[str, Callable[[], float]]


def main() -> None:
    """Run, report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--rows", type=whole_number, default=2_000_000, help="rows of a table (default 2000000)"
    )
    parser.add_argument("--repeat", type=whole_number, default=5, help="rounds (default 5)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="dbt-vcs-bench-") as folder:
        store = open_blobs(f"{folder}/arrow", {"fsync": "false"})
        works = {**in_process(store, options.rows), **footers(store)}
        found = {name: take_turns(name, each, options.repeat) for name, each in works.items()}
        found.update(with_spark(Path(folder) / "spark", options.rows, options.repeat))
    report = summarize(found, options.rows, options.repeat)
    report.save()
    print(report.markdown())


def timed(work: Callable[[], object]) -> float:
    """Return the seconds of a work."""
    start = perf_counter()
    work()
    return perf_counter() - start


def rows_of(count: int) -> pa.Table:
    """Return rows that compress as those of tables do."""
    dice = np.random.default_rng(1)
    notes = np.array([f"note {number} of an order" for number in range(5_000)])
    return pa.table(
        {
            "id": np.arange(count),
            "amount": dice.random(count).round(2),
            "note": notes[dice.integers(0, len(notes), count)],
        }
    )


def in_process(store: Blobs, count: int) -> dict[str, Works]:
    """Return works that write and read with Arrow, with and without digests and checksums."""
    rows, numbers = rows_of(count), iter(range(1_000_000))

    def write() -> tuple[Block, ...]:
        files = write_table(store, rows, folder=f"data/t/w=x{next(numbers)}", schema=SCHEMA)
        return read_blocks(store, files, SCHEMA, (), files)

    def bare_write() -> None:
        for start in range(0, count, 1_000_000):
            sink = pa.BufferOutputStream()
            part = rows.slice(start, 1_000_000)
            pq.write_table(part, sink, compression="snappy", store_schema=False)
            path = f"data/t/w=x{next(numbers)}/part.parquet"
            store.create(path, sink.getvalue().to_pybytes())
            read_footer(store, path)

    blocks = write()

    def read() -> None:
        files = Files(store)
        for block in blocks:
            files.columns(block.path, SCHEMA.fields, entry=block)

    def bare_read() -> None:
        for block in blocks:
            pq.ParquetFile(pa.BufferReader(store.get(block.path)), pre_buffer=True).read()

    return {
        "write with Arrow": {WITH: partial(timed, write), WITHOUT: partial(timed, bare_write)},
        "read with Arrow": {WITH: partial(timed, read), WITHOUT: partial(timed, bare_read)},
    }


def footers(store: Blobs) -> dict[str, Works]:
    """Return a work that checks the footers of many files, as before Spark reads them first."""
    rows = rows_of(100 * FILES)
    files = write_table(store, rows, folder="data/t/w=many", schema=SCHEMA, max_rows_per_file=100)
    blocks = read_blocks(store, files, SCHEMA, (), files)
    return {
        f"check {FILES:,} footers": {WITH: partial(timed, lambda: check_footers(store, blocks))}
    }


def with_spark(folder: Path, count: int, repeat: int) -> dict[str, dict[str, list[float]]]:
    """Time Spark's writes and reads, and `fsck --data` of what they wrote."""
    query = (
        f"select id, round(rand(1), 2) amount, concat('note ', id % 5000, ' of an order') note "
        f"from range(0, {count}, 1, 4)"
    )
    bare = {"read_footer": lambda *args, with_whole: read_footer(*args)}
    with connect(str(folder), schema="shop", create=True, author="bench") as client:
        client.sql("create schema shop")
        # The first statement starts Spark.
        client.sql(f"create table t as {query}")

        def write() -> float:
            return timed(lambda: client.sql(f"create or replace table t as {query}"))

        def bare_write() -> float:
            with patch.multiple(writes, **bare):
                return write()

        def read(verifies: str) -> float:
            client.sql(f"set `{VERIFY_PAGES}`={verifies}")
            return timed(lambda: client.sql("select sum(xxhash64(id, amount, note)) from t"))

        found = {
            "write with Spark": take_turns("Spark", {WITH: write, WITHOUT: bare_write}, repeat)
        }
        reads = {WITH: partial(read, "true"), WITHOUT: partial(read, "false")}
        found["read with Spark"] = take_turns("Spark", reads, repeat)
        repository = client.repository
        checks = {
            WITH: lambda: timed(lambda: check_repository(repository, data=DataCheck())),
            WITHOUT: lambda: timed(lambda: check_repository(repository)),
        }
        found["fsck --data against fsck"] = take_turns("fsck", checks, repeat)
        size = check_repository(repository).bytes
    seconds = median(found["fsck --data against fsck"][WITH])
    found[f"fsck --data, {size / 2**20 / seconds:,.0f} MiB a second"] = {WITH: [seconds]}
    return found


def summarize(found: Mapping[str, Mapping[str, list[float]]], rows: int, repeat: int) -> Report:
    """Return the table of ratios."""
    lines = []
    for name, times in found.items():
        mine = median(times[WITH])
        other = median(times[WITHOUT]) if WITHOUT in times else None
        ratio = "" if other is None else f"{mine / other:.2f}"
        lines.append([name, f"{mine:.3f}", "" if other is None else f"{other:.3f}", ratio])
    return Report(
        name="digests",
        title="What digests and checksums of files cost",
        columns=("", "with, s", "without, s", "ratio"),
        rows=lines,
        notes=(f"Tables of {rows:,} rows with three columns, on a local disk.", told(repeat)),
        figures={name: dict(times) for name, times in found.items()},
    )


if __name__ == "__main__":
    main()
