"""Compare clone, update, reads, diff and merge of lineitem with what other systems have for them.

Each runs in its own process, in the Python that it needs: Delta Lake and Iceberg don't run on
this Spark, so the newest that they support is installed beside (`benchmarks/data/peers`), and
their packages come from Maven Central. Dolt takes part if `dolt` is on the PATH.
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import venv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet
from arguments import scale_factor, whole_number
from contenders.contender import READS
from lineitem import DATA, lineitem
from report import Report, median

FOLDER = Path(__file__).resolve().parent / "contenders"
SIZES = (1_000, 100_000, 1_000_000)
MOST = 0.25
"""The largest part of the table that is changed; each side changes as many rows of its own."""
WORK = ("clone", "update", "diff", "merge")


@dataclass(frozen=True)
class Entry:
    """How a contender is started.

    Attributes:
        script: Its file, and arguments of its own.
        requires: What a Python of its own has to have; empty for the one that runs this.
        command: What has to be on the PATH; without it the contender is left out.
    """

    script: tuple[str, ...]
    requires: tuple[str, ...] = ()
    command: str | None = None


ENTRIES: Mapping[str, Entry] = {
    "vcs": Entry(("vcs.py",)),
    "delta": Entry(("delta.py",), ("pyspark==4.2.*",)),
    "iceberg": Entry(("iceberg.py",), ("pyspark==4.1.*",)),
    "iceberg-cow": Entry(("iceberg.py", "--copy-on-write"), ("pyspark==4.1.*",)),
    "dolt": Entry(("dolt.py",), command="dolt"),
}


def main() -> None:
    """Run, check, report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scale", type=scale_factor, default=1, help="scale factor (default 1)")
    parser.add_argument(
        "--repeat", type=whole_number, default=3, help="measurements each (default 3)"
    )
    parser.add_argument("--only", nargs="+", choices=ENTRIES, default=list(ENTRIES))
    parser.add_argument(
        "--reads", action="store_true", help="measure updates and reads, and nothing else"
    )
    options = parser.parse_args()
    parquet = lineitem(options.scale) / "lineitem.parquet"
    total = pyarrow.parquet.read_metadata(parquet).num_rows
    sizes = [size for size in SIZES if size <= total * MOST]
    found, left_out = {}, []
    only = ["--reads"] if options.reads else []
    for name in options.only:
        entry = ENTRIES[name]
        if entry.command and shutil.which(entry.command) is None:
            left_out.append(f"{name} was left out: there is no `{entry.command}` on the PATH.")
            continue
        found[name] = measure(entry, parquet, total, sizes, options.repeat, *only)
    check(found)
    report = summarize(found, left_out, sizes, options)
    report.save()
    print(report.markdown())


def measure(
    entry: Entry,
    parquet: Path,
    total: int,
    sizes: Sequence[int],
    repeat: int,
    *more: str,
) -> dict:
    """Run a contender in its own process, with more arguments if any."""
    with tempfile.TemporaryDirectory(prefix="dbt-vcs-bench-") as work:
        command = [python_of(entry), FOLDER / entry.script[0], *entry.script[1:]]
        command += ["--parquet", parquet, "--total", total, "--repeat", repeat, "--work", work]
        command += ["--sizes", *sizes, *more]
        done = subprocess.run(
            list(map(str, command)), stdout=subprocess.PIPE, text=True, check=False
        )
    if done.returncode:
        raise SystemExit(f"{' '.join(entry.script)} failed with exit code {done.returncode}.")
    return json.loads(done.stdout.splitlines()[-1])


def python_of(entry: Entry) -> Path:
    """Return the Python that a contender runs in; it is made if it isn't there."""
    if not entry.requires:
        return Path(sys.executable)
    folder = DATA / "peers" / "-".join(entry.requires).replace("*", "x").replace("=", "")
    python = folder / "bin" / "python"
    if not (folder / ".complete").exists():
        venv.create(folder, with_pip=True, clear=True)
        install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([python, *install, *entry.requires], check=True)
        (folder / ".complete").touch()
    return python


def check(found: Mapping[str, dict]) -> None:
    """Fail unless all found the same differences and rows, after updates and after the merge."""
    expected: dict[str, tuple[str, str]] = {}
    for name, measured in found.items():
        for what, value in measured["found"].items():
            first, wanted = expected.setdefault(what, (name, value))
            if value != wanted:
                raise SystemExit(f"{what}: {first} found {wanted}, {name} {value}")


def summarize(
    found: Mapping[str, dict],
    left_out: Sequence[str],
    sizes: Sequence[int],
    options: argparse.Namespace,
) -> Report:
    """Put medians into a table, a row for each work."""
    rows = [
        ["load", *[f"{median(one['seconds']['load']):.1f} s" for one in found.values()]],
        *[
            [f"{work}, {size:,} rows", *[_cell(one, f"{work} {size}") for one in found.values()]]
            for size in sizes
            for work in (("update",) if options.reads else WORK)
        ],
        *[
            [
                f"{query}, {size:,} rows updated",
                *[_read(one, query, size) for one in found.values()],
            ]
            for query in READS
            for size in (0, *sizes)
        ],
    ]
    notes = [
        f"lineitem at SF {options.scale:g}; medians of {options.repeat} after warm-ups.",
        "theirs is a clone or branch with so many rows updated, ours one with as many others.",
        "diff reads all changed rows of theirs; merge puts them on ours. In brackets: new bytes.",
        "Reads: in brackets, times as long as before the update, and times the CPU seconds.",
        "All found the same differences, and read the same rows after updates and merges.",
    ]
    for one in found.values():
        versions = ", ".join(f"{name} {number}" for name, number in one["versions"].items())
        lacks = [f"no {what}: {why}" for what, why in one["lacks"].items()]
        notes.append(". ".join([f"{one['name']}: {versions}", *lacks]) + ".")
    return Report(
        name="peers_reads" if options.reads else "peers",
        title="Clone, change, read, diff and merge beside other systems",
        columns=["work", *[one["name"] for one in found.values()]],
        rows=rows,
        notes=[*notes, *left_out],
        figures=found,
    )


def _cell(one: Mapping, key: str) -> str:
    if key not in one["seconds"]:
        return "none"
    seconds = median(one["seconds"][key])
    size = one["bytes"][key]
    shown = f"{seconds * 1000:.0f} ms" if seconds < 10 else f"{seconds:.1f} s"
    return f"{shown} ({_bytes(size)})" if size > 0 else shown


def _read(one: Mapping, query: str, size: int) -> str:
    if f"{query} {size}" not in one["seconds"]:
        return "none"
    took, before = (median(one["seconds"][f"{query} {rows}"]) for rows in (size, 0))
    cpu, cpu_before = (median(one["cpu"][f"{query} {rows}"]) for rows in (size, 0))
    if not size:
        return f"{took * 1000:.0f} ms (CPU {cpu * 1000:.0f} ms)"
    of_cpu = f"; {cpu / cpu_before:.2f}" if cpu_before else ""
    return f"{took * 1000:.0f} ms ({took / before:.2f}{of_cpu})"


def _bytes(size: int) -> str:
    for unit, scale in (("MB", 1e6), ("kB", 1e3)):
        if size >= scale:
            return f"{size / scale:.1f} {unit}"
    return f"{size} B"


if __name__ == "__main__":
    main()
