"""Time what tables for other engines cost: exports, a catalog's answers, and reads."""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from threading import Thread

import msgspec
from arguments import scale_factor, whole_number
from open_table_reads import measure_reads
from report import Report, median, seconds
from rounds import told
from synthetic import (
    LARGE,
    SCHEMA,
    Shape,
    make_repository,
    open_repository,
    put,
    segments_of,
    stored,
)

from dbt.adapters.vcs.core.model import RelationName, TableEntry
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.iceberg.exports import export

BLOCKS = 100_000
TABLES = 1_000
LOADED = 50
"""Tables that the served catalog is asked for."""
DELETIONS = (0, 1_000, 100_000)


def main() -> None:
    """Run, check, report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--scale", type=scale_factor, default=0.1, help="scale factor of reads (default 0.1)"
    )
    parser.add_argument("--repeat", type=whole_number, default=5, help="rounds (default 5)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="dbt-vcs-bench-") as scratch:
        costs = [
            *one_large_table(Path(scratch) / "large"),
            *many_tables(Path(scratch) / "many"),
            *answers(Path(scratch) / "served"),
        ]
        show(report_costs(costs))
        reads = measure_reads(Path(scratch) / "reads", options.scale, DELETIONS, options.repeat)
        show(report_reads(reads, options.scale, options.repeat))


def show(report: Report) -> None:
    """Keep a report, and print it."""
    report.save()
    print(report.markdown(), flush=True)


def one_large_table(folder: Path) -> Iterator[list[str]]:
    """Yield what exports of a table of many blocks cost."""
    make_repository(folder, Shape(tables=2, commits=1, blocks=BLOCKS))
    yield exported(folder, f"first export, {BLOCKS:,} blocks")
    grow(open_repository(folder), [LARGE], 10)
    yield exported(folder, "export after 10 more blocks")


def many_tables(folder: Path) -> Iterator[list[str]]:
    """Yield what exports of many small tables cost."""
    make_repository(folder, Shape(tables=TABLES, commits=1, blocks=1))
    yield exported(folder, f"first export, {TABLES:,} tables")
    names = [RelationName(SCHEMA, f"table_{number}") for number in range(TABLES)]
    grow(open_repository(folder), names, 1)
    yield exported(folder, f"export after {TABLES:,} changed tables")


def grow(repository: Repository, names: list[RelationName], blocks: int) -> None:
    """Commit another version of tables, with so many blocks more."""
    tree = repository.tree(repository.branch("main").head)
    entries = {}
    for name in names:
        entry = tree.entry(name)
        assert isinstance(entry, TableEntry)
        old = repository.objects.snapshot(entry.snapshot)
        new = msgspec.structs.replace(
            old,
            segments=(*old.segments, *segments_of(repository, old.table, blocks)),
            parents=(entry.snapshot,),
            created_at=repository.clock(),
            operation="append",
        )
        entries[name] = stored(repository, new)
    put(repository, "main", entries)


def exported(folder: Path, name: str) -> list[str]:
    """Export as a command does, and return what it took, and how much of that was the disk's."""
    repository, before = open_repository(folder), files_of(folder)
    took, own, system = spent(lambda: export(repository, "main"))
    new = {path: size for path, size in files_of(folder).items() if path not in before}
    _, _, bare = spent(lambda: write_bare(folder.parent / f"{folder.name}-bare", new))
    return [
        name,
        f"{took:.2f}",
        f"{own + system:.2f}",
        f"{len(new):,}",
        f"{bare:.2f}",
    ]


def files_of(folder: Path) -> dict[str, int]:
    """Return the sizes of the files made for other engines, without hints and the like."""
    return {
        str(path.relative_to(folder)): path.stat().st_size
        for path in (folder / "iceberg").rglob("*")
        if (path.is_file() and path.suffix in (".avro", ".parquet")) or ".metadata." in path.name
    }


def write_bare(folder: Path, files: Mapping[str, int]) -> None:
    """Write as many files of the same sizes, synced and in one folder: the least there is."""
    folder.mkdir(exist_ok=True)
    for number, size in enumerate(files.values()):
        with (folder / f"{size}-{number}").open("wb") as file:
            file.write(b"x" * size)
            file.flush()
            os.fsync(file.fileno())


def spent(work: Callable[[], object]) -> tuple[float, float, float]:
    """Return the seconds of a work: by the clock, of the process's own CPU, of the system's."""
    start = os.times()
    took = seconds(work)
    end = os.times()
    return took, end.user - start.user, end.system - start.system


def answers(folder: Path) -> Iterator[list[str]]:
    """Yield how long a served catalog takes to load tables for which no metadata exists yet."""
    make_repository(folder, Shape(tables=LOADED, commits=1, blocks=BLOCKS))
    assert not (folder / "iceberg").exists()
    with serving(folder) as url:
        connection = HTTPConnection(url.removeprefix("http://"), timeout=60)
        prefix = asked(connection, "/v1/config?warehouse=main")["overrides"]["prefix"]
        large, *paths = (
            f"/v1/{prefix}/namespaces/{SCHEMA}/tables/table_{number}" for number in range(LOADED)
        )
        for name in ("LoadTable, cold", "LoadTable, cached"):
            times = [seconds(lambda path=path: asked(connection, path)) for path in paths]
            if name == "LoadTable, cold":
                yield answered("LoadTable, cold, the first of a server", times[:1])
            yield answered(name, times[1:])
        for name in ("cold", "cached"):
            times = [seconds(lambda: asked(connection, large))]
            yield answered(f"LoadTable, {name}, {BLOCKS:,} blocks", times)
        grow(open_repository(folder), [LARGE], 10)
        times = [seconds(lambda: asked(connection, large))]
        yield answered("LoadTable, cold, after 10 more blocks", times)
        connection.close()


def answered(name: str, times: list[float]) -> list[str]:
    """Return the row of some answers."""
    return [f"{name}, ms", f"{1_000 * median(times):.1f}", "", "", ""]


def asked(connection: HTTPConnection, path: str) -> dict[str, dict[str, str]]:
    """Return what a server answers.

    Raises:
        AssertionError: It refused.
    """
    connection.request("GET", path)
    response = connection.getresponse()
    body = response.read()
    assert response.status == 200, body
    found: dict[str, dict[str, str]] = json.loads(body)
    return found


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    """Serve a repository from a process of its own, and yield the address."""
    command = Path(sys.executable).with_name("dbt-vcs")
    with subprocess.Popen(
        [command, "-r", str(folder), "serve", "--port", "0"],
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        line = process.stderr.readline()
        assert line.startswith("Serving "), line + process.stderr.read()
        # The access log must go somewhere.
        reader = Thread(target=process.stderr.read)
        reader.start()
        try:
            yield line.strip().rpartition(" ")[2]
        finally:
            process.terminate()
            reader.join()


def report_costs(rows: list[list[str]]) -> Report:
    """Return the table of costs."""
    return Report(
        name="open_tables",
        title="What metadata for other engines costs",
        columns=("", "s", "CPU, s", "new files", "of the disk, s"),
        rows=rows,
        notes=(
            "Tables of 20 columns with bounds of four, on a local disk, everything synced.",
            "The last column is the system's CPU time to write as many files of the same sizes.",
            f"LoadTable: medians of {LOADED - 2} tables over one HTTP connection to a server that "
            "was just started; cold is the first request for a table, whose metadata the server "
            "then makes.",
        ),
        figures={row[0]: row[1:] for row in rows},
    )


def report_reads(
    found: Mapping[int, Mapping[str, list[float]]], scale: float, repeat: int
) -> Report:
    """Return the table of reads."""
    readers = list(found[0])
    rows = [
        [reader, *(f"{median(times[reader]):.2f}" for times in found.values())]
        for reader in readers
    ]
    left_out = (
        ()
        if "Spark, Iceberg" in readers
        else ("Without Spark and Iceberg: `make interop` fetches what they need.",)
    )
    return Report(
        name="open_table_reads",
        title="Reads by other engines",
        columns=("s", *(f"{count:,} deleted rows" for count in found)),
        rows=rows,
        notes=(
            f"Three columns of lineitem at SF {scale:g}, counted and summed.",
            *left_out,
            told(repeat),
        ),
        figures={str(count): dict(times) for count, times in found.items()},
    )


if __name__ == "__main__":
    main()
